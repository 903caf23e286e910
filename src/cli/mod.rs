//! The command line: flags → options → one call → print.
//!
//! | file | content |
//! | --- | --- |
//! | `solve`, `bench`, … `puzzles` | the flags of each subcommand, and what it does |
//! | `flags` | flags that several subcommands share |
//! | `instances` | instances in a file or on standard input |
//! | `contest` | the files of contests, for `import`, `bench` and `improve` |
//! | `explain` | what `solve --explain` prints |
//! | `output_file` | files that commands write |
//! | `progress` | notes on the standard error stream, and progress in a terminal |
//! | `ranks` | a command that several processes share |
//! | `signal` | Ctrl-C, SIGTERM and SIGHUP |

use crate::cpu_features;
use crate::distributed::rendezvous::ErrorExit;
use crate::error::Error;
use crate::solver::models;
use progress::note;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::any::TypeId;
use std::io::{self, Write as _};
use std::path::PathBuf;

mod bench;
mod compare;
mod contest;
mod evaluate;
mod explain;
mod flags;
mod import;
mod improve;
mod instances;
mod output_file;
mod perimeter;
#[cfg(feature = "plot")]
mod plot;
mod progress;
mod puzzles;
mod ranks;
mod scramble;
#[cfg(feature = "serve")]
mod serve;
mod signal;
mod solve;
mod train;
mod view;

/// Learns how far any state of a puzzle is from solved, and finds short solutions with it.
#[derive(Debug, Parser)]
#[command(name = "costar", version, max_term_width = 110)]
struct Cli {
    /// Log more: what costar chooses, and why
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Solve one instance, or many from standard input
    Solve(solve::Args),
    /// Solve the instances of a file, and summarize lengths and times
    Bench(bench::Args),
    /// Solve an instance with every search and heuristic that fits, one line each
    Compare(compare::Args),
    /// Print the estimated cost-to-go and the move probabilities of many states, as JSON lines
    Evaluate(evaluate::Args),
    /// Train a network to estimate the cost-to-go, from scrambles alone
    Train(Box<train::Args>),
    /// Draw training runs, predictions of models, and results of bench
    #[cfg(feature = "plot")]
    Plot(plot::Args),
    /// Write a page that plays a solution, move by move
    View(view::Args),
    /// Serve a page with a solver behind it, and a JSON API, on this computer
    #[cfg(feature = "serve")]
    Serve(crate::server::ServerConfig),
    /// Print random scrambles
    Scramble(scramble::Args),
    /// Read the puzzles and instances of a contest's files
    Import(import::Args),
    /// Shorten known solutions of a contest's instances
    Improve(improve::Args),
    /// Build the table of exact distances near the goals, for searches and proofs, and keep it in the cache
    Perimeter(perimeter::Args),
    /// List every puzzle with its notation, searches, heuristics and models
    Puzzles,
}

/// Parses the arguments, runs the command, and ends the process with its exit code.
pub fn main() -> ! {
    end(run())
}

/// Ends the process without the destructors of libtorch, which take a quarter of the time of a program that only links it.
fn end(code: u8) -> ! {
    let _ = io::stdout().flush();
    // SAFETY: C's streams are flushed, as by `exit`; after `_exit`, nothing of this process is used.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(code.into())
    }
}

/// Runs the command that the arguments name, and returns the exit code.
fn run() -> u8 {
    let parsed = parser().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let Cli { command, verbose } = match parsed {
        Ok(cli) => cli,
        // Help and the version are not errors, and go to the standard output.
        Err(error) if !error.use_stderr() => {
            let Err(error) = error.print().and_then(|()| io::stdout().flush()) else { return SUCCESS };
            if error.kind() == io::ErrorKind::BrokenPipe {
                return SUCCESS;
            }
            note!("error: the standard output cannot be written: {error}");
            return NOT_SOLVED;
        }
        Err(error) => {
            if ranks::prints_usage() {
                note!("{}", error.render().to_string().trim_end());
            }
            return BAD_INPUT;
        }
    };
    let level = if verbose { log::LevelFilter::Debug } else { log::LevelFilter::Info };
    // A logger that is installed already stays.
    let _ = log::set_logger(&Log).map(|()| log::set_max_level(level));
    let ending = cpu_features::check().or_input().and_then(|()| match command {
        Command::Solve(args) => solve::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Train(args) => train::run(*args),
        #[cfg(feature = "plot")]
        Command::Plot(args) => plot::run(&args),
        Command::View(args) => view::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        Command::Scramble(args) => scramble::run(&args),
        Command::Import(args) => import::run(args),
        Command::Improve(args) => improve::run(args),
        Command::Perimeter(args) => perimeter::run(args),
        Command::Puzzles => puzzles::run(),
    });
    let (error, code) = match ending {
        Ok(code) => {
            ranks::leave();
            return signal::exit_code().unwrap_or(code);
        }
        Err(Failure::Input(error)) => (error, BAD_INPUT),
        Err(Failure::Other(error)) => (error, NOT_SOLVED),
    };
    let is_broken_pipe = is_broken_pipe(&error);
    // An error of a file has a context with its name; a bare one is the standard output's.
    let is_bare = error.chain().next().is_some_and(|cause| cause.is::<io::Error>());
    let error = if is_bare { error.context("the standard output cannot be written") } else { error };
    let ErrorExit { prints, code } = ranks::fail(&error, code);
    if prints && is_broken_pipe {
        return SUCCESS; // the reader of the output needs no more
    }
    if prints {
        note!("error: {}", with_flags(&format!("{error:#}")));
    }
    signal::exit_code().unwrap_or(code)
}

/// The parser. A negative number after a flag that takes a number is its value, and is refused as such.
fn parser() -> clap::Command {
    Cli::command().mut_subcommands(|command| {
        command.mut_args(|arg| {
            let kind = arg.get_value_parser().type_id();
            let is_text = kind == TypeId::of::<String>() || kind == TypeId::of::<PathBuf>();
            let takes_number = arg.get_long().is_some() && arg.get_action().takes_values() && !is_text;
            arg.allow_negative_numbers(takes_number)
        })
    })
}

/// The exit code of a command, or why it failed.
type Ending = Result<u8, Failure>;

const SUCCESS: u8 = 0;
/// Not solved within the limits, or no solution exists.
const NOT_SOLVED: u8 = 1;
/// Bad input or bad usage.
const BAD_INPUT: u8 = 2;

/// Why a command failed.
#[derive(Debug)]
enum Failure {
    /// Bad input or bad usage: exit code 2.
    Input(anyhow::Error),
    /// Everything else: exit code 1.
    Other(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Other(error.into())
    }
}

/// Marks errors that the input causes.
trait OrInput<T> {
    fn or_input(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrInput<T> for Result<T, E> {
    fn or_input(self) -> Result<T, Failure> {
        self.map_err(|error| {
            let error = error.into();
            match error.downcast_ref().map(Error::without_context) {
                Some(Error::Heuristic(_) | Error::LostRank(_) | Error::Bug(_)) => Failure::Other(error),
                Some(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::StorageFull => Failure::Other(error),
                _ => Failure::Input(error),
            }
        })
    }
}

/// Refuses the input unless a condition holds.
fn check_input(holds: bool, refusal: impl FnOnce() -> String) -> Result<(), Failure> {
    if holds { Ok(()) } else { Err(anyhow::anyhow!(refusal())).or_input() }
}

/// The puzzle if neither it nor a model is named.
const DEFAULT_PUZZLE: &str = "cube3";

/// The puzzle of a command: the one that is named, else the model's, else the cube.
fn puzzle_name(puzzle: Option<&str>, model: Option<&str>) -> crate::Result<String> {
    match (puzzle, model) {
        (Some(name), _) => Ok(name.to_owned()),
        (None, Some(model)) => models::puzzle_of(&models::find(model)?),
        (None, None) => Ok(DEFAULT_PUZZLE.to_owned()),
    }
}

/// A count as `usize`; the largest one if it does not fit.
fn narrow(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// The library's message in the words of the command line: a setting in backticks becomes its flag.
fn with_flags(message: &str) -> String {
    let command = Cli::command();
    let flags =
        || command.get_subcommands().flat_map(|command| command.get_arguments()).filter_map(|arg| arg.get_long());
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    // A text that the user typed may hold a backtick, too.
    while let Some((before, after)) = rest.split_once('`') {
        text += before;
        let named = after.split_once('`').map(|(name, behind)| (name.replace('_', "-"), behind));
        match named.filter(|(flag, _)| flags().any(|known| known == flag)) {
            Some((flag, behind)) => (text, rest) = (text + "--" + &flag, behind),
            None => (text, rest) = (text + "`", after),
        }
    }
    text + rest
}

/// Prints what the library logs to the standard error stream.
struct Log;

impl log::Log for Log {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("costar") && metadata.level() <= log::max_level()
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            note!("costar: {}", with_flags(&record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_become_flags() {
        assert_eq!(with_flags("`policy_weight`: add `deferred`"), "--policy-weight: add --deferred");
        assert_eq!(with_flags("a `word` and an odd `"), "a `word` and an odd `");
    }

    #[test]
    fn a_rank_that_has_died_is_no_bad_input() {
        let failure = |error: Error| Err::<(), _>(error).or_input().expect_err("a failure");
        assert!(matches!(failure(Error::LostRank("rank 1 of 2 has ended".into())), Failure::Other(_)));
        let within = Error::Context { context: "the start".into(), cause: Box::new(Error::LostRank("rank 1".into())) };
        assert!(matches!(failure(within), Failure::Other(_)));
        assert!(matches!(failure(Error::Data("a damaged file".into())), Failure::Input(_)));
    }

    #[test]
    fn the_command_line_is_well_formed() {
        parser().debug_assert();
    }
}
