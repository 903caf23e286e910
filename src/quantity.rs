//! Parsing and formatting of counts, shares, sizes, times and intervals.

use std::str::FromStr;
use std::time::Duration;

/// Reads a count: `10000`, `1e4`, `1_000_000`.
///
/// # Errors
/// If it is not a whole number, or too large.
pub fn count(text: &str) -> Result<u64, String> {
    const MAX: f64 = 9e15;
    let refusal = || format!("'{text}' is not a count: expected 10000, 1e4 or 1_000_000");
    let plain = plain_number(text).ok_or_else(refusal)?;
    if let Ok(number) = plain.parse::<u64>() {
        return Ok(number);
    }
    let number: f64 = plain.parse().map_err(|_| refusal())?;
    if number > MAX {
        return Err(format!("'{text}' is too large: expected at most {MAX:e}"));
    }
    if number.fract() == 0.0 && number >= 0.0 { Ok(number as u64) } else { Err(refusal()) }
}

/// Reads a count that is at least 1.
///
/// # Errors
/// If it is not one.
pub fn positive_count(text: &str) -> Result<u64, String> {
    at_least_one(count(text)?)
}

fn at_least_one(number: u64) -> Result<u64, String> {
    if number == 0 { Err("0 is too small: expected at least 1".into()) } else { Ok(number) }
}

/// Reads a depth in moves.
///
/// # Errors
/// If it is not a count, or too large.
pub fn depth(text: &str) -> Result<u32, String> {
    u32::try_from(count(text)?).map_err(|_| format!("'{text}' is too large: expected at most {}", u32::MAX))
}

/// Reads a number of at least 0: `0.5`, `1e-3`.
///
/// # Errors
/// If it is not one.
pub fn number(text: &str) -> Result<f64, String> {
    let number = plain_float(text).filter(|number| number.is_finite());
    found(number, text, "a number of at least 0: expected 0.5 or 1e-3")
}

/// The value, or the refusal of a text that is not what was expected.
fn found<T>(value: Option<T>, text: &str, expected: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("'{text}' is not {expected}"))
}

/// Reads a size in bytes: `8G`, `512M`, `64k`, `1.5GiB`, or a plain number of bytes; 1024 a step.
///
/// # Errors
/// If it is not a size.
pub fn size(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.strip_suffix("ib").or_else(|| lower.strip_suffix('b')).unwrap_or(&lower);
    let units = [('k', 10), ('m', 20), ('g', 30), ('t', 40)];
    let with_unit = units.iter().find_map(|(name, shift)| Some((bare.strip_suffix(*name)?, *shift)));
    let (digits, shift) = with_unit.unwrap_or((bare, 0));
    let bytes = plain_float(digits).map(|number| number * (1u64 << shift) as f64);
    let bytes = bytes.filter(|bytes| (1.0..=9e18).contains(bytes)).map(|bytes| bytes as u64);
    found(bytes, text, "a size: expected 8G, 512M or a number of bytes")
}

/// Reads a number of seconds, above 0.
///
/// # Errors
/// If it is not one.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds = plain_float(text).filter(|seconds| *seconds > 0.0 && *seconds < 1e10);
    found(seconds, text, "a time: expected seconds, above 0 and below 1e10")
}

/// An interval in time or in samples.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interval {
    /// A duration.
    Time(Duration),
    /// A number of samples.
    Samples(u64),
}

impl FromStr for Interval {
    type Err = String;

    /// `30s`, `10m`, `2h`, or a count of samples.
    fn from_str(text: &str) -> Result<Self, String> {
        let refusal = || format!("'{text}' is not an interval: expected 30s, 10m, 2h or a count of samples");
        let units = [('s', 1.0), ('m', 60.0), ('h', 3600.0)];
        let Some((number, unit)) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(*name)?, unit))) else {
            return at_least_one(count(text).map_err(|_| refusal())?).map(Interval::Samples);
        };
        let number = plain_float(number).filter(|number| *number > 0.0 && *number < 1e8).ok_or_else(refusal)?;
        Ok(Interval::Time(Duration::from_secs_f64(number * unit)))
    }
}

/// Reads a duration, in seconds: `30s`, `10m`, `2h`.
///
/// # Errors
/// If it is not one.
pub fn duration(text: &str) -> Result<f64, String> {
    let time = if let Ok(Interval::Time(time)) = text.parse() { Some(time.as_secs_f64()) } else { None };
    found(time, text, "a duration: expected 30s, 10m or 2h")
}

/// Reads a share above 0, also in percent: `0.05` or `5%`.
///
/// # Errors
/// If it is not one.
pub fn percentage(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => plain_float(percent).map(|percent| percent / 100.0),
        None => plain_float(text),
    };
    share
        .filter(|share| *share > 0.0 && *share <= 10.0)
        .ok_or_else(|| format!("'{text}' is not a share: expected 5% or 0.05"))
}

/// Drops the underscores of a number of digits, a point, an exponent and a plus sign. Refuses other texts that Rust parses as
/// floats (`inf`, `nan`, a minus sign).
fn plain_number(text: &str) -> Option<String> {
    let plain: String = text.trim().chars().filter(|&c| c != '_').collect();
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    (!plain.starts_with('-') && plain.chars().all(allowed)).then_some(plain)
}

fn plain_float(text: &str) -> Option<f64> {
    plain_number(text)?.parse().ok()
}

/// Formats a count in groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Formats bytes in the largest unit that fits.
pub fn bytes(number: u64) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.iter().find(|(shift, _)| number >= 1 << shift) {
        Some((shift, unit)) => format!("{:.1} {unit}", number as f64 / (1u64 << shift) as f64),
        None => format!("{number} bytes"),
    }
}

/// Formats an approximate time in seconds: `40 seconds`, `12 minutes`, `3.5 hours`, `9 days`.
pub fn roughly(seconds: f64) -> String {
    match seconds {
        _ if seconds < 1.5 => "1 second".into(),
        _ if seconds < 90.0 => format!("{seconds:.0} seconds"),
        _ if seconds < 90.0 * 60.0 => format!("{:.0} minutes", seconds / 60.0),
        _ if seconds < 48.0 * 3600.0 => format!("{:.1} hours", seconds / 3600.0),
        _ if seconds < 1000.0 * 86400.0 => format!("{:.0} days", seconds / 86400.0),
        _ => format!("{:.0} years", seconds / (365.25 * 86400.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_sizes_and_intervals_are_read() {
        assert_eq!((count("10000"), count("1e4"), count("1_000_000")), (Ok(10_000), Ok(10_000), Ok(1_000_000)));
        assert_eq!((count("1.5e3"), count("18446744073709551615"), count("+5")), (Ok(1500), Ok(u64::MAX), Ok(5)));
        for (text, expected) in [("1e-6", 1e-6), (".5", 0.5), ("+5", 5.0), ("5.", 5.0), ("1_0", 10.0)] {
            assert_eq!((seconds(text), number(text)), (Ok(expected), Ok(expected)), "{text}");
        }
        for text in ["", ".", "+", "-1", "-0", "1e", "e5", "1-5", "inf", "+nan", "1e400", "0x10"] {
            assert!(seconds(text).is_err() && number(text).is_err(), "{text}");
        }
        assert_eq!(
            (size("8G"), size("512M"), size("1.5KiB"), size("7")),
            (Ok(8 << 30), Ok(512 << 20), Ok(1536), Ok(7))
        );
        assert_eq!("10m".parse(), Ok(Interval::Time(Duration::from_secs(600))));
        assert_eq!("1e8".parse(), Ok(Interval::Samples(100_000_000)));
        for text in ["", "-1", "1.5", "x", "inf", "nan", "1e99", "_", "1e", ".5", "1e-6", "0x10"] {
            assert!(count(text).is_err(), "{text}");
        }
        for text in ["", "G", "-8G", "8Q", "1e400G", "8 GB x"] {
            assert!(size(text).is_err(), "{text}");
        }
        for text in ["", "m", "0m", "-1s", "0", "1d", "1.5"] {
            assert!(text.parse::<Interval>().is_err(), "{text}");
        }
        assert!("5min".parse::<Interval>().is_err_and(|why| why.contains("10m")));
        assert!(count("1e30").is_err_and(|why| why.contains("too large")));
    }

    #[test]
    fn numbers_are_formatted() {
        assert_eq!((grouped(0), grouped(999), grouped(75_534_337)), ("0".into(), "999".into(), "75,534,337".into()));
        assert_eq!((bytes(12), bytes(3 << 30)), ("12 bytes".into(), "3.0 GiB".into()));
        assert_eq!(roughly(600.0), "10 minutes");
    }
}
