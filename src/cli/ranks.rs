//! The ranks of a command that several processes share. They meet before anything else, and after a failure one of them
//! prints the error.

use super::{BAD_INPUT, Failure, OrInput as _, note};
use crate::distributed::Group;
use crate::distributed::launcher::{InvalidLauncherEnv, LauncherEnv};
use crate::distributed::rendezvous::{ErrorExit, fail_before_joining};
use crate::error::{Error, Result};
use crate::exchange::{self, Exchange as _};
use crate::memory;
use crate::neural::device::use_local_device;
use crate::report::Record;
use crate::waiting::Waiting;
use clap::parser::ValueSource;
use clap::{Arg, Command};
use std::env;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Ends all ranks after an error, of another rank or not, with an exit code.
type Fail = Box<dyn Fn(bool, u8) -> ErrorExit + Send>;

/// `None` if this process was started alone, has not tried to join yet, or has left.
static FAIL: Mutex<Option<Fail>> = Mutex::new(None);

/// The commands that several ranks can share.
const COMMANDS: [&str; 3] = ["train", "bench", "solve"];

/// Joins the other ranks, if a launcher has started several. All ranks need the same flags.
pub(super) fn join(stop: &Arc<AtomicBool>) -> Result<Option<Arc<Group>>, Failure> {
    let _waiting = Waiting::during("waiting for the other ranks".into());
    let launcher = match LauncherEnv::read() {
        Ok(None) => return Ok(None),
        Ok(Some(launcher)) => launcher,
        Err(invalid) => {
            let error = anyhow::anyhow!("{}", invalid.error);
            set(Some(Box::new(move |_, code| fail_in_invalid_env(&invalid, code))));
            return Err(Failure::Input(error));
        }
    };
    let version = format!("costar {}, exchange {}", env!("CARGO_PKG_VERSION"), exchange::VERSION);
    let signature: Vec<String> = [version].into_iter().chain(given()).collect();
    let group = loop {
        let group = match Group::open(launcher.clone(), Arc::clone(stop)) {
            Ok(group) => Arc::new(group),
            Err(error) => {
                // Without a store the ranks cannot agree on one that prints.
                let may_print = launcher.rank <= 1 || launcher.local_rank == 0;
                set(Some(Box::new(move |is_other, code| ErrorExit { prints: !is_other && may_print, code })));
                return Err(error).or_input();
            }
        };
        let opened = Arc::clone(&group);
        set(Some(Box::new(move |is_other, code| opened.fail(is_other, code))));
        if group.join(&signature.join("\n")).or_input()? {
            break group;
        }
    };
    // A call to a store whose host has vanished may never return.
    let size = group.size();
    group.when_lost(move || {
        note!("error: rank 0 of {size} no longer answers, so all ranks end");
        super::end(1);
    });
    use_local_device(launcher.local_rank);
    memory::divide_among(group.local_size().or_input()?);
    if !group.is_first() {
        log::set_max_level(log::LevelFilter::Warn); // rank 0 logs the rest
    }
    Ok(Some(group))
}

/// The command of this process, then its flags with their values, and its instance, in the order in which they were given. A
/// flag of all commands is not among them: ranks may differ in `-v`.
fn given() -> Vec<String> {
    let (parser, matches) = (super::parser(), super::parser().get_matches());
    let Some((name, given)) = matches.subcommand() else { return Vec::new() };
    let id = |flag: &Arg| flag.get_id().to_string();
    let is_given = |flag: &&Arg| given.value_source(&id(flag)) == Some(ValueSource::CommandLine);
    let flags = parser.find_subcommand(name).into_iter().flat_map(Command::get_arguments);
    let mut flags: Vec<&Arg> = flags.filter(is_given).collect();
    flags.sort_by_key(|flag| given.index_of(&id(flag)));
    let line = |flag: &Arg| {
        let values = given.get_raw(&id(flag)).filter(|_| flag.get_action().takes_values());
        let values = values.into_iter().flatten().map(|value| value.to_string_lossy().into_owned());
        flag.get_long().map(|long| format!("--{long}")).into_iter().chain(values).collect::<Vec<_>>().join(" ")
    };
    [name.to_owned()].into_iter().chain(flags.into_iter().map(line)).collect()
}

fn set(fail: Option<Fail>) {
    *FAIL.lock().unwrap_or_else(PoisonError::into_inner) = fail;
}

/// Checks that all ranks have the same settings of a command, and the same weights as in a template of its results.
pub(super) fn check_alike(group: &Group, command: &str, settings: &str, template: &Record) -> Result<()> {
    let weights = template.weights_crc32.map_or("none".into(), |checksum| format!("{checksum:08x}"));
    group.agree(command, &format!("{settings}\na model with the checksum {weights}"))
}

/// Leaves the group after success.
pub(super) fn leave() {
    set(None);
}

/// Ends all ranks after an error of this rank, with its exit code, or of another rank.
pub(super) fn fail(error: &anyhow::Error, code: u8) -> ErrorExit {
    let is_other_rank = error.chain().filter_map(|cause| cause.downcast_ref()).any(Error::is_other_rank);
    let fail = FAIL.lock().unwrap_or_else(PoisonError::into_inner);
    fail.as_ref().map_or(ErrorExit { prints: true, code }, |fail| fail(is_other_rank, code))
}

fn fail_in_invalid_env(invalid: &InvalidLauncherEnv, code: u8) -> ErrorExit {
    match &invalid.rendezvous {
        Some(rendezvous) => fail_before_joining(rendezvous, None, code),
        None => ErrorExit { prints: invalid.prints, code },
    }
}

/// Whether this rank prints that the flags cannot be parsed.
pub(super) fn prints_usage() -> bool {
    if !env::args().nth(1).is_some_and(|command| COMMANDS.contains(&command.as_str())) {
        return true;
    }
    match LauncherEnv::read() {
        Ok(None) => true,
        Ok(Some(launcher)) => fail_before_joining(&launcher.rendezvous, Some(launcher.size), BAD_INPUT).prints,
        Err(invalid) => fail_in_invalid_env(&invalid, BAD_INPUT).prints,
    }
}
