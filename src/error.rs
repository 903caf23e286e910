//! Errors of the library.
//!
//! A message that refuses a setting names its field in backticks (`` `policy_weight` ``): the same name in JSON, in the
//! library and, with dashes, on the command line. Programs read it from [`SettingError::field`].

use std::ffi::{CStr, c_char};
use std::io;

/// A refused setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {reason}")]
pub struct SettingError {
    /// The field's name, such as `policy_weight`.
    pub field: String,
    /// Why it is refused, and what is expected.
    pub reason: String,
}

impl SettingError {
    /// Refuses a field for a reason.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        SettingError { field: field.into(), reason: reason.into() }
    }
}

/// Any error of the library. [`Display`](std::fmt::Display) writes the whole message, causes included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A text is refused: an instance, a goal, moves, the name or the file of a puzzle.
    #[error("{0}")]
    Parse(String),
    /// The heuristic failed during a search.
    #[error("{0}")]
    Heuristic(String),
    /// The system refused to read or write a file.
    #[error("{action}: {cause}")]
    Io {
        /// The failed action, such as "cannot read config.json".
        action: String,
        /// The system's error.
        cause: io::Error,
    },
    /// A file or folder is missing, damaged, or of the wrong kind.
    #[error("{0}")]
    Data(String),
    /// The device failed, or memory does not suffice.
    #[error("{0}")]
    Device(String),
    /// The loss or a weight of a training is no longer finite.
    #[error("{0}")]
    Diverged(String),
    /// Another rank of the group has failed, and prints the reason.
    #[error("another rank has failed")]
    OtherRank,
    /// A rank of the group has ended without a report, or its store no longer answers.
    #[error("{0}")]
    LostRank(String),
    /// An invariant of costar does not hold.
    #[error("{0}: this is a bug in costar")]
    Bug(String),
    /// An error with the action during which it occurred.
    #[error("{context}: {cause}")]
    Context {
        /// The action.
        context: String,
        /// The error.
        cause: Box<Error>,
    },
}

impl Error {
    /// The refused setting, if the error is about one.
    pub fn setting(&self) -> Option<&SettingError> {
        if let Error::Setting(error) = self.without_context() { Some(error) } else { None }
    }

    /// Whether another rank has failed, and not this one.
    pub fn is_other_rank(&self) -> bool {
        matches!(self.without_context(), Error::OtherRank)
    }

    /// Whether the system refused to read or write a file. A later attempt may succeed: a full disk gets emptied.
    pub fn is_io(&self) -> bool {
        matches!(self.without_context(), Error::Io { .. })
    }

    /// The error itself.
    pub(crate) fn without_context(&self) -> &Error {
        match self {
            Error::Context { cause, .. } => cause.without_context(),
            error => error,
        }
    }
}

/// A [`Result`](std::result::Result) with the library's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Puts a context before an error's message.
pub(crate) trait Context<T>: Sized {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.with_context(|| context.into())
    }

    /// The same, with a context that is built only for an error.
    fn with_context(self, context: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::Io { action: context(), cause })
    }
}

impl<T> Context<T> for Result<T> {
    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::Context { context: context(), cause: Box::new(cause) })
    }
}

impl<T> Context<T> for Option<T> {
    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.ok_or_else(|| Error::Data(context()))
    }
}

impl<T> Context<T> for serde_json::Result<T> {
    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::Data(format!("{}: {}", context(), reason(&cause))))
    }
}

/// Why JSON is refused, with the names of a file's fields in quotation marks: names in backticks are settings.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    error.to_string().replace('`', "\"")
}

/// Returns an [`Error::Data`].
macro_rules! bail {
    ($($message:tt)+) => {
        return Err($crate::error::Error::Data(format!($($message)+)))
    };
}
pub(crate) use bail;

/// Returns an [`Error::Data`] unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            $crate::error::bail!($($message)+);
        }
    };
}
pub(crate) use ensure;

/// Returns a [`SettingError`].
macro_rules! bail_setting {
    ($field:expr, $($reason:tt)+) => {
        return Err($crate::error::SettingError::new($field, format!($($reason)+)).into())
    };
}
pub(crate) use bail_setting;

/// Returns a [`SettingError`] unless a condition holds.
macro_rules! ensure_setting {
    ($holds:expr, $field:expr, $($reason:tt)+) => {
        if !$holds {
            $crate::error::bail_setting!($field, $($reason)+);
        }
    };
}
pub(crate) use ensure_setting;

/// The return value of a call into C++: null, or an error message (`guarded.h`).
pub(crate) type CppMessage = *mut c_char;

/// The result of a call into C++.
///
/// # Safety
/// The message is null, or a zero-terminated text from C's allocator that belongs to the caller.
pub(crate) unsafe fn checked(message: CppMessage) -> Result<(), String> {
    if message.is_null() {
        return Ok(());
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        libc::free(message.cast());
        Err(text)
    }
}
