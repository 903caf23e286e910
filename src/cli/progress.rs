//! Notes on the standard error stream, and progress in a terminal.

use crate::puzzle::visible;
use crate::quantity::{grouped, roughly};
use crate::search::perimeter::PerimeterProgress;
use crate::search::{Progress, ProofProgress};
pub use indicatif::ProgressBar;
use indicatif::{ProgressDrawTarget, ProgressFinish, ProgressStyle};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Writes a line to the standard error stream. Unlike `eprintln!`, it does not panic if the stream is closed: a training
/// outlives its terminal. Control characters, which names and input may hold, do not reach the terminal.
macro_rules! note {
    ($($format:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "{}", crate::puzzle::visible(&format!($($format)*)));
    }};
}
pub(crate) use note;

/// The bar of a training of `total` samples that starts at `seen`.
pub fn training_bar(total: u64, seen: u64, ranks: u64) -> ProgressBar {
    let prefix = if ranks > 1 { format!("{ranks} ranks  ") } else { String::new() };
    let template = format!("{prefix}{{bar:30}} {{human_pos}}/{{human_len}} samples  {{msg}}  {{eta_precise}} left");
    let bar = with_style(ProgressBar::new(total).with_position(seen), &template);
    bar.reset_eta();
    bar
}

/// Prints a line above a bar, on the standard error stream even without a terminal.
pub fn note_above(bar: &ProgressBar, line: &str) {
    if bar.is_hidden() { note!("{line}") } else { bar.println(visible(line)) }
}

/// The progress line of a search.
#[derive(Debug)]
pub struct SearchLine {
    bar: ProgressBar,
    prefix: String,
    last: Cell<Instant>,
}

impl SearchLine {
    /// A line that is visible only in a terminal, and only if `is_shown`.
    pub fn new(is_shown: bool) -> Self {
        let target = if is_shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = with_style(ProgressBar::with_draw_target(None, target), "{spinner} {msg}");
        SearchLine { bar, prefix: String::new(), last: Cell::new(Instant::now()) }
    }

    /// Sets the text before the progress, which names the current instance.
    pub fn set_prefix(&mut self, text: String) {
        self.prefix = text;
    }

    /// Shows the progress, at most ten times a second.
    pub fn show(&self, progress: &Progress) {
        if self.bar.is_hidden() || self.last.get().elapsed() < Duration::from_millis(100) {
            return;
        }
        self.last.set(Instant::now());
        let stats = &progress.stats;
        self.bar.tick();
        if let Some(proof) = &progress.proof {
            return self.bar.set_message(format!("{}{}", self.prefix, describe_proof(proof)));
        }
        let rate = grouped((stats.generated as f64 / stats.seconds.max(1e-9)) as u64);
        let (iterations, nodes) = (stats.iterations, grouped(stats.generated));
        let mut text = format!("{}iteration {iterations}, {nodes} nodes, {rate}/s", self.prefix);
        if let Some((h, g)) = progress.best {
            text += &format!(", best h {h:.1} at g {g}");
        }
        if let Some(f) = progress.least_f {
            text += &format!(", f {f:.1}");
        }
        self.bar.set_message(text);
    }

    /// Clears the line before results are printed.
    pub fn clear(&self) {
        self.bar.set_message("");
        self.bar.suspend(|| ());
    }
}

/// The lengths that a proof has excluded so far, and the time for the rest.
fn describe_proof(proof: &ProofProgress) -> String {
    let best = proof.best.map_or("no solution yet".into(), |best| format!("{best} moves"));
    let excluded = proof.excluded.map(|excluded| format!("; none of {excluded} or less")).unwrap_or_default();
    let percent = 100.0 * proof.share;
    format!("{best}{excluded}; {percent:.0} % of {} excluded, {} left", proof.target, roughly(proof.seconds_left))
}

/// Shows how much of each layer of a perimeter is done, on a bar of 1000 steps.
pub fn perimeter_bar() -> impl FnMut(PerimeterProgress) {
    let bar = with_style(ProgressBar::new(1000), "{bar:30} {msg}  {eta_precise} left");
    move |progress| {
        if progress.share == 0.0 {
            bar.reset_eta();
            bar.set_position(0);
        }
        bar.set_message(format!("states at distance {}", progress.depth));
        bar.set_position((1000.0 * progress.share) as u64);
    }
}

/// A bar with a template of this file, which is cleared when it is dropped.
fn with_style(bar: ProgressBar, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the templates in this file are well-formed");
    bar.with_style(style).with_finish(ProgressFinish::AndClear)
}
