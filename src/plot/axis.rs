//! Axes: where they begin and end, where their ticks are, and what stands at them.

use super::canvas::{Anchor, Canvas, FAINT, GRID, INK, SOFT, TEXT};
use super::font;

/// Beyond this, numbers are not worth an axis; steps between them could not be told apart either.
const FARTHEST: f64 = 1e15;

/// What lies between equal distances on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Log,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Where it begins.
    pub low: f64,
    /// Where it ends, above `low`.
    pub high: f64,
    /// What lies between.
    pub scale: Scale,
    /// Where numbers stand, from low to high.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// From a multiple of a step to a multiple of it around the values, the step 1, 2 or 5 times a power of ten, with at
    /// most `most` steps; without values from 0 to 1. What is not finite is left out.
    pub fn linear(values: impl IntoIterator<Item = f64>, most: usize) -> Axis {
        let (low, high) = range(values, (0.0, 1.0));
        let (low, high) = if high > low { (low, high) } else { widened(low) };
        let step = step((high - low) / most.max(1) as f64, |step| {
            ((high / step).ceil() - (low / step).floor()) as usize <= most.max(1)
        });
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks = (0..=(last - first) as usize).map(|i| (first + i as f64) * step).collect();
        Axis { low: first * step, high: last * step, scale: Scale::Linear, ticks }
    }

    /// From `low` to `high` exactly, with ticks at multiples of a step as of [`Axis::linear`].
    pub fn exactly(low: f64, high: f64, most: usize) -> Axis {
        let wider = Axis::linear([low, high], most);
        let ticks = wider.ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        Axis { low, high, scale: Scale::Linear, ticks }
    }

    /// Around the values at equal ratios: between powers of ten where they span three or more of them, else from 1, 2 or
    /// 5 times one to such another. Values below `least` count as `least`; without values, from 1 to 10.
    pub fn log(values: impl IntoIterator<Item = f64>, least: f64) -> Axis {
        let (low, high) = range(values.into_iter().map(|value| value.max(least)), (1.0, 10.0));
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let many = (high / low).log10() >= 3.0;
        let fractions: &[f64] = if many { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all: Vec<f64> =
            decades.flat_map(|power| fractions.iter().map(move |part| part * 10f64.powi(power))).collect();
        // Powers of ten are not exact: a value that is a tick belongs to it.
        let first = all.iter().rposition(|&tick| tick <= low * (1.0 + 1e-9)).unwrap_or(0);
        let last = all.iter().position(|&tick| tick >= high * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
        let ticks = all[first..=last.max(first + 1).min(all.len() - 1)].to_vec();
        Axis { low: ticks[0], high: ticks[ticks.len() - 1], scale: Scale::Log, ticks }
    }

    /// Where a value lies: 0 at the low end, 1 at the high end; beyond them, at them.
    pub fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// What stands at a tick.
    pub fn label(&self, tick: f64) -> String {
        match self.scale {
            Scale::Log => short(tick),
            Scale::Linear => {
                let step = self.ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1.0);
                let digits = (-(step * 1.0001).log10().floor()).clamp(0.0, 9.0) as usize;
                let text = format!("{tick:.digits$}");
                if text.trim_start_matches(['-', '0', '.']).is_empty() { "0".into() } else { text }
            }
        }
    }
}

/// A number of three digits at most: `0.05`, `20`, `3 k`, `10.5 M`.
pub(super) fn short(number: f64) -> String {
    let units = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")];
    match units.iter().find(|(unit, _)| number >= unit * (1.0 - 1e-9)) {
        Some((unit, name)) => {
            let part = number / unit;
            let fineness = if part >= 99.95 {
                1.0
            } else if part >= 9.995 {
                10.0
            } else {
                100.0
            };
            format!("{}{name}", (part * fineness).round() / fineness)
        }
        None => {
            let digits = (1.0 - number.max(1e-12).log10().floor()).max(0.0) as usize;
            let text = format!("{number:.digits$}");
            text.trim_end_matches('0').trim_end_matches('.').into()
        }
    }
}

fn range(values: impl IntoIterator<Item = f64>, without: (f64, f64)) -> (f64, f64) {
    let values = values.into_iter().filter(|value| value.is_finite()).map(|value| value.clamp(-FARTHEST, FARTHEST));
    let seen = values.fold(None, |seen: Option<(f64, f64)>, value| {
        Some(seen.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    });
    seen.unwrap_or(without)
}

/// Around a lone value, so that an axis has a length.
fn widened(value: f64) -> (f64, f64) {
    if value == 0.0 { (0.0, 1.0) } else { (value - value.abs() / 2.0, value + value.abs() / 2.0) }
}

/// The least 1, 2 or 5 times a power of ten, from `least` on, that is accepted.
fn step(least: f64, accepted: impl Fn(f64) -> bool) -> f64 {
    let power = least.log10().floor() as i32;
    let steps = (power..power + 4).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power)));
    let mut last = least;
    for step in steps.filter(|step| *step >= least * (1.0 - 1e-9)) {
        last = step;
        if accepted(step) {
            break;
        }
    }
    last
}

/// A part of a picture with its two axes; borders in units of the canvas.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
    pub(super) x: Axis,
    pub(super) y: Axis,
}

impl Panel {
    /// Where a pair of values lies on the canvas.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            self.left + self.x.share(x) * (self.right - self.left),
            self.bottom - self.y.share(y) * (self.bottom - self.top),
        )
    }

    /// Draws lines at the ticks of y, with numbers, and above them what y is.
    pub(super) fn draw_y(&self, canvas: &mut Canvas, heading: &str) {
        canvas.text((self.left, self.top - 20.0), heading, TEXT, Anchor::Left, INK);
        for &tick in &self.y.ticks {
            let y = self.at(self.x.low, tick).1;
            canvas.line(vec![(self.left, y), (self.right, y)], 1.5, GRID);
            canvas.text((self.left - 10.0, y), &self.y.label(tick), TEXT, Anchor::Right, SOFT);
        }
    }

    /// Draws the line of x with its ticks, and with numbers and what x is where there is a text for it.
    pub(super) fn draw_x(&self, canvas: &mut Canvas, title: Option<&str>) {
        canvas.line(vec![(self.left, self.bottom), (self.right, self.bottom)], 2.0, FAINT);
        for &tick in &self.x.ticks {
            let x = self.at(tick, self.y.low).0;
            canvas.line(vec![(x, self.bottom), (x, self.bottom + 7.0)], 2.0, FAINT);
        }
        if title.is_some() {
            self.draw_numbers(canvas);
        }
        if let Some(title) = title {
            let middle = (self.left + self.right) / 2.0;
            canvas.text((middle, self.bottom + 56.0), title, TEXT, Anchor::Middle, INK);
        }
    }
}

impl Panel {
    /// Writes numbers at the ticks of x, where they do not touch: powers of ten first.
    fn draw_numbers(&self, canvas: &mut Canvas) {
        const ROOM: f64 = 10.0;
        let is_power = |tick: f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        let (powers, others): (Vec<f64>, Vec<f64>) =
            self.x.ticks.iter().partition(|&&tick| self.x.scale == Scale::Log && is_power(tick));
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for tick in powers.into_iter().chain(others) {
            let (middle, text) = (self.at(tick, self.y.low).0, self.x.label(tick));
            let half = (font::width(&text, TEXT) + ROOM) / 2.0;
            if taken.iter().all(|(left, right)| middle + half <= *left || middle - half >= *right) {
                taken.push((middle - half, middle + half));
                canvas.text((middle, self.bottom + 24.0), &text, TEXT, Anchor::Middle, SOFT);
            }
        }
    }
}

/// Moves heights apart so that texts at them do not overlap, each by as little as goes, within `top` and `bottom` where
/// there is room: the height for each, in the order given.
pub(super) fn apart(heights: &[f64], distance: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|&a, &b| heights[a].total_cmp(&heights[b]));
    let mut placed = heights.to_vec();
    let mut free = top;
    for &i in &order {
        placed[i] = placed[i].max(free);
        free = placed[i] + distance;
    }
    let mut free = bottom;
    for &i in order.iter().rev() {
        placed[i] = placed[i].min(free);
        free = placed[i] - distance;
    }
    placed
}
