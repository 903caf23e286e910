//! Predictions of a network by scramble depth or exact distance, as a two-dimensional histogram.

use super::axis::{Axis, Panel};
use super::canvas::{Anchor, Canvas, Color, INK, PAPER, SOFT, TEXT};
use crate::quantity::grouped;
use ndarray::Array2;

/// A column holds several depths if there are more than this.
const MAX_COLUMNS: u32 = 64;
/// Bins of the predictions, up to the depth.
const MAX_BINS: f64 = 60.0;

/// Scrambles by depth and prediction.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// The deepest scramble.
    pub max_depth: u32,
    /// Depths per column: column `c` holds the scrambles of depth `c·depths + 1` to `(c + 1)·depths`.
    pub depths: u32,
    /// Height of a bin, in moves: bin `b` holds the predictions from `b·bin` to below `(b + 1)·bin`.
    pub bin: f64,
    /// Scrambles, `columns × bins`.
    pub counts: Array2<u32>,
    /// Mean prediction of each column; `None` for a column without scrambles.
    pub means: Vec<Option<f64>>,
}

impl Histogram {
    /// Counts predictions: pairs of a depth (from 1 to `max_depth`; others are ignored) and a prediction, in moves. Bins
    /// reach up to `max_depth`, or a quarter more if predictions do. Larger predictions count in the last bin, negative
    /// ones in the first.
    ///
    /// # Panics
    /// If `max_depth` is 0.
    pub fn new(predictions: &[(u32, f32)], max_depth: u32) -> Histogram {
        assert!(max_depth > 0);
        let depths = max_depth.div_ceil(MAX_COLUMNS);
        let columns = max_depth.div_ceil(depths) as usize;
        let bin = bin_for(max_depth);
        let deepest = f64::from(max_depth);
        let highest = predictions.iter().map(|&(_, value)| f64::from(value)).fold(deepest, f64::max);
        let bins = (highest.min(1.25 * deepest) / bin).ceil() as usize + 1;
        let mut counts = Array2::zeros((columns, bins));
        let mut sums = vec![(0.0, 0u32); columns];
        for &(depth, value) in predictions.iter().filter(|(depth, _)| (1..=max_depth).contains(depth)) {
            let column = ((depth - 1) / depths) as usize;
            let row = (f64::from(value).max(0.0) / bin) as usize;
            counts[(column, row.min(bins - 1))] += 1;
            sums[column].0 += f64::from(value);
            sums[column].1 += 1;
        }
        let means = sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect();
        Histogram { max_depth, depths, bin, counts, means }
    }

    /// Scrambles in a column.
    pub fn column_total(&self, column: usize) -> u32 {
        self.counts.row(column).sum()
    }

    /// Share of a column's scrambles in a bin, from 0 to 1.
    pub fn share(&self, column: usize, bin: usize) -> f64 {
        f64::from(self.counts[(column, bin)]) / f64::from(self.column_total(column).max(1))
    }

    fn highest(&self) -> f64 {
        self.counts.ncols() as f64 * self.bin
    }

    fn largest_share(&self) -> f64 {
        let shares = (0..self.counts.nrows()).flat_map(|c| (0..self.counts.ncols()).map(move |b| self.share(c, b)));
        shares.fold(0.0, f64::max)
    }
}

/// Height of a bin: a round number that gives at most [`MAX_BINS`] bins up to the depth.
fn bin_for(max_depth: u32) -> f64 {
    let least = f64::from(max_depth) / MAX_BINS;
    [0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0].into_iter().find(|bin| *bin >= least).unwrap_or(least)
}

/// The kind of depths in a picture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DepthKind {
    /// The length of the scramble: an upper bound of the distance.
    #[default]
    ScrambleDepth,
    /// The exact distance.
    Distance,
}

impl DepthKind {
    /// The name, and a shorter one.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            DepthKind::ScrambleDepth => ("scramble depth", "depth"),
            DepthKind::Distance => ("exact distance", "distance"),
        }
    }
}

/// The predictions of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Density {
    /// The puzzle and the network.
    pub name: String,
    /// Samples that the model has seen.
    pub samples: u64,
    /// The predictions.
    pub histogram: Histogram,
    /// The kind of depths.
    pub depths: DepthKind,
}

/// One picture per model, all with the same axes and colours, as frames of an animation.
pub fn densities(models: &[Density]) -> Vec<Canvas> {
    let deepest = models.iter().map(|model| model.histogram.max_depth).max().unwrap_or(1);
    let highest = models.iter().map(|model| model.histogram.highest()).fold(f64::from(deepest), f64::max);
    let largest = models.iter().map(|model| model.histogram.largest_share()).fold(0.0, f64::max);
    models.iter().map(|model| density(model, deepest, highest, largest)).collect()
}

fn density(model: &Density, deepest: u32, highest: f64, largest: f64) -> Canvas {
    let (histogram, (depth_name, _)) = (&model.histogram, model.depths.names());
    let scrambles = grouped(u64::from(histogram.counts.sum()));
    let mut canvas = Canvas::titled(
        &format!("{}: prediction by {depth_name}", model.name),
        &format!("after {} samples; {scrambles} fresh scrambles", grouped(model.samples)),
    );
    let x = Axis::exactly(0.5, f64::from(deepest) + 0.5, 14);
    let y = Axis::exactly(0.0, highest, 10);
    let panel = Panel { left: 90.0, top: 134.0, right: 1010.0, bottom: 720.0, x, y };
    panel.draw_y(&mut canvas, "predicted cost-to-go (moves)");
    draw_cells(&mut canvas, &panel, histogram, largest);
    panel.draw_x(&mut canvas, Some(&format!("{depth_name} (moves)")));
    draw_lines(&mut canvas, &panel, model, deepest);
    draw_key(&mut canvas, largest, model.depths);
    canvas
}

/// The depths of a column, as an interval around whole numbers.
fn column_ends(histogram: &Histogram, column: usize) -> (f64, f64) {
    let first = column as u32 * histogram.depths;
    let last = (first + histogram.depths).min(histogram.max_depth);
    (f64::from(first) + 0.5, f64::from(last) + 0.5)
}

fn draw_cells(canvas: &mut Canvas, panel: &Panel, histogram: &Histogram, largest: f64) {
    for ((column, bin), _) in histogram.counts.indexed_iter().filter(|(_, count)| **count > 0) {
        let (left, right) = column_ends(histogram, column);
        let (low, high) = (bin as f64 * histogram.bin, (bin + 1) as f64 * histogram.bin);
        let color = shade(histogram.share(column, bin) / largest);
        canvas.rectangle(panel.at(left, high), panel.at(right, low), color);
    }
}

/// The colour of a share of the largest; its square root counts, so that rare cells are visible.
fn shade(share: f64) -> Color {
    let stops: [[f64; 3]; 4] = [[224.0, 238.0, 248.0], [120.0, 184.0, 222.0], [0.0, 114.0, 178.0], [3.0, 40.0, 82.0]];
    let at = share.clamp(0.0, 1.0).sqrt() * (stops.len() - 1) as f64;
    let below = (at as usize).min(stops.len() - 2);
    let part = at - below as f64;
    std::array::from_fn(|i| (stops[below][i] + (stops[below + 1][i] - stops[below][i]) * part).round() as u8)
}

const MEAN: Color = [213, 94, 0];

fn draw_lines(canvas: &mut Canvas, panel: &Panel, model: &Density, deepest: u32) {
    let histogram = &model.histogram;
    let deepest = f64::from(deepest);
    canvas.dashed(panel.at(0.5, 0.5), panel.at(deepest + 0.5, deepest + 0.5), 2.5, INK);
    let mean = |(column, mean): (usize, &Option<f64>)| {
        let (left, right) = column_ends(histogram, column);
        mean.map(|mean| panel.at((left + right) / 2.0, mean))
    };
    let means: Vec<(f64, f64)> = histogram.means.iter().enumerate().filter_map(mean).collect();
    canvas.line(means.clone(), 8.0, PAPER);
    canvas.line(means.clone(), 4.5, MEAN);
    let diagonal = panel.at(deepest + 0.5, deepest + 0.5);
    let end = means.last().map_or(diagonal.1, |end| end.1);
    let heights = super::axis::apart(&[diagonal.1, end], TEXT + 4.0, panel.top, panel.bottom);
    canvas.text((panel.right + 12.0, heights[0]), &format!("= {}", model.depths.names().1), TEXT, Anchor::Left, INK);
    canvas.text((panel.right + 12.0, heights[1]), "mean", TEXT, Anchor::Left, MEAN);
}

/// Draws the scale of the colours.
fn draw_key(canvas: &mut Canvas, largest: f64, depths: DepthKind) {
    let (left, right, top, bottom) = (1034.0, 1064.0, 470.0, 690.0);
    let lines = ["share of the".into(), "scrambles of".into(), format!("a {}", depths.names().1)];
    for (line, above) in lines.iter().zip([74.0, 48.0, 22.0]) {
        canvas.text((left, top - above), line, TEXT, Anchor::Left, INK);
    }
    let (top, steps) = (top + 14.0, 44);
    for i in 0..steps {
        let height = |i: usize| bottom - (bottom - top) * i as f64 / steps as f64;
        canvas.rectangle((left, height(i + 1)), (right, height(i)), shade((i as f64 + 0.5) / steps as f64));
    }
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let y = bottom - (bottom - top) * part;
        canvas.text((right + 10.0, y), &percent(part * largest), TEXT, Anchor::Left, SOFT);
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent >= 10.0 || percent == 0.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}
