//! Pictures of records: trainings, predictions of a network, and results of searches.
//!
//! A picture is laid out as a list of marks ([`Canvas`]) from data alone, then written as a PNG, an SVG or an animated GIF
//! ([`Format::encode`]). The font is built in; nothing needs to be installed.
//!
//! | file | content |
//! | --- | --- |
//! | `training` | loss and error of trainings |
//! | `density` | predictions by scramble depth or exact distance |
//! | `lengths`, `effort`, `tradeoff` | results of `costar bench`, four pictures |
//! | `results` | names and keys of results |
//! | `axis`, `canvas`, `font` | layout |
//! | `render`, `animation` | pixels, PNG, SVG and GIF |

use crate::error::{Result, bail, ensure};
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
mod tradeoff;
mod training;

pub use crate::report::statistics::{Estimate, mean, share};
pub use axis::{Axis, Scale};
pub use canvas::{Canvas, HEIGHT, MAX_SERIES, WIDTH};
pub use density::{Density, DepthKind, Histogram, densities};
pub use effort::{cumulative, effort};
pub use lengths::{lengths, pairs};
pub use results::Results;
pub use tradeoff::{SettingsPoint, frontier, settings, settings_points};
pub use training::{TrainingRun, training};

/// Default width of a picture, in pixels; the height is two thirds of it.
pub const DEFAULT_WIDTH: u32 = 1200;

/// File format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Shapes and text, sharp at any size. Without Roboto, the viewer's sans-serif font shows the text.
    Svg,
    /// Pixels of 256 colours, one frame per picture.
    Gif,
}

impl Format {
    /// The format of a file, by the end of its name.
    ///
    /// # Errors
    /// If the end is unknown.
    pub fn of(path: &Path) -> Result<Format> {
        let end = path.extension().map(|end| end.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        match end.as_str() {
            "png" => Ok(Format::Png),
            "svg" => Ok(Format::Svg),
            "gif" => Ok(Format::Gif),
            _ => bail!("{}: expected a name that ends with .png, .svg or .gif", path.display()),
        }
    }

    /// A file with these pictures, `width` pixels wide; only a GIF holds more than one.
    ///
    /// # Errors
    /// If there is no picture, or more than one for a format that holds one.
    pub fn encode(self, frames: &[Canvas], width: u32) -> Result<Vec<u8>> {
        ensure!(width > 0 && !frames.is_empty(), "there is nothing to draw");
        match (self, frames) {
            (Format::Gif, _) => animation::gif(frames, width),
            (Format::Png, [canvas]) => render::png(canvas, width),
            (Format::Svg, [canvas]) => Ok(render::svg(canvas, width).into_bytes()),
            _ => bail!("there are {} pictures, and only a .gif holds more than one", frames.len()),
        }
    }
}
