//! The ranks of a command that several processes work at together: they meet before anything else, and one of them says why
//! all end.

use super::{BAD_INPUT, Failure, OrInput as _, note};
use crate::distributed::Group;
use crate::distributed::group::Gathered;
use crate::distributed::meeting::{self, Verdict};
use crate::distributed::place::{Misplaced, Place};
use crate::error::Error;
use crate::heuristic::HeuristicError;
use crate::memory;
use crate::neural::device::use_local_device;
use crate::report::Record;
use crate::search::exchange::{self, Exchange};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{env, process, thread};

/// What this process knows of its ranks.
enum Ranks {
    /// It was started alone, or has not looked yet.
    Alone,
    /// It has a group.
    Together(Arc<Group>),
    /// Its place makes no sense.
    Misplaced(Box<Misplaced>),
    /// Its place is clear, and nobody met it there.
    Unmet(Place),
}

static RANKS: Mutex<Ranks> = Mutex::new(Ranks::Alone);

/// The commands that several ranks may work at.
const COMMANDS: [&str; 3] = ["train", "bench", "solve"];

/// Meets the other ranks, if a launcher has started several; they must have been given the same flags.
pub(super) fn join(stop: &Arc<AtomicBool>) -> Result<Option<Arc<Group>>, Failure> {
    let place = match Place::from_environment() {
        Ok(None) => return Ok(None),
        Ok(Some(place)) => place,
        Err(misplaced) => {
            let error = anyhow::anyhow!("{}", misplaced.error);
            set(Ranks::Misplaced(misplaced));
            return Err(Failure::Input(error));
        }
    };
    let local_rank = place.local_rank;
    let version = format!("costar {}, exchange {}", env!("CARGO_PKG_VERSION"), exchange::VERSION);
    let signature: Vec<String> = std::iter::once(version).chain(env::args().skip(1)).collect();
    let group = loop {
        let group = match Group::open(place.clone(), Arc::clone(stop)) {
            Ok(group) => Arc::new(group),
            Err(error) => {
                set(Ranks::Unmet(place));
                return Err(error).or_input();
            }
        };
        set(Ranks::Together(Arc::clone(&group)));
        if group.gather(&signature.join("\n")).or_input()? == Gathered::All {
            break group;
        }
    };
    end_where_lost(&group);
    use_local_device(local_rank);
    memory::divide_among(group.local_size());
    if !group.is_first() {
        // Rank 0 says what there is to say.
        log::set_max_level(log::LevelFilter::Warn);
    }
    Ok(Some(group))
}

/// Ends this process where the machine of the ranks' store has vanished, and a call to it does not return.
fn end_where_lost(group: &Group) {
    const LAST_WORDS: Duration = Duration::from_secs(10);
    let is_lost = group.lookout();
    let size = group.size();
    thread::spawn(move || {
        while !is_lost() {
            thread::sleep(Duration::from_secs(1));
        }
        thread::sleep(LAST_WORDS);
        if is_lost() {
            note!("error: rank 0 of {size} does not answer any more, and all others end with it");
            process::exit(1);
        }
    });
}

fn set(ranks: Ranks) {
    *RANKS.lock().unwrap_or_else(PoisonError::into_inner) = ranks;
}

/// The ranks that share a search.
pub(super) struct SearchRanks {
    group: Arc<Group>,
    error: Mutex<Option<Error>>,
}

impl SearchRanks {
    pub(super) fn new(group: Arc<Group>) -> Self {
        SearchRanks { group, error: Mutex::new(None) }
    }

    /// Why the exchange has failed, if it has.
    pub(super) fn take_error(&self) -> Option<Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Exchange for SearchRanks {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn size(&self) -> usize {
        self.group.size()
    }

    fn all_to_all(&self, to: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, HeuristicError> {
        self.group.all_to_all(&to).map_err(|error| {
            let text = error.to_string();
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            HeuristicError(text)
        })
    }
}

/// The weights that all ranks must have alike.
pub(super) fn weights(template: &Record) -> String {
    match template.weights_crc32 {
        Some(checksum) => format!("a model with the checksum {checksum:08x}"),
        None => "no model".into(),
    }
}

/// Leaves the group after all went well.
pub(super) fn leave() {
    set(Ranks::Alone);
}

/// Ends all ranks because of an error of this one, with an exit code, or of another.
pub(super) fn end(error: &anyhow::Error, code: u8) -> Verdict {
    let is_elsewhere = error.chain().filter_map(|cause| cause.downcast_ref()).any(Error::is_elsewhere);
    match &*RANKS.lock().unwrap_or_else(PoisonError::into_inner) {
        Ranks::Alone => Verdict { speaks: true, code },
        Ranks::Together(group) => group.fail(is_elsewhere, code),
        Ranks::Misplaced(misplaced) => misplaced_end(misplaced, code),
        // Nobody can be asked who is to say it.
        Ranks::Unmet(place) => Verdict { speaks: !is_elsewhere && (place.rank <= 1 || place.local_rank == 0), code },
    }
}

fn misplaced_end(misplaced: &Misplaced, code: u8) -> Verdict {
    match &misplaced.meeting {
        Some(place) => meeting::fail_alone(place, None, code),
        None => Verdict { speaks: misplaced.speaks, code },
    }
}

/// Whether this rank is the one to say that the flags cannot be parsed.
pub(super) fn may_say_usage() -> bool {
    if !env::args().nth(1).is_some_and(|command| COMMANDS.contains(&command.as_str())) {
        return true;
    }
    match Place::from_environment() {
        Ok(Some(place)) => meeting::fail_alone(&place.meeting, Some(place.size), BAD_INPUT).speaks,
        Ok(None) => true,
        Err(misplaced) => misplaced_end(&misplaced, BAD_INPUT).speaks,
    }
}
