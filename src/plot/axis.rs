//! Axes: their ends, ticks and labels; and panels with two axes.

use super::canvas::{Anchor, Canvas, FAINT, GRID, INK, SOFT, TEXT};
use super::font;

/// Larger values are cut to this: steps between them would be lost to rounding.
const MAX_VALUE: f64 = 1e15;

/// The meaning of equal distances on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences.
    Linear,
    /// Equal ratios.
    Log,
}

/// The range, scale and ticks of one axis of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The low end.
    pub low: f64,
    /// The high end, above `low`.
    pub high: f64,
    /// The scale between the ends.
    pub scale: Scale,
    /// Values with a number, from low to high.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// Contains the values between two multiples of a step, which is 1, 2 or 5 times a power of ten, with at most `most`
    /// steps; from 0 to 1 without values. Values that are not finite are ignored.
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

    /// Reaches from `low` to `high` exactly, with ticks as in [`Axis::linear`].
    pub fn exactly(low: f64, high: f64, most: usize) -> Axis {
        let wider = Axis::linear([low, high], most);
        let ticks = wider.ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        Axis { low, high, scale: Scale::Linear, ticks }
    }

    /// Contains the values on a logarithmic scale, between powers of ten if they span at least three of them, else between
    /// 1, 2 or 5 times a power of ten; from 1 to 10 without values. Values below `least` count as `least`.
    pub fn log(values: impl IntoIterator<Item = f64>, least: f64) -> Axis {
        let (low, high) = range(values.into_iter().map(|value| value.max(least)), (1.0, 10.0));
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let fractions: &[f64] = if (high / low).log10() >= 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all: Vec<f64> =
            decades.flat_map(|power| fractions.iter().map(move |part| part * 10f64.powi(power))).collect();
        // Powers of ten are not exact: a value at a tick counts as the tick.
        let first = all.iter().rposition(|&tick| tick <= low * (1.0 + 1e-9)).unwrap_or(0);
        let last = all.iter().position(|&tick| tick >= high * (1.0 - 1e-9)).unwrap_or(all.len() - 1);
        let ticks = all[first..=last.max(first + 1).min(all.len() - 1)].to_vec();
        Axis { low: ticks[0], high: ticks[ticks.len() - 1], scale: Scale::Log, ticks }
    }

    /// Position of a value: 0 at the low end and below, 1 at the high end and above.
    pub fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
    }

    /// The text at a tick.
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

/// A number in at most three digits: `0.05`, `20`, `3 k`, `10.5 M`.
pub(super) fn short(number: f64) -> String {
    let units = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")];
    match units.iter().find(|(unit, _)| number >= unit * (1.0 - 1e-9)) {
        Some((unit, name)) => {
            let part = number / unit;
            let fineness = match part {
                _ if part >= 99.95 => 1.0,
                _ if part >= 9.995 => 10.0,
                _ => 100.0,
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

/// The least and the greatest value; `default` without values.
pub(super) fn range(values: impl IntoIterator<Item = f64>, default: (f64, f64)) -> (f64, f64) {
    let values = values.into_iter().filter(|value| value.is_finite()).map(|value| value.clamp(-MAX_VALUE, MAX_VALUE));
    values.map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or(default)
}

/// An interval around a lone value, so that the axis has a length.
fn widened(value: f64) -> (f64, f64) {
    if value == 0.0 { (0.0, 1.0) } else { (value - value.abs() / 2.0, value + value.abs() / 2.0) }
}

/// The least step of 1, 2 or 5 times a power of ten that is at least `least` and accepted, or the last one tried.
fn step(least: f64, accepted: impl Fn(f64) -> bool) -> f64 {
    let power = least.log10().floor() as i32;
    let steps = (power..power + 4).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power)));
    let steps: Vec<f64> = steps.filter(|step| *step >= least * (1.0 - 1e-9)).collect();
    steps.iter().copied().find(|&step| accepted(step)).or(steps.last().copied()).unwrap_or(least)
}

/// A part of a picture with two axes; borders in units of the canvas.
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
    /// Position of a pair of values on the canvas.
    pub(super) fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let (width, height) = (self.right - self.left, self.bottom - self.top);
        (self.left + self.x.share(x) * width, self.bottom - self.y.share(y) * height)
    }

    /// Draws lines with numbers at the ticks of y, and a heading above.
    pub(super) fn draw_y(&self, canvas: &mut Canvas, heading: &str) {
        canvas.text((self.left, self.top - 20.0), heading, TEXT, Anchor::Left, INK);
        for &tick in &self.y.ticks {
            let y = self.at(self.x.low, tick).1;
            canvas.line(vec![(self.left, y), (self.right, y)], 1.5, GRID);
            canvas.text((self.left - 10.0, y), &self.y.label(tick), TEXT, Anchor::Right, SOFT);
        }
    }

    /// Draws the line of x with its ticks; with a title, also the numbers.
    pub(super) fn draw_x(&self, canvas: &mut Canvas, title: Option<&str>) {
        canvas.line(vec![(self.left, self.bottom), (self.right, self.bottom)], 2.0, FAINT);
        for &tick in &self.x.ticks {
            let x = self.at(tick, self.y.low).0;
            canvas.line(vec![(x, self.bottom), (x, self.bottom + 7.0)], 2.0, FAINT);
        }
        if let Some(title) = title {
            self.draw_numbers(canvas);
            let middle = (self.left + self.right) / 2.0;
            canvas.text((middle, self.bottom + 56.0), title, TEXT, Anchor::Middle, INK);
        }
    }

    /// Writes the numbers of the ticks of x that do not touch each other, powers of ten first.
    fn draw_numbers(&self, canvas: &mut Canvas) {
        const GAP: f64 = 10.0;
        let is_power = |tick: f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        let (powers, others): (Vec<f64>, Vec<f64>) =
            self.x.ticks.iter().partition(|&&tick| self.x.scale == Scale::Log && is_power(tick));
        let mut taken: Vec<(f64, f64)> = Vec::new();
        for tick in powers.into_iter().chain(others) {
            let (middle, text) = (self.at(tick, self.y.low).0, self.x.label(tick));
            let half = (font::width(&text, TEXT) + GAP) / 2.0;
            if taken.iter().all(|(left, right)| middle + half <= *left || middle - half >= *right) {
                taken.push((middle - half, middle + half));
                canvas.text((middle, self.bottom + 24.0), &text, TEXT, Anchor::Middle, SOFT);
            }
        }
    }
}

/// Moves heights apart so that their texts do not overlap, by as little as possible, and between `top` and `bottom` if they
/// fit. The order stays.
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
