//! The command line: flags as typed, resolved to settings, then the work. One file a subcommand.

use crate::progress::note;
use crate::signal;
use clap::{Parser, Subcommand};
use std::io;
use std::process::ExitCode;

mod bench;
mod choice;
mod estimator;
mod explain;
mod instances;
mod models;
mod plot;
mod puzzles;
mod reverse;
mod scramble;
mod search_options;
mod serve;
mod solve;
mod solver;
mod train;
mod view;

/// Learns how far any state of a puzzle is from solved, and finds short solutions with it.
#[derive(Debug, Parser)]
#[command(name = "costar", version, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Solve an instance, or many from standard input
    Solve(solve::Args),
    /// Solve the instances of a file, and sum up lengths and times
    Bench(bench::Args),
    /// Train a network to estimate the cost-to-go, from scrambles alone
    Train(train::Args),
    /// Draw pictures of trainings, of what models say, and of results of bench
    Plot(plot::Args),
    /// Make a page that plays a solution, move by move
    View(view::Args),
    /// Serve a page with a solver behind it, and a JSON API, on this computer
    Serve(serve::Args),
    /// Print random scrambles
    Scramble(scramble::Args),
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
        self.map_err(|error| Failure::Input(error.into()))
    }
}

/// Whether all went well, or what the exit code is instead.
type Ending = Result<ExitCode, Failure>;

const SUCCESS: ExitCode = ExitCode::SUCCESS;
/// Not solved within the limits, or no solution exists.
const NOT_SOLVED: u8 = 1;
/// Bad input or bad usage.
const BAD_INPUT: u8 = 2;

/// Parses the arguments, does the work, and gives the exit code.
pub fn main() -> ExitCode {
    let command = Cli::parse().command;
    let ending = match command {
        Command::Solve(args) => solve::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Train(args) => train::run(args),
        Command::Plot(args) => plot::run(&args),
        Command::View(args) => view::run(&args),
        Command::Serve(args) => serve::run(args),
        Command::Scramble(args) => scramble::run(&args),
        Command::Puzzles => puzzles::run(),
    };
    let (error, code) = match ending {
        Ok(code) => return signal::exit_code().map_or(code, ExitCode::from),
        Err(Failure::Input(error)) => (error, BAD_INPUT),
        Err(Failure::Other(error)) => (error, NOT_SOLVED),
    };
    if is_broken_pipe(&error) {
        return SUCCESS; // whoever read our output has had enough
    }
    note!("costar: {error:#}");
    ExitCode::from(signal::exit_code().unwrap_or(code))
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds.into_iter().any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}
