//! A search that several ranks share: all of them search, and rank 0 reads the instances and shows the solutions.

use super::{Args, page_flag, present, print_refusal, print_solution, read};
use crate::cli::progress::SearchLine;
use crate::cli::ranks::{SearchRanks, weights};
use crate::cli::{BAD_INPUT, Ending, OrInput as _, SUCCESS, instances};
use crate::distributed::Group;
use crate::error::Error;
use crate::puzzle::Puzzle;
use crate::registry::Entry;
use crate::search::exchange::Exchange;
use crate::solver::{Solution, Solver, Watch};
use anyhow::{Context as _, Result, anyhow};
use std::io::{self, BufReader};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

pub(super) fn run<P: Puzzle>(
    entry: Entry<P>,
    args: &Args,
    instance: &str,
    group: &Arc<Group>,
    stop: &Arc<AtomicBool>,
) -> Ending {
    let is_stream = instance == "-";
    if let Some(flag) = page_flag(args).or(args.explain.then_some("--explain")).filter(|_| is_stream) {
        return Err(anyhow!("{flag} is for one instance, and - stands for many; give the one")).or_input();
    }
    if !is_stream {
        entry.puzzle().parse(instance).or_input()?;
    }
    let mut solver = args.flags.builder(entry.clone(), stop).and_then(|builder| builder.build()).or_input()?;
    let ranks = Arc::new(SearchRanks::new(Arc::clone(group)));
    solver.share(Arc::clone(&ranks) as Arc<dyn Exchange>).or_input()?;
    check_alike(group, &solver).or_input()?;
    let mut line = if group.is_first() { SearchLine::new() } else { SearchLine::hidden() };
    if !is_stream {
        let start = solver.parse(instance).or_input()?;
        let solution = search(&mut solver, &ranks, instance, start, &mut line, stop)?;
        return if group.is_first() { present(&entry, args, instance, &mut solver, &solution) } else { Ok(SUCCESS) };
    }
    let takes_lines = solver.puzzle().takes_lines();
    let written = group.is_first().then(|| instances::stream(Box::new(BufReader::new(io::stdin())), takes_lines));
    let (mut worst, mut count) = (0, 0);
    while let Some(text) = next(group, count, written.as_ref(), stop)? {
        count += 1;
        line.instances(format!("instance {count}: "));
        let (text, optimum, start) = match read(&solver, &text) {
            Ok(read) => read,
            Err(refusal) => {
                if group.is_first() {
                    worst = BAD_INPUT;
                    print_refusal(&**solver.puzzle(), count, &text, &refusal, args.flags.json)?;
                }
                continue;
            }
        };
        let mut solution = search(&mut solver, &ranks, text, start, &mut line, stop)?;
        solution.record.optimal_length = optimum;
        if group.is_first() {
            worst = worst.max(print_solution(&**solver.puzzle(), &solution, args.flags.json)?);
        }
    }
    Ok(ExitCode::from(worst))
}

/// Refuses ranks that have other weights or another perimeter.
fn check_alike<P: Puzzle>(group: &Group, solver: &Solver<P>) -> crate::Result<()> {
    let weights = weights(solver.template());
    group.agree("solve", &format!("{weights}\n--perimeter {}", solver.perimeter_depth()))
}

/// The next instance, which rank 0 has read; `None` at the end.
fn next(
    group: &Group,
    count: usize,
    written: Option<&Receiver<io::Result<instances::Written>>>,
    stop: &AtomicBool,
) -> Result<Option<String>> {
    let mut text = None;
    while let Some(written) = written.filter(|_| !stop.load(Ordering::Relaxed)) {
        match written.recv_timeout(Duration::from_millis(50)) {
            Ok(instance) => {
                text = Some(instance.context("standard input cannot be read")?.text);
                break;
            }
            Err(RecvTimeoutError::Timeout) => {} // look whether a signal came
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let text = serde_json::to_vec(&text).context("an instance cannot be written as JSON")?;
    let text = group.share(&format!("instance {count}"), &text)?;
    serde_json::from_slice(&text).context("rank 0 has another version of costar")
}

fn search<P: Puzzle>(
    solver: &mut Solver<P>,
    ranks: &SearchRanks,
    instance: &str,
    start: P::State,
    line: &mut SearchLine,
    stop: &AtomicBool,
) -> Result<Solution<P::State>, Error> {
    let watch = Watch { stop, progress: &mut |progress| line.show(progress), incumbents: &mut |_| () };
    let solution = solver.solve_typed(instance, start, watch);
    line.clear();
    // Why the ranks have parted says more than that the search could not go on.
    solution.map_err(|error| ranks.take_error().unwrap_or(error))
}
