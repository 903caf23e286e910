//! Time and nodes per instance.

use super::axis::{Axis, Panel};
use super::canvas::{Canvas, WIDTH, series_color};
use super::results::{KEY_PITCH, Results, common, key, names};
use crate::report::Record;

/// Shorter times count as this.
const MIN_SECONDS: f64 = 1e-4;

/// A measure of effort.
type Effort = fn(&Record) -> f64;

const SECONDS: Effort = |record| record.seconds;
const NODES: Effort = |record| record.nodes_generated as f64;

/// The effort of each solved instance in ascending order, with the share of all instances that took no more.
pub fn cumulative(results: &Results, effort: impl Fn(&Record) -> f64) -> Vec<(f64, f64)> {
    let mut efforts: Vec<f64> = results.records.iter().filter(|record| record.solved).map(effort).collect();
    efforts.sort_by(f64::total_cmp);
    let all = results.records.len() as f64;
    efforts.into_iter().enumerate().map(|(i, effort)| (effort, (i + 1) as f64 / all)).collect()
}

/// The picture: the share of instances solved within a time, and within a number of nodes.
pub fn effort(all: &[&Results]) -> Canvas {
    let mut canvas = Canvas::titled("Effort per instance", &common(all));
    let middle = WIDTH / 2.0;
    let curves = |effort: Effort| -> Vec<_> { all.iter().map(|results| cumulative(results, effort)).collect() };
    let (seconds, nodes) = (curves(SECONDS), curves(NODES));
    let left = draw(&mut canvas, &seconds, MIN_SECONDS, (90.0, middle - 40.0), "seconds");
    draw(&mut canvas, &nodes, 1.0, (middle + 70.0, WIDTH - 50.0), "nodes generated");
    let lines: Vec<String> = all.iter().zip(names(all)).map(|(results, name)| describe(results, &name)).collect();
    let top = 772.0 - KEY_PITCH * (lines.len() - 1) as f64;
    key(&mut canvas, (left.left, top), WIDTH - left.left - 30.0, &lines);
    canvas
}

/// Draws the curves of shares over efforts between two borders.
fn draw(canvas: &mut Canvas, curves: &[Vec<(f64, f64)>], least: f64, ends: (f64, f64), title: &str) -> Panel {
    let (left, right) = ends;
    let x = Axis::log(curves.iter().flatten().map(|point| point.0), least);
    let bottom = 664.0 - KEY_PITCH * (curves.len() - 1) as f64;
    let panel = Panel { left, top: 134.0, right, bottom, x, y: Axis::linear([0.0, 100.0], 5) };
    panel.draw_y(canvas, "instances solved within (%)");
    panel.draw_x(canvas, Some(title));
    for (i, curve) in curves.iter().enumerate() {
        canvas.line(stairs(curve, &panel), 3.5, series_color(i));
    }
    panel
}

/// The curve as steps, one up at each effort.
fn stairs(curve: &[(f64, f64)], panel: &Panel) -> Vec<(f64, f64)> {
    let mut height = 0.0;
    let mut points = Vec::new();
    for &(effort, share) in curve {
        points.extend([panel.at(effort, height), panel.at(effort, 100.0 * share)]);
        height = 100.0 * share;
    }
    points
}

fn describe(results: &Results, name: &str) -> String {
    let median = |effort: Effort| {
        let curve = cumulative(results, effort);
        let half = curve.iter().find(|(_, share)| *share >= 0.5);
        half.map(|(effort, _)| super::axis::short(*effort))
    };
    let half = match (median(SECONDS), median(NODES)) {
        (Some(seconds), Some(nodes)) => format!("half within {seconds} s, and within {nodes} nodes"),
        _ => "less than half solved".into(),
    };
    match results.records.len() - results.solved() {
        0 => format!("{name}: {half}"),
        unsolved => format!("{name}: {half}; {unsolved} not solved"),
    }
}
