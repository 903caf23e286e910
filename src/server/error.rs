//! Refusal of a request: a status, a reason, and the field at fault.

use crate::error::{Error, SettingError};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// Sent as `{"error": …, "field": …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ApiError {
    #[serde(skip)]
    pub(super) status: StatusCode,
    pub(super) error: String,
    /// The field of the request that is refused, if there is one.
    pub(super) field: Option<String>,
}

pub(super) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        ApiError { status, error: error.into(), field: None }
    }

    /// Refuses a field of the request.
    pub(super) fn of(field: &str, reason: impl Into<String>) -> Self {
        Error::from(SettingError::new(field, reason)).into()
    }

    /// The request is right, and costar has failed.
    pub(super) fn failed(error: impl Into<String>) -> Self {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error)
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let field = error.setting().map(|setting| setting.field.clone());
        ApiError { status: StatusCode::UNPROCESSABLE_ENTITY, error: error.to_string(), field }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}
