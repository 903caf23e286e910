//! What settings of a search are worth: how good the answers are, against the time that they take.

use super::axis::{Axis, Panel, short};
use super::canvas::{Anchor, Canvas, Color, SOFT, TEXT, WIDTH, series_color};
use super::font;
use super::results::{Results, common, group_names};
use crate::report::statistics::{Estimate, mean, share};

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
    draw_points(&mut canvas, &upper, &points, &shares, &groups);
    draw_points(&mut canvas, &lower, &points, &lengths, &groups);
    canvas
}

fn ends(estimate: Estimate) -> [f64; 3] {
    [estimate.low, estimate.value, estimate.high]
}

/// Draws the points of all groups, those of one joined in the order of N, and then their labels, which keep clear of all
/// that is drawn where they can.
fn draw_points(canvas: &mut Canvas, panel: &Panel, points: &[Point], values: &[Option<Estimate>], groups: &[&str]) {
    let mut labels = Vec::new();
    let mut places = Places::default();
    for (number, group) in groups.iter().enumerate() {
        let color = series_color(number);
        let members = members(points, values, group);
        let dots: Vec<(f64, f64)> =
            members.iter().map(|(point, value)| panel.at(point.seconds.value, value.value)).collect();
        if members.iter().all(|(point, _)| point.n.is_some()) {
            canvas.line(dots.clone(), 3.0, color);
            dots.windows(2).for_each(|pair| places.avoid(pair[0], pair[1]));
        }
        for (i, ((point, value), &dot)) in members.iter().zip(&dots).enumerate() {
            draw_bars(canvas, panel, point.seconds, *value, color, &mut places);
            canvas.dot(dot, 8.0, color);
            places.avoid((dot.0 - 8.0, dot.1), (dot.0 + 8.0, dot.1));
            let with_group = groups.len() > 1 && i + 1 == members.len();
            labels.push((dot, label(point, with_group), color));
        }
    }
    for (dot, text, color) in labels {
        let text = font::fit(&text, TEXT, panel.right - panel.left);
        let at = places.best(panel, dot, font::width(&text, TEXT));
        canvas.text(at, &text, TEXT, Anchor::Left, color);
    }
}

/// The points of a group that have a value, in the order of N.
fn members<'a>(points: &'a [Point], values: &[Option<Estimate>], group: &str) -> Vec<(&'a Point, Estimate)> {
    let of_group = points.iter().zip(values).filter(|(point, _)| point.group == group);
    let mut members: Vec<(&Point, Estimate)> = of_group.filter_map(|(point, value)| Some((point, (*value)?))).collect();
    members.sort_by(|(a, _), (b, _)| a.n.cmp(&b.n).then(a.seconds.value.total_cmp(&b.seconds.value)));
    members
}

fn label(point: &Point, with_group: bool) -> String {
    if with_group && !point.group.is_empty() {
        format!("{} ({})", point.label, point.group)
    } else {
        point.label.clone()
    }
}

/// Draws the intervals of a point.
fn draw_bars(
    canvas: &mut Canvas,
    panel: &Panel,
    seconds: Estimate,
    value: Estimate,
    color: Color,
    places: &mut Places,
) {
    const CAP: f64 = 6.0;
    let light = color.map(|channel| channel + (255 - channel) / 2);
    let (low, high) = (panel.at(seconds.value, value.low), panel.at(seconds.value, value.high));
    canvas.line(vec![low, high], 2.5, light);
    for end in [low, high] {
        canvas.line(vec![(end.0 - CAP, end.1), (end.0 + CAP, end.1)], 2.5, light);
    }
    let (left, right) = (panel.at(seconds.low, value.value), panel.at(seconds.high, value.value));
    canvas.line(vec![left, right], 1.5, light);
    places.avoid(low, high);
    places.avoid(left, right);
}

/// What is drawn already, for labels to keep clear of.
#[derive(Default)]
struct Places {
    /// Along lines, a few units apart.
    points: Vec<(f64, f64)>,
    /// Labels: left, top, right, bottom.
    labels: Vec<(f64, f64, f64, f64)>,
}

impl Places {
    fn avoid(&mut self, from: (f64, f64), to: (f64, f64)) {
        let steps = ((to.0 - from.0).hypot(to.1 - from.1) / 4.0).ceil().max(1.0) as usize;
        let at = |i: usize| {
            let share = i as f64 / steps as f64;
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        self.points.extend((0..=steps).map(at));
    }

    /// Where a label of some width begins, near its dot, so that it covers least; the place is taken then.
    fn best(&mut self, panel: &Panel, dot: (f64, f64), wide: f64) -> (f64, f64) {
        let across = [14.0, -14.0 - wide, -wide / 2.0, 30.0, -30.0 - wide];
        let down = [-18.0, 18.0, -34.0, 34.0, 0.0, -52.0, 52.0];
        let candidates = down.iter().flat_map(|down| across.iter().map(move |across| (dot.0 + across, dot.1 + down)));
        let area = |(left, middle): (f64, f64)| (left, middle - 0.45 * TEXT, left + wide, middle + 0.45 * TEXT);
        let covered = |&place: &(f64, f64)| {
            let (left, top, right, bottom) = area(place);
            let outside =
                left < panel.left || right > WIDTH - 4.0 || top < panel.top - 8.0 || bottom > panel.bottom - 2.0;
            let points = self.points.iter().filter(|(x, y)| (left..=right).contains(x) && (top..=bottom).contains(y));
            let touches = |other: &&(f64, f64, f64, f64)| {
                left < other.2 + 6.0 && right > other.0 - 6.0 && top < other.3 && bottom > other.1
            };
            1000 * usize::from(outside) + points.count() + 100 * self.labels.iter().filter(touches).count()
        };
        // Of those that cover as little, the first: they stand in the order of their nearness.
        let best = candidates.min_by_key(covered).unwrap_or(dot);
        self.labels.push(area(best));
        best
    }
}
