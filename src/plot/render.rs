//! A list of marks as a PNG, an SVG or an animated GIF. Nothing else names the drawing library.

use super::canvas::{Anchor, Canvas, Color, HEIGHT, Mark, PAPER, WIDTH};
use super::font;
use plotters::backend::{BitMapBackend, RGBPixel, SVGBackend};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontFamily, FontStyle, IntoTextStyle as _, RGBColor, ShapeStyle, TextStyle};

/// What the drawing library gives, with whatever error it has.
pub(super) type Drawing<T> = Result<T, Box<dyn std::error::Error>>;

/// Shapes are drawn this much larger and then made smaller: that smooths them.
const OVERSAMPLING: u32 = 3;

/// Coordinates of an SVG are whole numbers in the drawing library: of this part of a pixel.
const SVG_FINENESS: u32 = 8;

/// Pixels, row by row.
pub(super) struct Image {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Vec<u8>,
}

impl Image {
    /// Lays a colour over a pixel, where there is such a pixel.
    pub(super) fn blend(&mut self, (x, y): (i64, i64), color: Color, cover: f32) {
        if (0..i64::from(self.width)).contains(&x) && (0..i64::from(self.height)).contains(&y) {
            let at = 3 * (y as usize * self.width as usize + x as usize);
            for (old, new) in self.pixels[at..at + 3].iter_mut().zip(color) {
                *old = (f32::from(*old) + (f32::from(new) - f32::from(*old)) * cover).round() as u8;
            }
        }
    }
}

/// The height of a picture of some width, in pixels.
pub(super) fn height_of(width: u32) -> u32 {
    (f64::from(width) * HEIGHT / WIDTH).round() as u32
}

/// A picture in pixels.
///
/// # Errors
/// If the drawing library fails.
pub(super) fn image(canvas: &Canvas, width: u32) -> Drawing<Image> {
    let height = height_of(width);
    let (large_width, large_height) = (width * OVERSAMPLING, height * OVERSAMPLING);
    let mut large = vec![PAPER[0]; 3 * large_width as usize * large_height as usize];
    let scale = f64::from(large_width) / WIDTH;
    {
        let mut backend = BitMapBackend::<RGBPixel>::with_buffer_and_format(&mut large, (large_width, large_height))?;
        for mark in &canvas.marks {
            shape(&mut backend, mark, scale, polyline_of_quadrangles)?;
        }
    }
    let mut image = Image { width, height, pixels: shrink(&large, width as usize, height as usize) };
    let scale = f64::from(width) / WIDTH;
    for mark in &canvas.marks {
        if let Mark::Text { at, text, size, anchor, color } = mark {
            let before = match anchor {
                Anchor::Left => 0.0,
                Anchor::Middle => 0.5,
                Anchor::Right => 1.0,
            };
            let left = at.0 * scale - before * font::width(text, size * scale);
            font::draw(&mut image, text, size * scale, left, at.1 * scale, *color);
        }
    }
    Ok(image)
}

/// Means of squares of pixels.
fn shrink(large: &[u8], width: usize, height: usize) -> Vec<u8> {
    let factor = OVERSAMPLING as usize;
    let mut small = Vec::with_capacity(3 * width * height);
    for y in 0..height {
        for x in 0..width {
            for channel in 0..3 {
                let at = |i: usize, j: usize| 3 * ((y * factor + i) * width * factor + x * factor + j) + channel;
                let sum: usize = (0..factor * factor).map(|k| usize::from(large[at(k / factor, k % factor)])).sum();
                small.push((sum as f64 / (factor * factor) as f64).round() as u8);
            }
        }
    }
    small
}

type Place = (i32, i32);
type Polyline<B> = fn(&mut B, &[Place], u32, RGBColor) -> Drawing<()>;

fn rgb(color: Color) -> RGBColor {
    RGBColor(color[0], color[1], color[2])
}

/// Draws a mark that is no text.
fn shape<B: DrawingBackend<ErrorType: 'static>>(
    backend: &mut B,
    mark: &Mark,
    scale: f64,
    polyline: Polyline<B>,
) -> Drawing<()> {
    let place = |(x, y): (f64, f64)| ((x * scale).round() as i32, (y * scale).round() as i32);
    let size = |length: f64| ((length * scale).round() as u32).max(1);
    match mark {
        Mark::Line { points, width, color } => {
            let mut places: Vec<Place> = points.iter().map(|&point| place(point)).collect();
            places.dedup();
            if places.len() == 1 { Ok(()) } else { polyline(backend, &places, size(*width), rgb(*color)) }
        }
        Mark::Box { from, to, color } => {
            let (from, to) = (place(*from), place(*to));
            Ok(backend.draw_rect(from, to, &rgb(*color), true)?)
        }
        Mark::Dot { at, radius, color } => Ok(backend.draw_circle(place(*at), size(*radius), &rgb(*color), true)?),
        Mark::Text { .. } => Ok(()),
    }
}

/// A thick line whose joints are round: the drawing library's own has spikes at the corners of a noisy curve.
fn polyline_of_quadrangles<B: DrawingBackend<ErrorType: 'static>>(
    backend: &mut B,
    places: &[Place],
    width: u32,
    color: RGBColor,
) -> Drawing<()> {
    let half = f64::from(width) / 2.0;
    for pair in places.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = (x1 - x0).hypot(y1 - y0).max(1e-9);
        let (nx, ny) = (-(y1 - y0) / length * half, (x1 - x0) / length * half);
        let corners = [(x0 + nx, y0 + ny), (x1 + nx, y1 + ny), (x1 - nx, y1 - ny), (x0 - nx, y0 - ny)];
        let corners = corners.map(|(x, y)| (x.round() as i32, y.round() as i32));
        backend.fill_polygon(corners, &color)?;
    }
    let inner = places.get(1..places.len().saturating_sub(1)).unwrap_or_default();
    for &joint in inner.iter().filter(|_| width > 2) {
        backend.draw_circle(joint, width / 2, &color, true)?;
    }
    Ok(())
}

/// A thick line of the drawing library's own.
fn polyline_as_such<B: DrawingBackend<ErrorType: 'static>>(
    backend: &mut B,
    places: &[Place],
    width: u32,
    color: RGBColor,
) -> Drawing<()> {
    let style = ShapeStyle { color: color.into(), filled: false, stroke_width: width };
    Ok(backend.draw_path(places.iter().copied(), &style)?)
}

/// A picture as an SVG of some width in pixels.
///
/// # Errors
/// If the drawing library fails.
pub(super) fn svg(canvas: &Canvas, width: u32) -> Drawing<String> {
    let (fine_width, fine_height) = (width * SVG_FINENESS, height_of(width) * SVG_FINENESS);
    let scale = f64::from(fine_width) / WIDTH;
    let mut text = String::new();
    {
        let mut backend = SVGBackend::with_string(&mut text, (fine_width, fine_height));
        let everything = (fine_width as i32, fine_height as i32);
        backend.draw_rect((0, 0), everything, &rgb(PAPER), true)?;
        for mark in &canvas.marks {
            shape(&mut backend, mark, scale, polyline_as_such)?;
        }
        for mark in &canvas.marks {
            svg_text(&mut backend, mark, scale)?;
        }
        backend.present()?;
    }
    // The picture is as large as was asked for, with round joints, in coordinates that are finer than its pixels.
    let size = format!("<svg width=\"{fine_width}\" height=\"{fine_height}\"");
    let head = format!(
        "<svg width=\"{width}\" height=\"{}\" stroke-linejoin=\"round\" stroke-linecap=\"butt\"",
        height_of(width)
    );
    Ok(text.replacen(&size, &head, 1))
}

fn svg_text<B: DrawingBackend<ErrorType: 'static>>(backend: &mut B, mark: &Mark, scale: f64) -> Drawing<()> {
    let Mark::Text { at, text, size, anchor, color } = mark else { return Ok(()) };
    let family = FontFamily::Name("Roboto, Helvetica, Arial, sans-serif");
    // What the drawing library calls size is the line's height, 1.24 of the em.
    let font = FontDesc::new(family, size * scale * 1.24, FontStyle::Normal);
    let horizontal = match anchor {
        Anchor::Left => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::Right => HPos::Right,
    };
    let color = rgb(*color);
    let style: TextStyle<'_> = font.into_text_style(&(1, 1)).color(&color).pos(Pos::new(horizontal, VPos::Center));
    // It sets half an x-height below the place; digits are taller than an x.
    let down = 0.09 * size;
    let place = ((at.0 * scale).round() as i32, ((at.1 + down) * scale).round() as i32);
    Ok(backend.draw_text(text, &style, place)?)
}

/// A picture as a PNG.
///
/// # Errors
/// If the drawing library or the encoder fails.
pub(super) fn png(canvas: &Canvas, width: u32) -> Drawing<Vec<u8>> {
    let image = image(canvas, width)?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, image.width, image.height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&image.pixels)?;
    writer.finish()?;
    Ok(bytes)
}
