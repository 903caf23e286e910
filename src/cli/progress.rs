//! What goes to the standard error stream: notes, and in a terminal, progress.

use crate::quantity::grouped;
use crate::search::Progress;
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
    /// Of `total` samples, `seen` of them seen before.
    pub fn new(total: u64, seen: u64) -> Self {
        let bar = ProgressBar::new(total).with_position(seen);
        bar.set_style(style("{bar:30} {human_pos}/{human_len} samples  {msg}  {eta_precise} left"));
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

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates in this file are well-formed")
}
