//! What settings of a search are worth: how good the answers are, against the time that they take.

use super::axis::{Axis, Panel, short};
use super::canvas::{Anchor, Canvas, Color, SOFT, TEXT, WIDTH, series_color};
use super::font;
use super::results::{Results, common, group_names};
use super::statistics::{Estimate, mean, share};

/// Less time than this is not told apart.
const LEAST_SECONDS: f64 = 1e-4;

/// What a search with some settings gives, and takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The settings, N aside: points of one group are joined.
    pub group: String,
    /// N, or the file's name where there is none.
    pub label: String,
    /// What the points of a group are ordered by.
    pub n: Option<usize>,
    /// Mean time of an instance, solved or not, in seconds.
    pub seconds: Estimate,
    /// The share of the instances with a known optimum that were solved at it; `None` where no optimum is known.
    pub optimal: Option<Estimate>,
    /// The share of the instances that were solved.
    pub solved: Estimate,
    /// Mean length of the solutions; `None` where there are none.
    pub length: Option<Estimate>,
}

/// A point for each of some results, in their order.
pub fn points(all: &[&Results]) -> Vec<Point> {
    let point = |(results, group): (&&Results, String)| {
        let seconds: Vec<f64> = results.records.iter().map(|record| record.seconds).collect();
        let lengths: Vec<f64> =
            results.records.iter().filter_map(|record| record.length).map(|length| length as f64).collect();
        let n = results.records[0].n;
        Some(Point {
            group,
            label: n.map_or_else(|| results.name.clone(), |n| format!("N = {}", short(n as f64))),
            n,
            seconds: mean(&seconds)?,
            optimal: share(results.optimal(), results.with_optimum()),
            solved: share(results.solved(), results.records.len())?,
            length: mean(&lengths),
        })
    };
    all.iter().zip(group_names(all)).filter_map(point).collect()
}

/// The mean of the known optimal lengths, where all results have the same one.
fn mean_optimum(all: &[&Results]) -> Option<f64> {
    let means = all.iter().map(|results| {
        let optima: Option<Vec<f64>> =
            results.records.iter().map(|record| record.optimal_length.map(f64::from)).collect();
        Some(mean(&optima?)?.value)
    });
    let means: Vec<f64> = means.collect::<Option<_>>()?;
    means.iter().all(|other| (other - means[0]).abs() < 1e-9).then(|| means[0])
}

/// The picture: the share of optimal solutions against the mean time (the share of solved instances where no optimum is
/// known), and below it the mean length.
pub fn settings(all: &[&Results]) -> Canvas {
    let points = points(all);
    let subtitle = format!("{} · bars: 95 % confidence", common(all));
    let mut canvas = Canvas::titled("How good the answers are, against the time they take", &subtitle);
    let mut groups: Vec<&str> = Vec::new();
    for point in &points {
        if !groups.contains(&point.group.as_str()) {
            groups.push(&point.group);
        }
    }
    // The interval of few times may reach below 0: that end is not what the axis is made for.
    let seconds = points.iter().flat_map(|point| {
        let Estimate { value, low, high } = point.seconds;
        [low.max(value / 2.0), value, high]
    });
    let x = Axis::log(seconds, LEAST_SECONDS);
    let know_optima = points.iter().any(|point| point.optimal.is_some());
    let percent = |estimate: Estimate| Estimate {
        value: 100.0 * estimate.value,
        low: 100.0 * estimate.low,
        high: 100.0 * estimate.high,
    };
    let shares: Vec<Option<Estimate>> =
        points.iter().map(|point| if know_optima { point.optimal } else { Some(point.solved) }).collect();
    let shares: Vec<Option<Estimate>> = shares.into_iter().map(|share| share.map(percent)).collect();
    let lengths: Vec<Option<Estimate>> = points.iter().map(|point| point.length).collect();
    let panel =
        |top: f64, y: Axis| Panel { left: 90.0, top, right: WIDTH - 50.0, bottom: top + 260.0, x: x.clone(), y };
    let upper = panel(134.0, Axis::linear(shares.iter().flatten().copied().flat_map(ends).chain([0.0]), 5));
    let optimum = mean_optimum(all);
    let lower = panel(460.0, Axis::linear(lengths.iter().flatten().copied().flat_map(ends).chain(optimum), 5));
    upper.draw_y(&mut canvas, if know_optima { "optimal solutions (%)" } else { "solved instances (%)" });
    upper.draw_x(&mut canvas, None);
    lower.draw_y(&mut canvas, "mean length of a solution (moves)");
    lower.draw_x(&mut canvas, Some("mean time of an instance (seconds)"));
    if let Some(optimum) = optimum {
        let (left, right) = (lower.at(x.low, optimum), lower.at(x.high, optimum));
        canvas.dashed(left, right, 2.0, SOFT);
        canvas.text((right.0, right.1 - 16.0), &format!("optimal: {optimum:.2}"), TEXT, Anchor::Right, SOFT);
    }
    draw_points(&mut canvas, &upper, &points, &shares, &groups, true);
    draw_points(&mut canvas, &lower, &points, &lengths, &groups, false);
    canvas
}

fn ends(estimate: Estimate) -> [f64; 3] {
    [estimate.low, estimate.value, estimate.high]
}

/// Draws a group's points, joined in the order of N; `rises` where more is better.
fn draw_points(
    canvas: &mut Canvas,
    panel: &Panel,
    points: &[Point],
    values: &[Option<Estimate>],
    groups: &[&str],
    rises: bool,
) {
    let mut taken = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let mut members: Vec<(&Point, Estimate)> = points
            .iter()
            .zip(values)
            .filter(|(point, _)| point.group == *group)
            .filter_map(|(point, value)| Some((point, (*value)?)))
            .collect();
        members.sort_by(|(a, _), (b, _)| {
            (a.n, a.seconds.value).partial_cmp(&(b.n, b.seconds.value)).unwrap_or(std::cmp::Ordering::Equal)
        });
        let color = series_color(number);
        let places: Vec<(f64, f64)> =
            members.iter().map(|(point, value)| panel.at(point.seconds.value, value.value)).collect();
        if members.iter().all(|(point, _)| point.n.is_some()) {
            canvas.line(places.clone(), 3.0, color);
        }
        for (point, value) in &members {
            draw_bars(canvas, panel, point.seconds, *value, color);
        }
        for ((point, _), &place) in members.iter().zip(&places) {
            canvas.dot(place, 8.0, color);
            let is_last = std::ptr::eq(*point, members[members.len() - 1].0);
            let text = label(point, groups.len() > 1 && is_last);
            write_label(canvas, panel, &mut taken, place, &text, color, rises);
        }
    }
}

fn label(point: &Point, with_group: bool) -> String {
    if with_group && !point.group.is_empty() {
        format!("{} ({})", point.label, point.group)
    } else {
        point.label.clone()
    }
}

fn draw_bars(canvas: &mut Canvas, panel: &Panel, seconds: Estimate, value: Estimate, color: Color) {
    const CAP: f64 = 6.0;
    let light = color.map(|channel| channel + (255 - channel) / 2);
    let (low, high) = (panel.at(seconds.value, value.low), panel.at(seconds.value, value.high));
    canvas.line(vec![low, high], 2.5, light);
    for end in [low, high] {
        canvas.line(vec![(end.0 - CAP, end.1), (end.0 + CAP, end.1)], 2.5, light);
    }
    let (left, right) = (panel.at(seconds.low, value.value), panel.at(seconds.high, value.value));
    canvas.line(vec![left, right], 1.5, light);
}

/// A rectangle that a label covers: left, top, right, bottom.
type Taken = (f64, f64, f64, f64);

/// Writes a label beside its dot, where no other label is: above to the left where the curve rises, else above to the
/// right.
fn write_label(
    canvas: &mut Canvas,
    panel: &Panel,
    taken: &mut Vec<Taken>,
    (x, y): (f64, f64),
    text: &str,
    color: Color,
    rises: bool,
) {
    let text = font::fit(text, TEXT, panel.right - panel.left);
    let wide = font::width(&text, TEXT);
    let (right, left) = (x + 14.0, x - 14.0 - wide);
    let (above, below) = (y - 18.0, y + 18.0);
    let places = match rises {
        true => [(left, above), (right, below), (right, above), (left, below)],
        false => [(right, above), (left, below), (left, above), (right, below)],
    };
    let area = |(left, middle): (f64, f64)| (left, middle - TEXT / 2.0, left + wide, middle + TEXT / 2.0);
    let fits = |place: &&(f64, f64)| {
        let (left, top, right, bottom) = area(**place);
        let inside = left >= panel.left && right <= WIDTH - 4.0 && bottom <= panel.bottom && top >= panel.top - 8.0;
        inside && taken.iter().all(|other| left > other.2 || right < other.0 || top > other.3 || bottom < other.1)
    };
    let inside = (x.min(panel.right - wide), above);
    let place = places.iter().find(fits).copied().unwrap_or(inside);
    taken.push(area(place));
    canvas.text(place, &text, TEXT, Anchor::Left, color);
}
