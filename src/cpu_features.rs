//! Which of the processor's instructions costar uses, beyond those that every processor of its kind has.

use std::sync::LazyLock;

/// Instructions that code is written for, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Instructions {
    Portable,
    Avx2,
    Avx512,
}

/// Names the newest instructions that costar may use, so that one machine shows what older ones do.
const VARIABLE: &str = "COSTAR_CPU";

static NEWEST: LazyLock<Option<Instructions>> = LazyLock::new(|| match std::env::var(VARIABLE).as_deref() {
    Err(_) | Ok("" | "avx512") => Some(Instructions::Avx512),
    Ok("avx2") => Some(Instructions::Avx2),
    Ok("portable") => Some(Instructions::Portable),
    Ok(_) => None,
});

/// Whether `COSTAR_CPU` lets costar use instructions; the processor must have them, too.
pub(crate) fn may_use(instructions: Instructions) -> bool {
    NEWEST.is_none_or(|newest| instructions <= newest)
}

/// Checks the variable.
///
/// # Errors
/// If `COSTAR_CPU` has another value than `portable`, `avx2` and `avx512`.
#[cfg(feature = "cli")]
pub(crate) fn check() -> crate::error::Result<()> {
    let value = std::env::var_os(VARIABLE).unwrap_or_default();
    crate::error::ensure!(NEWEST.is_some(), "{VARIABLE} is {value:?}: expected portable, avx2 or avx512");
    Ok(())
}
