//! What goes to the standard error stream: notes, and in a terminal, progress.

use crate::quantity::grouped;
use crate::search::perimeter::Making;
use crate::search::{Progress, ProofProgress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// Writes a line to the standard error stream, as `eprintln!` does, but goes on where nobody reads it any more: a
/// training does not die with the terminal that it was started from.
macro_rules! note {
    ($($format:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($format)*);
    }};
}
pub(crate) use note;

/// A line that says how far a training is.
#[derive(Debug)]
pub struct TrainingBar(ProgressBar);

impl TrainingBar {
    /// Of `total` samples, `seen` of them seen before, by so many ranks.
    pub fn new(total: u64, seen: u64, ranks: u64) -> Self {
        let bar = ProgressBar::new(total).with_position(seen);
        let of_ranks = if ranks > 1 { format!("{ranks} ranks  ") } else { String::new() };
        bar.set_style(style(&format!(
            "{of_ranks}{{bar:30}} {{human_pos}}/{{human_len}} samples  {{msg}}  {{eta_precise}} left"
        )));
        bar.reset_eta();
        TrainingBar(bar)
    }

    /// So many samples were seen.
    pub fn seen(&self, samples: u64) {
        self.0.set_position(samples);
    }

    /// What the training is like at the moment.
    pub fn say(&self, message: String) {
        self.0.set_message(message);
    }

    /// Prints a line above the bar; to the standard error stream, terminal or not.
    pub fn note(&self, line: &str) {
        if self.0.is_hidden() { note!("{line}") } else { self.0.println(line) }
    }
}

impl Drop for TrainingBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Default for SearchLine {
    fn default() -> Self {
        SearchLine::new()
    }
}

/// A line that says where a search is, and where there are several instances, which one.
#[derive(Debug)]
pub struct SearchLine {
    bar: ProgressBar,
    instances: String,
    last: Instant,
}

impl SearchLine {
    /// Shows itself only in a terminal.
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.set_style(style("{spinner} {msg}"));
        SearchLine { bar, instances: String::new(), last: Instant::now() }
    }

    /// Shows nothing.
    pub fn hidden() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        SearchLine { bar, instances: String::new(), last: Instant::now() }
    }

    /// What to say of the instances before and after this one.
    pub fn instances(&mut self, text: String) {
        self.instances = text;
    }

    /// Shows where the search is, at most ten times a second.
    pub fn show(&mut self, progress: &Progress) {
        if self.bar.is_hidden() || self.last.elapsed() < Duration::from_millis(100) {
            return;
        }
        self.last = Instant::now();
        let stats = &progress.stats;
        self.bar.tick();
        if let Some(proof) = &progress.proof {
            return self.bar.set_message(format!("{}{}", self.instances, describe_proof(proof)));
        }
        let rate = (stats.generated as f64 / stats.seconds.max(1e-9)) as u64;
        let mut text = format!(
            "{}iteration {}, {} nodes, {}/s",
            self.instances,
            stats.iterations,
            grouped(stats.generated),
            grouped(rate)
        );
        if let Some((h, g)) = progress.best {
            text += &format!(", best h {h:.1} at g {g}");
        }
        if let Some(f) = progress.least_f {
            text += &format!(", f {f:.1}");
        }
        self.bar.set_message(text);
    }

    /// Takes the line away, so that results can be printed.
    pub fn clear(&self) {
        self.bar.set_message("");
        self.bar.suspend(|| ());
    }
}

impl Drop for SearchLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What a proof has excluded so far, and how long the rest will take.
fn describe_proof(proof: &ProofProgress) -> String {
    let best = proof.best.map_or("no solution yet".into(), |best| format!("{best} moves"));
    let excluded = proof.excluded.map(|excluded| format!("; none of {excluded} or less")).unwrap_or_default();
    let percent = 100.0 * proof.share;
    format!("{best}{excluded}; {percent:.0} % of {} excluded, {} left", proof.target, duration(proof.seconds_left))
}

/// A time as people say it: `12 s`, `3 min`, `2.5 h`.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// A bar for a perimeter that is being made.
#[derive(Debug)]
pub struct PerimeterBar(ProgressBar);

impl PerimeterBar {
    /// Of a thousandth of the last layer a step.
    pub fn new() -> Self {
        let bar = ProgressBar::new(1000);
        bar.set_style(style("{bar:30} {msg}  {eta_precise} left"));
        PerimeterBar(bar)
    }

    /// How far a layer is.
    pub fn show(&self, making: Making) {
        if making.share == 0.0 {
            self.0.reset_eta();
            self.0.set_position(0);
        }
        self.0.set_message(format!("states at distance {}", making.depth));
        self.0.set_position((1000.0 * making.share) as u64);
    }
}

impl Drop for PerimeterBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates in this file are well-formed")
}
