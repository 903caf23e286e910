//! Pictures of records: what a training learned, what a network says, what a search takes and gives.
//!
//! A picture is laid out as a list of marks ([`Canvas`]) from data alone, and then written as a PNG, an SVG or an animated
//! GIF ([`Format::encode`]). The font comes along; nothing needs to be installed.

use crate::error::{Error, Result, bail, ensure};
use std::path::Path;

mod animation;
mod axis;
mod canvas;
mod density;
mod effort;
mod font;
mod lengths;
mod render;
mod results;
mod settings;
mod training;

pub use crate::report::statistics::{Estimate, mean, share};
pub use axis::{Axis, Scale};
pub use canvas::{Canvas, HEIGHT, MOST_SERIES, WIDTH};
pub use density::{By, Density, Histogram, densities};
pub use effort::{cumulative, effort};
pub use lengths::{lengths, pairs};
pub use results::Results;
pub use settings::{Point, points, settings};
pub use training::{Run, training};

/// The width of a picture in pixels, by default; the height is two thirds of it.
pub const DEFAULT_WIDTH: u32 = 1200;

/// The form of a picture's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Shapes and text, sharp at any size; text is in the viewer's own sans-serif font where it has no Roboto.
    Svg,
    /// Pixels of 256 colours, in as many frames as there are pictures.
    Gif,
}

impl Format {
    /// The form that a file's name asks for.
    ///
    /// # Errors
    /// If its end is not known.
    pub fn of(path: &Path) -> Result<Format> {
        let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        match end.as_str() {
            "png" => Ok(Format::Png),
            "svg" => Ok(Format::Svg),
            "gif" => Ok(Format::Gif),
            _ => bail!("{}: expected a name that ends with .png, .svg or .gif", path.display()),
        }
    }

    /// Pictures as a file of some width in pixels; only a GIF holds more than one.
    ///
    /// # Errors
    /// If there is no picture, or there are several for a form that holds one.
    pub fn encode(self, frames: &[Canvas], width: u32) -> Result<Vec<u8>> {
        ensure!(width > 0 && !frames.is_empty(), "there is nothing to draw");
        match (self, frames) {
            (Format::Gif, _) => animation::gif(frames, width),
            (Format::Png, [canvas]) => render::png(canvas, width).map_err(not_drawn),
            (Format::Svg, [canvas]) => Ok(render::svg(canvas, width).map_err(not_drawn)?.into_bytes()),
            _ => bail!("there are {} pictures, and only a .gif holds more than one", frames.len()),
        }
    }
}

fn not_drawn(error: Box<dyn std::error::Error>) -> Error {
    Error::Data(format!("the picture cannot be drawn: {error}"))
}
