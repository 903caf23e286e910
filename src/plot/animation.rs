//! Pictures one after the other, as an animated GIF that repeats.

use super::canvas::{Canvas, Color};
use super::render::pixels;
use crate::error::{Error, Result};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Time per picture, in hundredths of a second.
const DELAY_CS: u16 = 60;
/// Time of the last picture, in hundredths of a second.
const LAST_DELAY_CS: u16 = 250;

/// An animated GIF of these pictures, `width` pixels wide.
///
/// # Errors
/// If the pictures are too large, or the encoder fails.
pub(super) fn gif(frames: &[Canvas], width: u32) -> Result<Vec<u8>> {
    let mut images = Vec::new();
    let mut size = (0, 0);
    for frame in frames {
        let image = pixels(frame, width)?;
        size = (image.width(), image.height());
        images.push(image.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect::<Vec<_>>());
    }
    let side =
        |pixels: u32| u16::try_from(pixels).map_err(|_| Error::Data("a GIF is at most 65535 pixels wide".into()));
    let (width, height) = (side(size.0)?, side(size.1)?);
    let colors = frequent_colors(&images);
    let mut indices: HashMap<Color, u8> = (0..=u8::MAX).zip(&colors).map(|(index, &color)| (color, index)).collect();
    let failed = |error: gif::EncodingError| Error::Data(format!("the GIF cannot be encoded: {error}"));
    let mut encoder = gif::Encoder::new(Vec::new(), width, height, colors.as_flattened()).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    for (i, image) in images.iter().enumerate() {
        let delay = if i + 1 == images.len() { LAST_DELAY_CS } else { DELAY_CS };
        let index = |&color| *indices.entry(color).or_insert_with(|| nearest(&colors, color));
        let buffer = image.iter().map(index).collect();
        let frame = gif::Frame { width, height, delay, buffer, ..gif::Frame::default() };
        encoder.write_frame(&frame).map_err(failed)?;
    }
    encoder.into_inner().map_err(failed)
}

/// The 256 most frequent colours of all pictures: equal pixels of two pictures stay equal.
fn frequent_colors(images: &[Vec<Color>]) -> Vec<Color> {
    let mut counts: HashMap<Color, u64> = HashMap::new();
    for &color in images.iter().flatten() {
        *counts.entry(color).or_default() += 1;
    }
    let mut colors: Vec<(Color, u64)> = counts.into_iter().collect();
    colors.sort_unstable_by_key(|&(color, count)| (Reverse(count), color));
    colors.into_iter().map(|(color, _)| color).take(256).collect()
}

/// The index of the colour nearest to another.
fn nearest(colors: &[Color], color: Color) -> u8 {
    let distance =
        |other: &Color| -> u32 { other.iter().zip(color).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    (0..=u8::MAX).zip(colors).min_by_key(|(_, other)| distance(other)).map_or(0, |(index, _)| index)
}
