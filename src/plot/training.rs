//! Loss and error of trainings against samples.

use super::axis::{Axis, Panel, apart};
use super::canvas::{Anchor, Canvas, FAINT, SOFT, TEXT, WIDTH, series_color};
use super::font;
use crate::quantity::grouped;
use crate::report::Metrics;

/// A training: its name, and its metrics in order.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingRun {
    /// The label of its curves.
    pub name: String,
    /// At least one line.
    pub metrics: Vec<Metrics>,
}

/// A curve of a run: (samples, value).
type Curve = Vec<(f64, f64)>;

/// A quantity that training measures: its heading and its value.
type Measure = (&'static str, fn(&Metrics) -> Option<f64>);

const MEASURES: [Measure; 3] = [
    ("loss (what is minimised)", |metrics| Some(metrics.loss)),
    ("absolute error of the cost-to-go (moves)", |metrics| Some(metrics.absolute_error)),
    ("cross-entropy of the policy (nats)", |metrics| metrics.cross_entropy),
];

/// Share of the samples that the axis ignores: while the learning rate rises, values may be far above all later ones, and
/// curves start at the end of the axis.
const WARM_UP: f64 = 0.02;

const LEFT: f64 = 100.0;
const TOP: f64 = 134.0;
const BOTTOM: f64 = 720.0;
/// Distance between panels.
const GAP: f64 = 56.0;

/// The picture: a panel per measure, a curve per run, and the learning rate behind the first panel.
pub fn training(runs: &[TrainingRun]) -> Canvas {
    let mut canvas = Canvas::titled("Training: loss and error against samples", &subtitle(runs));
    let samples = || runs.iter().flat_map(|run| &run.metrics).map(|metrics| metrics.samples as f64);
    let (unit, unit_name) = unit(samples().fold(0.0, f64::max));
    let x = Axis::exactly(0.0, (samples().fold(0.0, f64::max) / unit).max(1.0 / unit), 10);
    let is_measured = |measure: &&Measure| runs.iter().any(|run| !curve(run, measure, unit).is_empty());
    let measures: Vec<&Measure> = MEASURES.iter().filter(is_measured).collect();
    let height = (BOTTOM - TOP + GAP) / measures.len() as f64 - GAP;
    let right = if runs.len() > 1 { WIDTH - 230.0 } else { WIDTH - 40.0 };
    for (i, measure) in measures.iter().enumerate() {
        let top = TOP + i as f64 * (height + GAP);
        let curves: Vec<Curve> = runs.iter().map(|run| curve(run, measure, unit)).collect();
        let y = Axis::linear(curves.iter().flat_map(settled), if height > 250.0 { 6 } else { 4 });
        let panel = Panel { left: LEFT, top, right, bottom: top + height, x: x.clone(), y };
        panel.draw_y(&mut canvas, measure.0);
        if i == 0 {
            draw_learning_rate(&mut canvas, &panel, runs, unit);
        }
        let is_last = i + 1 == measures.len();
        let title = format!("samples{unit_name}");
        panel.draw_x(&mut canvas, is_last.then_some(title.as_str()));
        for (number, curve) in curves.iter().enumerate() {
            draw_curve(&mut canvas, &panel, curve, number);
        }
        if runs.len() > 1 {
            draw_names(&mut canvas, &panel, runs, &curves);
        }
    }
    canvas
}

fn subtitle(runs: &[TrainingRun]) -> String {
    let [run] = runs else { return format!("{} runs", runs.len()) };
    let samples = run.metrics.last().map_or(0, |metrics| metrics.samples);
    format!("{}, {} samples", run.name, grouped(samples))
}

/// Divisor that keeps the numbers at ticks short, and its name.
fn unit(largest: f64) -> (f64, &'static str) {
    match largest {
        _ if largest >= 2e9 => (1e9, " (billions)"),
        _ if largest >= 2e6 => (1e6, " (millions)"),
        _ if largest >= 2e4 => (1e3, " (thousands)"),
        _ => (1.0, ""),
    }
}

fn curve(run: &TrainingRun, measure: &Measure, unit: f64) -> Curve {
    let points = run.metrics.iter().filter_map(|metrics| Some((metrics.samples as f64 / unit, measure.1(metrics)?)));
    points.collect()
}

/// The values of a curve after the warm-up.
fn settled(curve: &Curve) -> impl Iterator<Item = f64> {
    let end = curve.last().map_or(0.0, |point| point.0);
    let late = move |&&(samples, _): &&(f64, f64)| samples >= WARM_UP * end;
    curve.iter().filter(late).map(|&(_, value)| value)
}

fn draw_curve(canvas: &mut Canvas, panel: &Panel, curve: &Curve, number: usize) {
    let points: Vec<(f64, f64)> = curve.iter().map(|&(x, y)| panel.at(x, y)).collect();
    if let [point] = points[..] {
        canvas.dot(point, 5.0, series_color(number));
    }
    canvas.line(points, 3.0, series_color(number));
}

/// Draws the learning rates in grey, on their own scale over the height of the panel.
fn draw_learning_rate(canvas: &mut Canvas, panel: &Panel, runs: &[TrainingRun], unit: f64) {
    let rates = runs.iter().flat_map(|run| &run.metrics).map(|metrics| metrics.learning_rate);
    let highest = rates.fold(0.0, f64::max);
    if highest <= 0.0 {
        return;
    }
    let behind = Panel { y: Axis::exactly(0.0, highest, 4), ..panel.clone() };
    for run in runs {
        let points =
            run.metrics.iter().map(|metrics| behind.at(metrics.samples as f64 / unit, metrics.learning_rate)).collect();
        canvas.line(points, 2.0, FAINT);
    }
    let text = format!("grey: learning rate, from 0 to {}", scientific(highest));
    canvas.text((panel.right, panel.top - 20.0), &text, TEXT, Anchor::Right, SOFT);
}

/// A small number in scientific notation: `2e-3`.
fn scientific(number: f64) -> String {
    format!("{number:.1e}").replacen(".0e", "e", 1)
}

/// Writes the names of runs at the ends of their curves.
fn draw_names(canvas: &mut Canvas, panel: &Panel, runs: &[TrainingRun], curves: &[Curve]) {
    let ends: Vec<(usize, (f64, f64))> =
        (0..runs.len()).filter_map(|i| curves[i].last().map(|&(x, y)| (i, panel.at(x, y)))).collect();
    let heights: Vec<f64> = ends.iter().map(|(_, end)| end.1).collect();
    let heights = apart(&heights, TEXT + 2.0, panel.top, panel.bottom);
    for (&(i, end), height) in ends.iter().zip(heights) {
        let at = (panel.right + 14.0, height);
        if end.0 < panel.right - 20.0 {
            canvas.dot(end, 5.0, series_color(i));
        }
        canvas.text(at, &font::fit(&runs[i].name, TEXT, WIDTH - 12.0 - at.0), TEXT, Anchor::Left, series_color(i));
    }
}
