//! Text in pictures: a built-in font, so that a bare server draws the same as a desktop.

use ab_glyph::OutlineCurve::{Cubic, Line, Quad};
use ab_glyph::{Font as _, FontRef, GlyphId, Point, PxScale, ScaleFont as _};
use tiny_skia::{Path, PathBuilder};

/// Roboto Regular (Apache-2.0), reduced to the characters of labels: see `font/README.md`.
static ROBOTO: &[u8] = include_bytes!("font/Roboto-subset.ttf");

/// Height of digits above the baseline, as a share of the text size.
pub(super) const DIGIT_HEIGHT: f64 = 0.71;

fn font() -> FontRef<'static> {
    FontRef::try_from_slice(ROBOTO).expect("the bundled font is whole: tests draw with it")
}

/// Scale of the font for an em of `size` pixels.
fn scale(font: &FontRef<'_>, size: f64) -> PxScale {
    let em = f64::from(font.units_per_em().unwrap_or(2048.0));
    PxScale::from((size * f64::from(font.height_unscaled()) / em) as f32)
}

/// Width of a text in pixels, for an em of `size` pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let font = font();
    f64::from(layout(&font, text, scale(&font, size)).1)
}

/// The text, shortened in the middle with `…` if it is wider than `max_width`.
pub(super) fn fit(text: &str, size: f64, max_width: f64) -> String {
    if width(text, size) <= max_width {
        return text.into();
    }
    let letters: Vec<char> = text.chars().collect();
    let shortened = |kept: usize| -> String {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
    };
    (0..letters.len()).rev().map(shortened).find(|text| width(text, size) <= max_width).unwrap_or_default()
}

/// The outlines of a text from `left` on, with its digits centred on the height `middle`; `None` if nothing is visible.
pub(super) fn path(text: &str, size: f64, left: f64, middle: f64) -> Option<Path> {
    let font = font();
    let scale = scale(&font, size);
    let (left, factor) = (left as f32, font.as_scaled(scale).h_scale_factor());
    let baseline = (middle + DIGIT_HEIGHT / 2.0 * size).round() as f32;
    let mut path = PathBuilder::new();
    for (id, at) in layout(&font, text, scale).0 {
        let position = |point: Point| (left + at + point.x * factor, baseline - point.y * factor);
        let mut last = None;
        for curve in font.outline(id).into_iter().flat_map(|outline| outline.curves) {
            let (Line(from, to) | Quad(from, _, to) | Cubic(from, _, _, to)) = curve;
            let (from, (x, y)) = (position(from), position(to));
            if last != Some(from) {
                path.move_to(from.0, from.1);
            }
            match curve {
                Line(..) => path.line_to(x, y),
                Quad(_, control, _) => path.quad_to(position(control).0, position(control).1, x, y),
                Cubic(_, first, second, _) => {
                    let (first, second) = (position(first), position(second));
                    path.cubic_to(first.0, first.1, second.0, second.1, x, y);
                }
            }
            last = Some((x, y));
        }
    }
    path.finish()
}

/// The start of each glyph, and the end of the last one.
fn layout(font: &FontRef<'_>, text: &str, scale: PxScale) -> (Vec<(GlyphId, f32)>, f32) {
    let font = font.as_scaled(scale);
    let mut at = 0.0;
    let mut last: Option<GlyphId> = None;
    let mut glyphs = Vec::new();
    for letter in text.chars() {
        let id = font.glyph_id(letter);
        at += last.map_or(0.0, |last| font.kern(last, id));
        glyphs.push((id, at));
        at += font.h_advance(id);
        last = Some(id);
    }
    (glyphs, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_has_every_sign_of_pictures() {
        let font = font();
        for sign in "0123456789 N λ × · – − ≤ ≥ % ± … ² µ".chars().filter(|sign| *sign != ' ') {
            assert_ne!(font.glyph_id(sign).0, 0, "{sign}");
        }
    }

    #[test]
    fn a_text_that_is_too_wide_is_shortened_in_the_middle() {
        let long = "a-very-long-name-of-a-run-indeed";
        let short = fit(long, 20.0, 150.0);
        assert!(width(&short, 20.0) <= 150.0 && short.contains('…'), "{short}");
        assert!(short.starts_with("a-v") && short.ends_with("deed"), "{short}");
        assert_eq!(fit("run", 20.0, 150.0), "run");
        assert_eq!(fit(long, 20.0, 0.0), "");
    }
}
