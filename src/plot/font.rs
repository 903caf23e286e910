//! Text in a picture: the font that costar brings along, so that a bare server draws the same as a desktop.

use super::render::Image;
use ab_glyph::{Font as _, FontRef, GlyphId, PxScale, ScaleFont as _, point};

/// Roboto Regular (Apache-2.0), cut down to what labels are made of: see `font/README.md`.
static ROBOTO: &[u8] = include_bytes!("font/Roboto-subset.ttf");

/// The height of digits above the line that they stand on, in sizes.
const DIGIT_HEIGHT: f64 = 0.71;

fn font() -> FontRef<'static> {
    FontRef::try_from_slice(ROBOTO).expect("the bundled font is whole: tests draw with it")
}

/// The em's size in pixels, as the font's own height.
fn scale(font: &FontRef<'_>, size: f64) -> PxScale {
    let em = f64::from(font.units_per_em().unwrap_or(2048.0));
    PxScale::from((size * f64::from(font.height_unscaled()) / em) as f32)
}

/// The width of a text of some size (of the em, in pixels), in pixels.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let font = font();
    let end = layout(&font, text, scale(&font, size)).1;
    f64::from(end)
}

/// A text that is no wider than `room`: shortened in the middle with `…` where it must be.
pub(super) fn fit(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.into();
    }
    let letters: Vec<char> = text.chars().collect();
    let shortened = |kept: usize| -> String {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        letters[..head].iter().chain(&['…']).chain(&letters[letters.len() - tail..]).collect()
    };
    (0..letters.len()).rev().map(shortened).find(|text| width(text, size) <= room).unwrap_or_default()
}

/// Draws a text that begins at `left`, its digits centred on `middle`: pixels of the image.
pub(super) fn draw(image: &mut Image, text: &str, size: f64, left: f64, middle: f64, color: [u8; 3]) {
    let font = font();
    let scale = scale(&font, size);
    let baseline = (middle + DIGIT_HEIGHT / 2.0 * size).round();
    for (id, at) in layout(&font, text, scale).0 {
        let glyph = id.with_scale_and_position(scale, point(left as f32 + at, baseline as f32));
        if let Some(outline) = font.outline_glyph(glyph) {
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, cover| {
                let place = (i64::from(x) + corner.x as i64, i64::from(y) + corner.y as i64);
                image.blend(place, color, cover.clamp(0.0, 1.0));
            });
        }
    }
}

/// Where each glyph begins, and where the last one ends.
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
    fn every_sign_that_pictures_use_is_in_the_font() {
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
