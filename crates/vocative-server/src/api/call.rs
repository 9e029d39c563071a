//! A request as a handler takes it: by whom, and with what body.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use super::{Api, Caller, Problem};

/// How long a body may take to come; the longest is a session of 64 MiB.
const READING: Duration = Duration::from_secs(300);

/// A request with a body, by a known caller. A signed request (NIP-98) covers its body: the signature
/// names its digest, without which a body could be exchanged on the way.
pub(crate) struct Call<B> {
    pub(crate) caller: Caller,
    pub(crate) body: B,
}

/// What a body can be read as.
pub(crate) trait FromBody: Sized {
    /// The most bytes it may have.
    const MOST: usize;

    fn from_body(parts: &Parts, body: Bytes) -> Result<Self, Problem>;
}

/// A body of JSON.
impl<T: DeserializeOwned> FromBody for axum::Json<T> {
    const MOST: usize = 512 * 1024;

    fn from_body(parts: &Parts, body: Bytes) -> Result<Self, Problem> {
        let kind = parts.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        });
        if !is_json {
            let says = "the body is to be JSON, and content-type application/json";
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", says));
        }
        let read = serde_json::from_slice(&body);
        read.map(axum::Json).map_err(|error| {
            // Its words may repeat the body; where and what kind is enough.
            let kind = match error.classify() {
                serde_json::error::Category::Data => "the body is JSON, but not what this path takes",
                _ => "the body is not JSON",
            };
            Problem::new(StatusCode::BAD_REQUEST, "bad_body", kind)
                .with("line", error.line())
                .with("column", error.column())
        })
    }
}

/// A body byte for byte, of at most so many bytes.
pub(crate) struct Raw<const MOST: usize>(pub(crate) Bytes);

impl<const MOST: usize> FromBody for Raw<MOST> {
    const MOST: usize = MOST;

    fn from_body(_: &Parts, body: Bytes) -> Result<Self, Problem> {
        Ok(Self(body))
    }
}

/// No body.
impl FromBody for () {
    const MOST: usize = 0;

    fn from_body(_: &Parts, _: Bytes) -> Result<Self, Problem> {
        Ok(())
    }
}

/// Reads a body of at most so many bytes.
pub(crate) async fn read(body: Body, most: usize) -> Result<Bytes, Problem> {
    let too_large = |_| {
        let says = format!("the body is cut off, or larger than {most} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", says).with("most", most)
    };
    let slow = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body did not come in time");
    tokio::time::timeout(READING, to_bytes(body, most)).await.map_err(slow)?.map_err(too_large)
}

impl<B: FromBody> FromRequest<Arc<Api>> for Call<B> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Arc<Api>) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        // Whoever is not known sends no body either.
        let claim = Caller::claim(&mut parts, api).await?;
        let body = read(body, B::MOST).await?;
        let caller = claim.over(&body)?;
        Ok(Self { caller, body: B::from_body(&parts, body)? })
    }
}

/// A request with a body, by anybody: for those who are about to show who they are.
pub(crate) struct Open<B>(pub(crate) B);

impl<B: FromBody> FromRequest<Arc<Api>> for Open<B> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Arc<Api>) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let body = read(body, B::MOST).await?;
        B::from_body(&parts, body).map(Self)
    }
}

/// The parameters behind the `?` of a path.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Query::from_request_parts(parts, state).await;
        let Query(params) = read.map_err(|error| Problem::bad_request(error.body_text()))?;
        Ok(Self(params))
    }
}

/// The one part of a path that says what it is about.
pub(crate) struct Segment(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::from_request_parts(parts, state).await;
        // What is no text names nothing.
        read.map(|Path(segment)| Self(segment)).map_err(|_| Problem::not_found())
    }
}

/// The parts of a path that say what it is about.
pub(crate) struct Segments<const N: usize>(pub(crate) [String; N]);

impl<const N: usize, S: Send + Sync> FromRequestParts<S> for Segments<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::<Vec<String>>::from_request_parts(parts, state).await;
        let segments = read.ok().and_then(|Path(segments)| segments.try_into().ok());
        segments.map(Self).ok_or_else(Problem::not_found)
    }
}
