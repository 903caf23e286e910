//! What a measurement was made on, and when.

use std::fs;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The name of the processor; its architecture where the system does not tell.
pub(crate) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.into(), |(_, name)| name.trim().into())
}

/// The date and the time, UTC, as in RFC 3339.
pub(crate) fn now() -> Option<String> {
    OffsetDateTime::now_utc().replace_nanosecond(0).ok()?.format(&Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_is_one_that_can_be_read_again() {
        let text = now().expect("a date");
        let read = OffsetDateTime::parse(&text, &Rfc3339).expect("RFC 3339");
        assert!((OffsetDateTime::now_utc() - read).whole_seconds() < 60, "{text}");
        assert!(!processor().is_empty());
    }
}
