//! A list of marks as pixels, PNG or SVG.

use super::canvas::{Anchor, Canvas, Color, HEIGHT, Mark, PAPER, WIDTH};
use super::font;
use crate::error::{Error, Result};
use std::fmt::Write as _;
use tiny_skia::{FillRule, LineJoin, Paint, PathBuilder, Pixmap, Rect, Stroke, Transform};

/// Height of a picture, in pixels.
fn height_of(width: u32) -> u32 {
    (f64::from(width) * HEIGHT / WIDTH).round() as u32
}

/// Draws a picture in pixels.
///
/// # Errors
/// If it is too large.
pub(super) fn pixels(canvas: &Canvas, width: u32) -> Result<Pixmap> {
    let too_large = || Error::Data(format!("the picture cannot be drawn: {width} pixels are too wide"));
    let mut pixmap = Pixmap::new(width, height_of(width)).ok_or_else(too_large)?;
    pixmap.fill(tiny_skia::Color::from_rgba8(PAPER[0], PAPER[1], PAPER[2], 255));
    let scale = f64::from(width) / WIDTH;
    canvas.in_order().for_each(|mark| draw_mark(&mut pixmap, mark, scale));
    Ok(pixmap)
}

/// Draws a picture as a PNG.
///
/// # Errors
/// If it is too large, or the encoder fails.
pub(super) fn png(canvas: &Canvas, width: u32) -> Result<Vec<u8>> {
    let failed = |error| Error::Data(format!("the PNG cannot be encoded: {error}"));
    pixels(canvas, width)?.encode_png().map_err(failed)
}

fn draw_mark(pixmap: &mut Pixmap, mark: &Mark, scale: f64) {
    let transform = Transform::from_scale(scale as f32, scale as f32);
    let mut paint = Paint::default();
    let (Mark::Line { color, .. } | Mark::Box { color, .. } | Mark::Dot { color, .. } | Mark::Text { color, .. }) =
        mark;
    paint.set_color_rgba8(color[0], color[1], color[2], 255);
    match mark {
        Mark::Line { points, width, .. } => {
            let mut path = PathBuilder::new();
            for (i, &(x, y)) in points.iter().enumerate() {
                if i == 0 { path.move_to(x as f32, y as f32) } else { path.line_to(x as f32, y as f32) }
            }
            let width = width.max(1.0 / scale) as f32;
            let stroke = Stroke { width, line_join: LineJoin::Round, ..Stroke::default() };
            if let Some(path) = path.finish() {
                pixmap.stroke_path(&path, &paint, &stroke, transform, None);
            }
        }
        Mark::Box { from, to, .. } => {
            paint.anti_alias = false; // neighbouring boxes leave no seam
            if let Some(rect) = Rect::from_ltrb(from.0 as f32, from.1 as f32, to.0 as f32, to.1 as f32) {
                pixmap.fill_rect(rect, &paint, transform, None);
            }
        }
        Mark::Dot { at, radius, .. } => {
            if let Some(circle) = PathBuilder::from_circle(at.0 as f32, at.1 as f32, *radius as f32) {
                pixmap.fill_path(&circle, &paint, FillRule::Winding, transform, None);
            }
        }
        Mark::Text { at, text, size, anchor, .. } => {
            let size = size * scale;
            let before = match anchor {
                Anchor::Left => 0.0,
                Anchor::Middle => font::width(text, size) / 2.0,
                Anchor::Right => font::width(text, size),
            };
            if let Some(path) = font::path(text, size, at.0 * scale - before, at.1 * scale) {
                pixmap.fill_path(&path, &paint, FillRule::Winding, Transform::identity(), None);
            }
        }
    }
}

/// Draws a picture as an SVG, `width` pixels wide.
pub(super) fn svg(canvas: &Canvas, width: u32) -> String {
    let height = height_of(width);
    let mut svg = format!(
        "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" xmlns=\"http://www.w3.org/2000/svg\" \
         font-family=\"Roboto, Helvetica, Arial, sans-serif\" stroke-linejoin=\"round\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"{}\"/>\n",
        hex(PAPER)
    );
    svg.extend(canvas.in_order().map(svg_element));
    svg + "</svg>\n"
}

fn svg_element(mark: &Mark) -> String {
    match mark {
        Mark::Line { points, width, color } => {
            let mut list = String::new();
            points.iter().for_each(|(x, y)| write!(list, "{x:.2},{y:.2} ").expect("a string takes all text"));
            let (list, color) = (list.trim_end(), hex(*color));
            format!("<polyline points=\"{list}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"/>\n")
        }
        Mark::Box { from: (x, y), to, color } => format!(
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{:.2}\" fill=\"{}\" shape-rendering=\"crispEdges\"/>\n",
            to.0 - x,
            to.1 - y,
            hex(*color)
        ),
        Mark::Dot { at: (x, y), radius, color } => {
            format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\" fill=\"{}\"/>\n", hex(*color))
        }
        Mark::Text { at: (x, y), text, size, anchor, color } => {
            let anchor = match anchor {
                Anchor::Left => "start",
                Anchor::Middle => "middle",
                Anchor::Right => "end",
            };
            let (y, color) = (y + font::DIGIT_HEIGHT / 2.0 * size, hex(*color));
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            format!(
                "<text x=\"{x:.2}\" y=\"{y:.2}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{color}\">{text}</text>\n"
            )
        }
    }
}

fn hex([red, green, blue]: Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}
