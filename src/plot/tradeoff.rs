//! Settings of a search compared: the quality of solutions against the time that they take.

use super::axis::{Axis, Panel, short};
use super::canvas::{Anchor, Canvas, Color, SOFT, TEXT, WIDTH, series_color};
use super::font;
use super::results::{Results, common, group_names};
use crate::report::statistics::{Estimate, mean, share};
use std::collections::HashSet;

/// Shorter times count as this.
const MIN_SECONDS: f64 = 1e-6;

/// Quality and time of a search with some settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsPoint {
    /// The settings except N: a line joins the points of a group.
    pub group: String,
    /// N, or the name of the file if the search has no N.
    pub label: String,
    /// The order of the points of a group.
    pub n: Option<usize>,
    /// Mean time per instance, solved or not, in seconds.
    pub seconds: Estimate,
    /// Share of the instances with a known optimum that were solved at it; `None` if no optimum is known.
    pub optimal: Option<Estimate>,
    /// Share of the instances that were solved.
    pub solved: Estimate,
    /// Mean length of the solutions; `None` if there are none.
    pub length: Option<Estimate>,
}

/// One point per file of results, in their order.
pub fn settings_points(all: &[&Results]) -> Vec<SettingsPoint> {
    let point = |(results, group): (&&Results, String)| {
        let seconds: Vec<f64> = results.records.iter().map(|record| record.seconds).collect();
        let lengths: Vec<f64> =
            results.records.iter().filter_map(|record| record.length).map(|length| length as f64).collect();
        let n = results.records[0].n;
        Some(SettingsPoint {
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

/// The mean of the known optimal lengths, if it is the same for all results.
fn mean_optimum(all: &[&Results]) -> Option<f64> {
    let means = all.iter().map(|results| {
        let optima: Option<Vec<f64>> =
            results.records.iter().map(|record| record.optimal_length.map(f64::from)).collect();
        Some(mean(&optima?)?.value)
    });
    let means: Vec<f64> = means.collect::<Option<_>>()?;
    means.iter().all(|other| (other - means[0]).abs() < 1e-9).then(|| means[0])
}

/// The picture: the share of optimal solutions against the mean time (if no optimum is known, the share of solved
/// instances), and below it the mean length.
pub fn settings(all: &[&Results]) -> Canvas {
    draw(all, &settings_points(all), "Quality of solutions against time", true)
}

/// The picture: the mean length of solutions against the mean time, for settings that solved every instance: the easy
/// instances that others solved have shorter solutions. `None` if no setting solved all.
pub fn frontier(all: &[&Results]) -> Option<Canvas> {
    let mut points = settings_points(all);
    points.retain(|point| point.solved.value == 1.0);
    (!points.is_empty()).then(|| draw(all, &points, "Length of solutions against time", false))
}

/// A panel of lengths, with a panel of shares above it or alone.
fn draw(all: &[&Results], points: &[SettingsPoint], title: &str, has_shares: bool) -> Canvas {
    let left_out = match all.len() - points.len() {
        0 => String::new(),
        count => format!(" · left out: {count} of {} (not all solved)", all.len()),
    };
    let subtitle = format!("{} · bars: 95 % confidence{left_out}", common(all));
    let mut canvas = Canvas::titled(title, &subtitle);
    // The interval of a few times may reach below 0: the axis does not follow it.
    let seconds = points.iter().flat_map(|point| {
        let Estimate { value, low, high } = point.seconds;
        [low.max(value / 2.0), value, high]
    });
    let x = Axis::log(seconds, MIN_SECONDS);
    let know_optima = points.iter().any(|point| point.optimal.is_some());
    let percent =
        |Estimate { value, low, high }| Estimate { value: 100.0 * value, low: 100.0 * low, high: 100.0 * high };
    let share = |point: &SettingsPoint| if know_optima { point.optimal } else { Some(point.solved) }.map(percent);
    // The interval of a few lengths may reach below 0, too.
    let length = |point: &SettingsPoint| point.length.map(|length| Estimate { low: length.low.max(0.0), ..length });
    let (top, bottom) = (134.0, 720.0);
    let panel =
        |top: f64, bottom: f64, y: Axis| Panel { left: 90.0, top, right: WIDTH - 50.0, bottom, x: x.clone(), y };
    let optimum = mean_optimum(all);
    let y = Axis::linear(points.iter().filter_map(length).flat_map(ends).chain(optimum), 5);
    let lower = panel(if has_shares { 460.0 } else { top }, bottom, y);
    if has_shares {
        let upper = panel(top, 394.0, Axis::linear(points.iter().filter_map(share).flat_map(ends).chain([0.0]), 5));
        upper.draw_y(&mut canvas, if know_optima { "optimal solutions (%)" } else { "solved instances (%)" });
        upper.draw_x(&mut canvas, None);
        draw_points(&mut canvas, &upper, points, &share);
    }
    lower.draw_y(&mut canvas, "mean length of solutions (moves)");
    lower.draw_x(&mut canvas, Some("mean time per instance (seconds)"));
    if let Some(optimum) = optimum {
        let (left, right) = (lower.at(x.low, optimum), lower.at(x.high, optimum));
        canvas.dashed(left, right, 2.0, SOFT);
        canvas.text((right.0, right.1 - 16.0), &format!("optimal: {optimum:.2}"), TEXT, Anchor::Right, SOFT);
    }
    draw_points(&mut canvas, &lower, points, &length);
    canvas
}

/// The value of a point that a panel shows.
type Value<'a> = &'a dyn Fn(&SettingsPoint) -> Option<Estimate>;

fn ends(estimate: Estimate) -> [f64; 3] {
    [estimate.low, estimate.value, estimate.high]
}

/// Draws the points of all groups, joined within a group in the order of N, then their labels beside everything drawn, if
/// there is space.
fn draw_points(canvas: &mut Canvas, panel: &Panel, points: &[SettingsPoint], value: Value<'_>) {
    let (mut groups, mut seen): (Vec<&str>, _) = (points.iter().map(|point| &*point.group).collect(), HashSet::new());
    groups.retain(|group| seen.insert(*group));
    let mut labels = Vec::new();
    let mut placer = LabelPlacer { panel, points: Vec::new(), labels: Vec::new() };
    for (number, group) in groups.iter().enumerate() {
        let color = series_color(number);
        let members = members(points, value, group);
        let dots: Vec<(f64, f64)> =
            members.iter().map(|(point, value)| panel.at(point.seconds.value, value.value)).collect();
        if members.iter().all(|(point, _)| point.n.is_some()) {
            canvas.line(dots.clone(), 3.0, color);
            dots.windows(2).for_each(|pair| placer.avoid(pair[0], pair[1]));
        }
        for (i, ((point, value), &dot)) in members.iter().zip(&dots).enumerate() {
            draw_bars(canvas, &mut placer, point.seconds, *value, color);
            canvas.dot(dot, 8.0, color);
            placer.avoid((dot.0 - 8.0, dot.1), (dot.0 + 8.0, dot.1));
            let with_group = groups.len() > 1 && i + 1 == members.len();
            labels.push((dot, label(point, with_group), color));
        }
    }
    for (dot, text, color) in labels {
        let text = font::fit(&text, TEXT, panel.right - panel.left);
        let at = placer.place(dot, font::width(&text, TEXT));
        canvas.text(at, &text, TEXT, Anchor::Left, color);
    }
}

/// The points of a group that have a value, in the order of N.
fn members<'a>(points: &'a [SettingsPoint], value: Value<'_>, group: &str) -> Vec<(&'a SettingsPoint, Estimate)> {
    let of_group = points.iter().filter(|point| point.group == group);
    let mut members: Vec<_> = of_group.filter_map(|point| Some((point, value(point)?))).collect();
    members.sort_by(|(a, _), (b, _)| a.n.cmp(&b.n).then(a.seconds.value.total_cmp(&b.seconds.value)));
    members
}

fn label(point: &SettingsPoint, with_group: bool) -> String {
    let SettingsPoint { label, group, .. } = point;
    if with_group && !group.is_empty() { format!("{label} ({group})") } else { label.clone() }
}

/// Draws the confidence intervals of a point.
fn draw_bars(canvas: &mut Canvas, placer: &mut LabelPlacer<'_>, seconds: Estimate, value: Estimate, color: Color) {
    const CAP: f64 = 6.0;
    let panel = placer.panel;
    let light = color.map(|channel| channel + (255 - channel) / 2);
    let (low, high) = (panel.at(seconds.value, value.low), panel.at(seconds.value, value.high));
    canvas.line(vec![low, high], 2.5, light);
    for end in [low, high] {
        canvas.line(vec![(end.0 - CAP, end.1), (end.0 + CAP, end.1)], 2.5, light);
    }
    let (left, right) = (panel.at(seconds.low, value.value), panel.at(seconds.high, value.value));
    canvas.line(vec![left, right], 1.5, light);
    placer.avoid(low, high);
    placer.avoid(left, right);
}

/// Finds positions for labels beside what is drawn.
struct LabelPlacer<'a> {
    panel: &'a Panel,
    /// Points along the drawn lines, a few units apart.
    points: Vec<(f64, f64)>,
    /// Placed labels: left, top, right, bottom.
    labels: Vec<(f64, f64, f64, f64)>,
}

impl LabelPlacer<'_> {
    /// Keeps labels away from a line.
    fn avoid(&mut self, from: (f64, f64), to: (f64, f64)) {
        let steps = ((to.0 - from.0).hypot(to.1 - from.1) / 4.0).ceil().max(1.0) as usize;
        let at = |i: usize| {
            let share = i as f64 / steps as f64;
            (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
        };
        self.points.extend((0..=steps).map(at));
    }

    /// Places a label near its dot where it covers least; returns its left end.
    fn place(&mut self, dot: (f64, f64), width: f64) -> (f64, f64) {
        let across = [14.0, -14.0 - width, -width / 2.0, 30.0, -30.0 - width];
        let down = [-18.0, 18.0, -34.0, 34.0, 0.0, -52.0, 52.0];
        let candidates = down.iter().flat_map(|down| across.iter().map(move |across| (dot.0 + across, dot.1 + down)));
        let area = |(left, middle): (f64, f64)| (left, middle - 0.45 * TEXT, left + width, middle + 0.45 * TEXT);
        let covered = |&position: &(f64, f64)| {
            let (left, top, right, bottom) = area(position);
            let panel = self.panel;
            let outside =
                left < panel.left || right > WIDTH - 4.0 || top < panel.top - 8.0 || bottom > panel.bottom - 2.0;
            let points = self.points.iter().filter(|(x, y)| (left..=right).contains(x) && (top..=bottom).contains(y));
            let touches = |other: &&(f64, f64, f64, f64)| {
                left < other.2 + 6.0 && right > other.0 - 6.0 && top < other.3 && bottom > other.1
            };
            1000 * usize::from(outside) + points.count() + 100 * self.labels.iter().filter(touches).count()
        };
        // The first minimum is the nearest.
        let best = candidates.min_by_key(covered).unwrap_or(dot);
        self.labels.push(area(best));
        best
    }
}
