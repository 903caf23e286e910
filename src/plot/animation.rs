//! Pictures one after the other, as an animated GIF that begins again at its end.

use super::canvas::Canvas;
use super::render::{Drawing, Image, height_of, image};
use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::HashMap;

/// How long a picture stays, in hundredths of a second.
const STAYS: u16 = 60;
/// How long the last one does.
const LAST_STAYS: u16 = 250;

/// Pictures as an animated GIF of some width in pixels.
///
/// # Errors
/// If the drawing library or the encoder fails.
pub(super) fn gif(frames: &[Canvas], width: u32) -> Result<Vec<u8>> {
    let images: Vec<Image> =
        frames.iter().map(|frame| image(frame, width)).collect::<Drawing<_>>().map_err(super::not_drawn)?;
    let mut palette = Palette::of(&images);
    let side =
        |pixels: u32| u16::try_from(pixels).map_err(|_| Error::Data("a GIF is at most 65535 pixels wide".into()));
    let (across, down) = (side(width)?, side(height_of(width))?);
    let colors: Vec<u8> = palette.colors.iter().flatten().copied().collect();
    let failed = |error: gif::EncodingError| Error::Data(format!("the GIF cannot be encoded: {error}"));
    let mut encoder = gif::Encoder::new(Vec::new(), across, down, &colors).map_err(failed)?;
    encoder.set_repeat(gif::Repeat::Infinite).map_err(failed)?;
    for (i, image) in images.iter().enumerate() {
        let delay = if i + 1 == images.len() { LAST_STAYS } else { STAYS };
        let buffer = Cow::Owned(palette.numbers(image));
        let frame = gif::Frame { width: across, height: down, delay, buffer, ..gif::Frame::default() };
        encoder.write_frame(&frame).map_err(failed)?;
    }
    encoder.into_inner().map_err(failed)
}

/// The 256 colours that come most often in all pictures: what is the same in two of them stays so.
struct Palette {
    colors: Vec<[u8; 3]>,
    numbers: HashMap<[u8; 3], u8>,
}

impl Palette {
    fn of(images: &[Image]) -> Palette {
        let mut counts: HashMap<[u8; 3], u64> = HashMap::new();
        for color in images.iter().flat_map(pixels) {
            *counts.entry(color).or_default() += 1;
        }
        let mut colors: Vec<([u8; 3], u64)> = counts.into_iter().collect();
        colors.sort_unstable_by_key(|&(color, count)| (std::cmp::Reverse(count), color));
        colors.truncate(256);
        let colors: Vec<[u8; 3]> = colors.into_iter().map(|(color, _)| color).collect();
        let numbers = colors.iter().enumerate().map(|(number, &color)| (color, number as u8)).collect();
        Palette { colors, numbers }
    }

    /// A picture as numbers of the palette: of each pixel, that of the nearest colour.
    fn numbers(&mut self, image: &Image) -> Vec<u8> {
        pixels(image).map(|color| self.number(color)).collect()
    }

    fn number(&mut self, color: [u8; 3]) -> u8 {
        let colors = &self.colors;
        *self.numbers.entry(color).or_insert_with(|| {
            let distance = |other: &[u8; 3]| -> u32 {
                other.iter().zip(color).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum()
            };
            let nearest = colors.iter().enumerate().min_by_key(|(_, other)| distance(other));
            nearest.map_or(0, |(number, _)| number as u8)
        })
    }
}

fn pixels(image: &Image) -> impl Iterator<Item = [u8; 3]> {
    image.pixels.chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]])
}
