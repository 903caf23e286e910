//! A picture as a list of marks, before it is drawn in any format.

use super::font;

/// Width of the layout, in units; a unit is a pixel at the default size.
pub const WIDTH: f64 = 1200.0;
/// Height of the layout, in units.
pub const HEIGHT: f64 = 800.0;

/// Text size of ticks and labels, in units: 11 pixels in a picture shown at half its width.
pub(super) const TEXT: f64 = 22.0;
/// Text size of the title.
pub(super) const TITLE: f64 = 30.0;

/// A colour: red, green, blue.
pub(super) type Color = [u8; 3];

pub(super) const INK: Color = [34, 34, 34];
pub(super) const SOFT: Color = [102, 102, 102];
pub(super) const FAINT: Color = [178, 178, 178];
pub(super) const GRID: Color = [230, 230, 230];
pub(super) const PAPER: Color = [255, 255, 255];

/// Colours that everybody can tell apart (Okabe and Ito 2008); the first ones read well as text.
const SERIES_COLORS: [Color; 7] =
    [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [0, 0, 0], [230, 159, 0], [86, 180, 233]];

/// The most series that a picture tells apart by colour.
pub const MAX_SERIES: usize = SERIES_COLORS.len();

/// The colour of series `i`.
pub(super) fn series_color(i: usize) -> Color {
    SERIES_COLORS[i % SERIES_COLORS.len()]
}

/// The part of a text that is at its position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Left,
    Middle,
    Right,
}

/// A drawn shape or text; positions are (x, y) in units from the upper left.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Mark {
    Line { points: Vec<(f64, f64)>, width: f64, color: Color },
    Box { from: (f64, f64), to: (f64, f64), color: Color },
    Dot { at: (f64, f64), radius: f64, color: Color },
    Text { at: (f64, f64), text: String, size: f64, anchor: Anchor, color: Color },
}

/// A picture of [`WIDTH`] × [`HEIGHT`] units: later marks cover earlier ones, texts cover all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Canvas {
    pub(super) marks: Vec<Mark>,
}

impl Canvas {
    /// A picture with a title and a line below it.
    pub(super) fn titled(title: &str, subtitle: &str) -> Canvas {
        let mut canvas = Canvas::default();
        canvas.text((24.0, 34.0), &font::fit(title, TITLE, WIDTH - 48.0), TITLE, Anchor::Left, INK);
        canvas.text((24.0, 70.0), &font::fit(subtitle, TEXT, WIDTH - 48.0), TEXT, Anchor::Left, SOFT);
        canvas
    }

    /// The marks in the order in which they are drawn.
    pub(super) fn in_order(&self) -> impl Iterator<Item = &Mark> {
        let (texts, shapes): (Vec<_>, Vec<_>) = self.marks.iter().partition(|mark| matches!(mark, Mark::Text { .. }));
        shapes.into_iter().chain(texts)
    }

    pub(super) fn line(&mut self, points: Vec<(f64, f64)>, width: f64, color: Color) {
        self.marks.push(Mark::Line { points, width, color });
    }

    /// Draws a straight line of dashes.
    pub(super) fn dashed(&mut self, from: (f64, f64), to: (f64, f64), width: f64, color: Color) {
        const DASH: f64 = 9.0;
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let dashes = ((dx.hypot(dy) / DASH / 2.0).ceil() as usize).max(1);
        let at = |share: f64| (from.0 + share * dx, from.1 + share * dy);
        for i in 0..dashes {
            let begin = i as f64 / dashes as f64;
            self.line(vec![at(begin), at(begin + 0.5 / dashes as f64)], width, color);
        }
    }

    pub(super) fn rectangle(&mut self, from: (f64, f64), to: (f64, f64), color: Color) {
        self.marks.push(Mark::Box { from, to, color });
    }

    pub(super) fn dot(&mut self, at: (f64, f64), radius: f64, color: Color) {
        self.marks.push(Mark::Dot { at, radius, color });
    }

    pub(super) fn text(&mut self, at: (f64, f64), text: &str, size: f64, anchor: Anchor, color: Color) {
        self.marks.push(Mark::Text { at, text: text.into(), size, anchor, color });
    }

    /// The texts of the picture, in the order in which they were written.
    pub fn texts(&self) -> Vec<&str> {
        let texts = self.marks.iter().filter_map(|mark| match mark {
            Mark::Text { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}
