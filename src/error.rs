//! The errors of the library: a setting, a text, a file, a device or a training that is at fault.
//!
//! A message that refuses a setting names it in backticks by its field name (`` `policy_weight` ``), the same name in
//! JSON, in the library and, with dashes, on the command line. [`SettingError::field`] has it for programs.

use crate::heuristic::HeuristicError;
use crate::puzzle::ParseError;
use std::io;

/// A setting that is refused: which one, why, and what is expected instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}`: {reason}")]
pub struct SettingError {
    /// The field's name, such as `policy_weight`.
    pub field: String,
    /// Why it is refused, and what is expected.
    pub reason: String,
}

impl SettingError {
    /// Refuses a field.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        SettingError { field: field.into(), reason: reason.into() }
    }
}

/// Whatever can go wrong in the library. [`Display`](std::fmt::Display) gives the whole message, causes included.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting is refused.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A text is refused: an instance, a goal, moves, the name or the file of a puzzle.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The heuristic failed during a search.
    #[error(transparent)]
    Heuristic(#[from] HeuristicError),
    /// The system refused to read or write a file.
    #[error("{action}: {cause}")]
    Io {
        /// What was tried, such as "cannot read config.json".
        action: String,
        /// What the system said.
        cause: io::Error,
    },
    /// A file or folder is missing, damaged, or of another kind than expected.
    #[error("{0}")]
    Data(String),
    /// The device failed, or memory is too small.
    #[error("{0}")]
    Device(String),
    /// A training cannot go on: its loss or a weight is no longer finite.
    #[error("{0}")]
    Diverged(String),
    /// Another rank of the [group](crate::distributed::Group) has failed, and says why.
    #[error("another rank has failed")]
    Elsewhere,
    /// An invariant of costar does not hold.
    #[error("{0}: this is a bug in costar")]
    Bug(String),
    /// Another error, and what was being done.
    #[error("{context}: {cause}")]
    Context {
        /// What was being done.
        context: String,
        /// What went wrong.
        cause: Box<Error>,
    },
}

impl Error {
    /// The setting that is refused, where the error is about one.
    pub fn setting(&self) -> Option<&SettingError> {
        match self {
            Error::Setting(error) => Some(error),
            Error::Context { cause, .. } => cause.setting(),
            _ => None,
        }
    }

    /// Whether another rank has failed, and not this one.
    pub fn is_elsewhere(&self) -> bool {
        match self {
            Error::Elsewhere => true,
            Error::Context { cause, .. } => cause.is_elsewhere(),
            _ => false,
        }
    }

    /// Whether the system refused to write or read a file: a full disk may have room again later.
    pub fn is_io(&self) -> bool {
        match self {
            Error::Io { .. } => true,
            Error::Context { cause, .. } => cause.is_io(),
            _ => false,
        }
    }
}

/// A result with the library's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Says what was being done when an error came.
pub(crate) trait Context<T> {
    /// Puts a context before the error's message.
    fn context(self, context: impl Into<String>) -> Result<T>;

    /// The same, with a context that is made only where there is an error.
    fn with_context(self, context: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.map_err(|cause| Error::Io { action: context.into(), cause })
    }

    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::Io { action: context(), cause })
    }
}

impl<T> Context<T> for Result<T> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.map_err(|cause| Error::Context { context: context.into(), cause: Box::new(cause) })
    }

    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::Context { context: context(), cause: Box::new(cause) })
    }
}

impl<T> Context<T> for Option<T> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.ok_or_else(|| Error::Data(context.into()))
    }

    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.ok_or_else(|| Error::Data(context()))
    }
}

impl<T> Context<T> for serde_json::Result<T> {
    fn context(self, context: impl Into<String>) -> Result<T> {
        self.map_err(|cause| Error::Data(format!("{}: {cause}", context.into())))
    }

    fn with_context(self, context: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|cause| Error::Data(format!("{}: {cause}", context())))
    }
}

/// Returns an error about a file or a folder.
macro_rules! bail {
    ($($message:tt)+) => {
        return Err($crate::error::Error::Data(format!($($message)+)))
    };
}
pub(crate) use bail;

/// Returns an error about a file or a folder unless a condition holds.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            $crate::error::bail!($($message)+);
        }
    };
}
pub(crate) use ensure;

/// Returns an error of a setting unless a condition holds.
macro_rules! ensure_setting {
    ($holds:expr, $field:expr, $($reason:tt)+) => {
        if !$holds {
            return Err($crate::error::SettingError::new($field, format!($($reason)+)).into());
        }
    };
}
pub(crate) use ensure_setting;
