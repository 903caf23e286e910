//! Loss and error of trainings against the samples that they have seen.

use super::axis::{Axis, Panel, apart};
use super::canvas::{Anchor, Canvas, FAINT, SOFT, TEXT, WIDTH, series_color};
use super::font;
use crate::quantity::grouped;
use crate::report::Metrics;

/// A training: what it is called, and its lines of metrics in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What stands beside its curves.
    pub name: String,
    /// At least one line.
    pub metrics: Vec<Metrics>,
}

/// A curve of a run: (samples, value).
type Curve = Vec<(f64, f64)>;

/// One of the things that training measures.
struct Measure {
    heading: &'static str,
    value: fn(&Metrics) -> Option<f64>,
}

const MEASURES: [Measure; 3] = [
    Measure { heading: "loss (what is minimised)", value: |metrics| Some(metrics.loss) },
    Measure { heading: "absolute error of the cost-to-go (moves)", value: |metrics| Some(metrics.absolute_error) },
    Measure { heading: "cross-entropy of the policy (nats)", value: |metrics| metrics.cross_entropy },
];

/// Values of the first samples, while the learning rate rises, may be far above all later ones: no axis is made for
/// them, and their curves begin at its end.
const WARM_UP: f64 = 0.02;

const LEFT: f64 = 100.0;
const TOP: f64 = 134.0;
const BOTTOM: f64 = 720.0;
/// From one panel to the next.
const GAP: f64 = 56.0;

/// The picture: a panel for each thing that was measured, one below the other, a curve for each run, the learning rate
/// behind the first.
pub fn training(runs: &[Run]) -> Canvas {
    let mut canvas = Canvas::titled("Training: loss and error against samples", &subtitle(runs));
    let samples = || runs.iter().flat_map(|run| &run.metrics).map(|metrics| metrics.samples as f64);
    let (unit, unit_name) = unit(samples().fold(0.0, f64::max));
    let x = Axis::exactly(0.0, (samples().fold(0.0, f64::max) / unit).max(1.0 / unit), 10);
    let measures: Vec<&Measure> =
        MEASURES.iter().filter(|measure| runs.iter().any(|run| !curve(run, measure, unit).is_empty())).collect();
    let height = (BOTTOM - TOP + GAP) / measures.len() as f64 - GAP;
    let right = if runs.len() > 1 { WIDTH - 230.0 } else { WIDTH - 40.0 };
    for (i, measure) in measures.iter().enumerate() {
        let top = TOP + i as f64 * (height + GAP);
        let curves: Vec<Curve> = runs.iter().map(|run| curve(run, measure, unit)).collect();
        let y = Axis::linear(curves.iter().flat_map(settled), if height > 250.0 { 6 } else { 4 });
        let panel = Panel { left: LEFT, top, right, bottom: top + height, x: x.clone(), y };
        panel.draw_y(&mut canvas, measure.heading);
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

fn subtitle(runs: &[Run]) -> String {
    match runs {
        [run] => {
            let samples = run.metrics.last().map_or(0, |metrics| metrics.samples);
            format!("{}, {} samples", run.name, grouped(samples))
        }
        _ => format!("{} runs", runs.len()),
    }
}

/// What counts are divided by, so that ticks stay short, and what that is called.
fn unit(largest: f64) -> (f64, &'static str) {
    match largest {
        _ if largest >= 2e9 => (1e9, " (billions)"),
        _ if largest >= 2e6 => (1e6, " (millions)"),
        _ if largest >= 2e4 => (1e3, " (thousands)"),
        _ => (1.0, ""),
    }
}

fn curve(run: &Run, measure: &Measure, unit: f64) -> Curve {
    let points =
        run.metrics.iter().filter_map(|metrics| Some((metrics.samples as f64 / unit, (measure.value)(metrics)?)));
    points.collect()
}

/// The values that an axis is made for.
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

/// The learning rates, faintly, on a scale of their own that ends with the panel.
fn draw_learning_rate(canvas: &mut Canvas, panel: &Panel, runs: &[Run], unit: f64) {
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

/// A small number as people type it: `2e-3`.
fn scientific(number: f64) -> String {
    let text = format!("{number:.1e}");
    text.replacen(".0e", "e", 1)
}

/// The names of runs at the ends of their curves.
fn draw_names(canvas: &mut Canvas, panel: &Panel, runs: &[Run], curves: &[Curve]) {
    let ends: Vec<(usize, (f64, f64))> =
        (0..runs.len()).filter_map(|i| curves[i].last().map(|&(x, y)| (i, panel.at(x, y)))).collect();
    let heights: Vec<f64> = ends.iter().map(|(_, end)| end.1).collect();
    let heights = apart(&heights, TEXT + 2.0, panel.top, panel.bottom);
    for (&(i, end), height) in ends.iter().zip(heights) {
        let at = (panel.right + 14.0, height);
        if end.0 < panel.right - 20.0 {
            canvas.dot(end, 5.0, series_color(i));
        }
        let room = WIDTH - 12.0 - at.0;
        canvas.text(at, &font::fit(&runs[i].name, TEXT, room), TEXT, Anchor::Left, series_color(i));
    }
}
