//! A search that several ranks share: all ranks search, and rank 0 reads the instances and prints the solutions.

use super::{Args, Session};
use crate::cli::progress::SearchLine;
use crate::cli::ranks::{GroupExchange, check_alike};
use crate::cli::{Ending, OrInput as _, SUCCESS};
use crate::distributed::Group;
use crate::puzzle::Puzzle;
use crate::registry::Entry;
use crate::search::exchange::Exchange;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

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
    let mut solver = args.flags.builder(entry.clone(), stop).build().or_input()?;
    let exchange = Arc::new(GroupExchange { group: Arc::clone(group), error: Mutex::default() });
    solver.share(Arc::clone(&exchange) as Arc<dyn Exchange>).or_input()?;
    // Each rank has chosen for itself what was left to it: the perimeter, the engine, the device.
    let (depth, template) = (solver.perimeter_depth(), solver.template());
    let device = template.device.as_deref().map_or("no device", |device| device.split(':').next().unwrap_or(device));
    let settings = format!("--perimeter {depth}\n--device {device}\n{}", template.config);
    check_alike(group, "solve", &settings, template).or_input()?;
    let mut session = Session { entry, solver, args, exchange: Some(exchange), stop };
    if is_stream {
        return session.all();
    }
    let start = session.solver.parse(instance).or_input()?;
    let solution = session.solve_with_line(instance, start, &mut SearchLine::new(group.is_first()))?;
    if group.is_first() { session.present(instance, &solution) } else { Ok(SUCCESS) }
}
