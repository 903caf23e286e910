//! Why a request is refused: a status, a reason, and the field that it is about.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Sent as `{"error": …, "field": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Refusal {
    #[serde(skip)]
    pub(super) status: StatusCode,
    pub(super) error: String,
    /// The field of the request, where it is about one.
    pub(super) field: Option<String>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Refusal { status, error: error.into(), field: None }
    }

    /// About a field that says what cannot be done.
    pub(super) fn of(field: &str, error: impl Into<String>) -> Self {
        Refusal { status: StatusCode::UNPROCESSABLE_ENTITY, error: error.into(), field: Some(field.into()) }
    }

    /// Of settings; the message names a flag of the command line, and a field has its name.
    pub(super) fn of_settings(error: &anyhow::Error) -> Self {
        let error = format!("{error:#}");
        let flag = error.split(|c: char| c.is_whitespace() || c == ':').find_map(|word| word.strip_prefix("--"));
        let field = flag.map(|flag| flag.replace('-', "_"));
        Refusal { status: StatusCode::UNPROCESSABLE_ENTITY, field, error }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}
