//! Solution length against the optimal length.

use super::axis::{Axis, Panel, range};
use super::canvas::{Anchor, Canvas, PAPER, SOFT, TEXT, WIDTH, series_color};
use super::results::{KEY_PITCH, Results, common, key, names};
use std::collections::BTreeMap;

/// Largest radius of a dot, in units.
const MAX_RADIUS: f64 = 26.0;

/// Instances by pair of optimal cost and cost found.
pub fn pairs(results: &Results) -> BTreeMap<(u32, u32), usize> {
    let mut pairs = BTreeMap::new();
    for pair in results.costs() {
        *pairs.entry(pair).or_insert(0) += 1;
    }
    pairs
}

/// The picture: a dot per pair of lengths; area and number are its instances.
pub fn lengths(all: &[&Results]) -> Canvas {
    let mut canvas = Canvas::titled("Solution length against optimal length", &common(all));
    let all_pairs: Vec<BTreeMap<(u32, u32), usize>> = all.iter().map(|results| pairs(results)).collect();
    let both = || all_pairs.iter().flat_map(BTreeMap::keys);
    let x = whole_axis(both().map(|pair| pair.0), 16);
    let y = whole_axis(both().flat_map(|pair| [pair.0, pair.1]), 9);
    let lines: Vec<String> = all.iter().zip(names(all)).map(|(results, name)| describe(results, &name)).collect();
    key(&mut canvas, (90.0, 106.0), WIDTH - 130.0, &lines);
    let top = 140.0 + KEY_PITCH * lines.len() as f64;
    let panel = Panel { left: 90.0, top, right: WIDTH - 40.0, bottom: 720.0, x, y };
    panel.draw_y(&mut canvas, "length found (moves)");
    panel.draw_x(&mut canvas, Some("optimal length (moves)"));
    let (low, high) = (panel.x.low.max(panel.y.low), panel.x.high.min(panel.y.high));
    if low < high {
        canvas.dashed(panel.at(low, low), panel.at(high, high), 2.0, SOFT);
        let end = panel.at(high, high);
        let below = (end.0 - 14.0, (end.1 + 30.0).min(panel.bottom - 14.0));
        canvas.text(below, "optimal", TEXT, Anchor::Right, SOFT);
    }
    draw_dots(&mut canvas, &panel, &all_pairs);
    canvas
}

/// An axis with a margin around whole numbers.
fn whole_axis(values: impl Iterator<Item = u32>, most: usize) -> Axis {
    let (low, high) = range(values.map(f64::from), (0.0, 1.0));
    let mut axis = Axis::exactly(low - 1.0, high + 1.5, most);
    axis.ticks.retain(|tick| tick.fract() == 0.0 && *tick >= 0.0);
    axis
}

fn draw_dots(canvas: &mut Canvas, panel: &Panel, all: &[BTreeMap<(u32, u32), usize>]) {
    let most = all.iter().flat_map(BTreeMap::values).copied().max().unwrap_or(1) as f64;
    // The dots of one optimum stand side by side, with space to the next optimum.
    let moves = panel.x.high - panel.x.low;
    let pitch = ((panel.right - panel.left) / moves * 0.9 / all.len() as f64).min(2.0 * MAX_RADIUS + 6.0);
    let tallest = (panel.bottom - panel.top) / (panel.y.high - panel.y.low) * 0.48;
    let largest = MAX_RADIUS.min(pitch / 2.0).min(tallest.max(5.0));
    for (i, pairs) in all.iter().enumerate() {
        let aside = (i as f64 - (all.len() - 1) as f64 / 2.0) * pitch;
        for (&(optimum, cost), &count) in pairs {
            let (x, y) = panel.at(f64::from(optimum), f64::from(cost));
            let radius = (largest * (count as f64 / most).sqrt()).max(4.0);
            canvas.dot((x + aside, y), radius, series_color(i));
            // The number only if it fits into the dot: beside it, it could belong to another dot.
            let text = count.to_string();
            if radius >= 6.0 + 6.0 * text.len() as f64 {
                canvas.text((x + aside, y), &text, TEXT - 2.0, Anchor::Middle, PAPER);
            }
        }
    }
    let corner = (panel.right, panel.top - 20.0);
    canvas.text(corner, "a dot's area and number: instances", TEXT, Anchor::Right, SOFT);
}

fn describe(results: &Results, name: &str) -> String {
    let costs = results.costs();
    let excess: i64 = costs.iter().map(|&(optimum, cost)| i64::from(cost) - i64::from(optimum)).sum();
    let mean = excess as f64 / costs.len().max(1) as f64;
    let unsolved = results.records.len() - results.solved();
    let unsolved = if unsolved > 0 { format!(", {unsolved} not solved") } else { String::new() };
    format!("{name}: {} of {} optimal, mean {mean:+.2}{unsolved}", results.optimal(), results.with_optimum())
}
