//! A search that several ranks share: all ranks search, and rank 0 reads the instances and prints the solutions.

use super::{Args, all, present, solve_with_line};
use crate::cli::progress::SearchLine;
use crate::cli::ranks::{GroupExchange, check_alike};
use crate::cli::{Ending, OrInput as _, SUCCESS};
use crate::distributed::Group;
use crate::error::Error;
use crate::puzzle::Puzzle;
use crate::registry::Entry;
use crate::search::exchange::Exchange;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub(super) fn run<P: Puzzle>(
    entry: Entry<P>,
    args: &Args,
    instance: &str,
    group: &Arc<Group>,
    stop: &Arc<AtomicBool>,
) -> Ending {
    let is_stream = instance == "-";
    if !is_stream {
        entry.puzzle().parse(instance).or_input()?;
    }
    let mut solver = args.flags.builder(entry.clone(), stop).and_then(|builder| builder.build()).or_input()?;
    let exchange = Arc::new(GroupExchange::new(Arc::clone(group)));
    solver.share(Arc::clone(&exchange) as Arc<dyn Exchange>).or_input()?;
    // Each rank has chosen for itself what was left to it: the perimeter, the engine, the device.
    let (depth, template) = (solver.perimeter_depth(), solver.template());
    let device = template.device.as_deref().map_or("no device", |device| device.split(':').next().unwrap_or(device));
    let settings = format!("--perimeter {depth}\n--device {device}\n{}", template.config);
    check_alike(group, "solve", &settings, template).or_input()?;
    if is_stream {
        return all(solver, args, Some(&exchange), stop);
    }
    let start = solver.parse(instance).or_input()?;
    let mut line = SearchLine::new(group.is_first());
    let solution = solve_with_line(&mut solver, args, (instance, start), &mut line, stop);
    let solution = solution.map_err(|error| cause(Some(&exchange), error))?;
    if group.is_first() { present(&entry, args, instance, &mut solver, &solution) } else { Ok(SUCCESS) }
}

/// The error of the exchange, if there was one: it says more than the error of the search that it ended.
pub(super) fn cause(exchange: Option<&GroupExchange>, error: Error) -> Error {
    exchange.and_then(GroupExchange::take_error).unwrap_or(error)
}
