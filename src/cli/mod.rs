//! The command line: flags → configuration → one call → print. One file per subcommand.

use crate::distributed::meeting::Verdict;
use crate::error::Error;
use crate::solver::models;
use progress::note;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::any::TypeId;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

mod bench;
mod compare;
mod evaluate;
mod explain;
mod instances;
mod perimeter;
#[cfg(feature = "plot")]
mod plot;
mod progress;
mod puzzle_flags;
mod puzzles;
mod ranks;
mod scramble;
#[cfg(feature = "serve")]
mod serve;
mod signal;
mod solve;
mod solver_flags;
mod train;
#[cfg(feature = "view")]
mod view;

/// Learns how far any state of a puzzle is from solved, and finds short solutions with it.
#[derive(Debug, Parser)]
#[command(name = "costar", version, max_term_width = 110)]
struct Cli {
    /// Say more of what is chosen, and why
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Solve an instance, or many from standard input
    Solve(solve::Args),
    /// Solve the instances of a file, and sum up lengths and times
    Bench(bench::Args),
    /// Solve an instance with every search and heuristic that fits, a line each
    Compare(compare::Args),
    /// Print what a network says of many states: the cost-to-go and the move probabilities, as JSON lines
    Evaluate(evaluate::Args),
    /// Train a network to estimate the cost-to-go, from scrambles alone
    Train(Box<train::Args>),
    /// Draw pictures of trainings, of what models predict, and of results of bench
    #[cfg(feature = "plot")]
    Plot(plot::Args),
    /// Make a page that plays a solution, move by move
    #[cfg(feature = "view")]
    View(view::Args),
    /// Serve a page with a solver behind it, and a JSON API, on this computer
    #[cfg(feature = "serve")]
    Serve(serve::Args),
    /// Print random scrambles
    Scramble(scramble::Args),
    /// Make the table of exact distances near the goals, which solves use and proofs need, and keep it in the cache
    Perimeter(perimeter::Args),
    /// List every puzzle, its notation, its searches and its models
    Puzzles,
}

/// Why a command has failed.
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

/// Marks errors that are the input's.
trait OrInput<T> {
    fn or_input(self) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrInput<T> for Result<T, E> {
    fn or_input(self) -> Result<T, Failure> {
        self.map_err(|error| {
            let error = error.into();
            match error.downcast_ref() {
                Some(Error::Heuristic(_) | Error::Bug(_)) => Failure::Other(error),
                _ => Failure::Input(error),
            }
        })
    }
}

/// The puzzle that a command is about: the one that is named, else that of the model, else the cube.
fn puzzle_name(given: Option<&str>, model: Option<&str>) -> crate::Result<String> {
    match (given, model) {
        (Some(name), _) => Ok(name.to_owned()),
        (None, Some(model)) => models::puzzle_of(&models::find(model)?),
        (None, None) => Ok(DEFAULT_PUZZLE.to_owned()),
    }
}

/// The puzzle where neither it nor a model is named.
const DEFAULT_PUZZLE: &str = "cube3";

/// Whether all went well, or what the exit code is instead.
type Ending = Result<ExitCode, Failure>;

const SUCCESS: ExitCode = ExitCode::SUCCESS;
/// Not solved within the limits, or no solution exists.
const NOT_SOLVED: u8 = 1;
/// Bad input or bad usage.
const BAD_INPUT: u8 = 2;

/// The command line. A negative number behind a flag that takes a number is its value, and refused as such.
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

/// Parses the arguments, does the work, and gives the exit code.
pub fn main() -> ExitCode {
    // What the library logs goes to the standard error stream. If a logger is there already, it stays.
    let parsed = parser().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let Cli { command, verbose } = match parsed {
        Ok(cli) => cli,
        // Help and the version are no errors, and go to the standard output.
        Err(error) if !error.use_stderr() || ranks::may_say_usage() => error.exit(),
        Err(_) => return ExitCode::from(BAD_INPUT),
    };
    let level = if verbose { log::LevelFilter::Debug } else { log::LevelFilter::Info };
    let _ = log::set_logger(&Log).map(|()| log::set_max_level(level));
    let ending = match command {
        Command::Solve(args) => solve::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Compare(args) => compare::run(args),
        Command::Evaluate(args) => evaluate::run(args),
        Command::Train(args) => train::run(*args),
        #[cfg(feature = "plot")]
        Command::Plot(args) => plot::run(&args),
        #[cfg(feature = "view")]
        Command::View(args) => view::run(&args),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::run(args),
        Command::Scramble(args) => scramble::run(&args),
        Command::Perimeter(args) => perimeter::run(args),
        Command::Puzzles => puzzles::run(),
    };
    let (error, code) = match ending {
        Ok(code) => {
            ranks::leave();
            return signal::exit_code().map_or(code, ExitCode::from);
        }
        Err(Failure::Input(error)) => (error, BAD_INPUT),
        Err(Failure::Other(error)) => (error, NOT_SOLVED),
    };
    let is_broken_pipe = is_broken_pipe(&error);
    // Of a file, a context names it.
    let is_bare = error.chain().next().is_some_and(|cause| cause.is::<io::Error>());
    let error = if is_bare { error.context("the standard output cannot be written") } else { error };
    let Verdict { speaks, code } = ranks::end(&error, code);
    if !speaks {
        return ExitCode::from(signal::exit_code().unwrap_or(code));
    }
    if is_broken_pipe {
        return SUCCESS; // whoever read our output has had enough
    }
    note!("error: {}", with_flags(&format!("{error:#}")));
    ExitCode::from(signal::exit_code().unwrap_or(code))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds.into_iter().any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// A message of the library as the command line says it: a setting in backticks becomes its flag.
fn with_flags(message: &str) -> String {
    let command = Cli::command();
    let flags =
        || command.get_subcommands().flat_map(|command| command.get_arguments()).filter_map(|arg| arg.get_long());
    let mut text = String::with_capacity(message.len());
    for (i, part) in message.split('`').enumerate() {
        let flag = part.replace('_', "-");
        match i % 2 {
            0 => text += part,
            _ if flags().any(|known| known == flag) => text += &format!("--{flag}"),
            _ => text += &format!("`{part}`"),
        }
    }
    text
}

/// Prints what the library logs.
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
        assert_eq!(with_flags("a `word` and an odd `"), "a `word` and an odd ``");
    }

    #[test]
    fn the_command_line_is_well_formed() {
        parser().debug_assert();
    }
}
