//! Every error of the interface: `{code, message, details}`.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vocative_store::StoreError;

use crate::people::PeopleError;

/// Why a request was not done. The code is stable; the message is for people and may change.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Problem {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// A stable name.
    #[schema(value_type = String)]
    pub(crate) code: &'static str,
    /// What is wrong and what to do, for a person.
    pub(crate) message: String,
    /// Whatever a program may want to know.
    pub(crate) details: Map<String, Value>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), details: Map::new() }
    }

    /// The same problem with one more detail.
    pub(crate) fn with(mut self, name: &str, detail: impl Serialize) -> Self {
        // What cannot be written as JSON is no detail of ours.
        let detail = serde_json::to_value(detail).unwrap_or_default();
        self.details.insert(name.to_owned(), detail);
        self
    }

    /// The request itself makes no sense: 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// The caller is not known: 401.
    pub(crate) fn not_logged_in() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "not_logged_in",
            "this needs a login or a signed request (NIP-98)",
        )
    }

    /// What is asked for is not there, or not for the caller: 404, in the same words.
    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", "there is no such thing, or you may not read it")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let retry_after = self.details.get("retry_after").and_then(Value::as_u64);
        let mut answer = (self.status, Json(self)).into_response();
        if let Some(seconds) = retry_after {
            answer.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        answer
    }
}

/// The store could not do its part. What it says is for the operator, not for the caller.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed a request");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.code(), "the store cannot do this now; try again")
    }
}

impl From<PeopleError> for Problem {
    fn from(error: PeopleError) -> Self {
        let status = match &error {
            PeopleError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            PeopleError::Unreachable { .. } | PeopleError::Busy => StatusCode::SERVICE_UNAVAILABLE,
            PeopleError::AppRefused { .. } => StatusCode::BAD_GATEWAY,
            PeopleError::NotLoggedIn | PeopleError::GithubLoginEnded => StatusCode::UNAUTHORIZED,
            PeopleError::Denied
            | PeopleError::NotAllowed { .. }
            | PeopleError::NotReadable
            | PeopleError::BadChallenge => StatusCode::FORBIDDEN,
            PeopleError::NotConfigured
            | PeopleError::NoClientSecret
            | PeopleError::UnknownFlow
            | PeopleError::NotFound
            | PeopleError::NotHeld => StatusCode::NOT_FOUND,
            PeopleError::Held { .. } | PeopleError::Replayed | PeopleError::KeyTaken => StatusCode::CONFLICT,
            PeopleError::Expired => StatusCode::GONE,
            PeopleError::OtherBrowser | PeopleError::BadReturn | PeopleError::BadRepository => {
                StatusCode::BAD_REQUEST
            }
            PeopleError::BadInstant => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let problem = Self::new(status, error.code(), error.to_string());
        match error {
            PeopleError::Store(error) => error.into(),
            PeopleError::Unreachable { retry_after: Some(seconds), .. } => {
                problem.with("retry_after", seconds)
            }
            PeopleError::Held { login } => problem.with("login", login),
            PeopleError::NotAllowed { handle } => problem.with("handle", handle),
            _ => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use serde_json::json;

    use super::Problem;

    #[test]
    fn a_problem_is_a_code_a_message_and_details() {
        let problem = Problem::new(StatusCode::CONFLICT, "taken", "it is taken").with("by", ["x"]);
        let written = serde_json::to_value(&problem).expect("JSON");
        assert_eq!(written, json!({ "code": "taken", "message": "it is taken", "details": { "by": ["x"] } }));
    }
}
