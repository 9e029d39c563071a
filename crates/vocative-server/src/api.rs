//! The HTTP half of the server (sections 2 to 5), under `/v1`.
//!
//! A module of the interface reads requests and writes answers; what is decided stands in the module of
//! its matter. Its description (OpenAPI) is generated from the handlers, so that it cannot lag behind.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

mod call;
mod caller;
mod problem;

/// The paths; their descriptions are written by a macro, which names some types by their whole paths.
#[allow(unused_qualifications)]
mod inbox;
#[allow(unused_qualifications)]
mod index;
#[allow(unused_qualifications)]
mod people;
#[allow(unused_qualifications)]
mod sending;
#[allow(unused_qualifications)]
mod sessions;

pub(crate) use call::{Call, Open, Params, Raw, Segment, Segments};
pub(crate) use caller::Caller;
pub(crate) use problem::Problem;

use caller::Schemes;

use crate::people::People;
use crate::rebuild::Rebuilding;
use crate::relay::{PublicUrl, State};
use crate::sessions::shared::Sessions;

/// What the handlers share.
pub(crate) struct Api {
    /// The node: its store, its settings, and the relay's way of taking events.
    pub(crate) node: Arc<State>,
    /// The address that clients use.
    pub(crate) url: PublicUrl,
    /// Who has logged in.
    pub(crate) people: People,
    /// The sessions that are shared.
    pub(crate) sessions: Sessions,
    /// What this node does of making the index again.
    pub(crate) rebuilding: Rebuilding,
}

#[derive(OpenApi)]
#[openapi(
    info(title = "Vocative", description = "People, exact sends, references and the inbox of a community."),
    components(schemas(Problem)),
    modifiers(&Schemes),
)]
struct Description;

/// Everything under `/v1`.
pub(crate) fn router(api: Arc<Api>) -> Router {
    let (router, description) = described().with_state(api).split_for_parts();
    router
        .route("/v1/openapi.json", get(|| async move { Json(description) }))
        .method_not_allowed_fallback(|| async {
            Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path has no such method")
        })
        .layer(middleware::from_fn(private))
}

/// The paths with their description.
fn described() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(sending::routes())
        .merge(people::routes())
        .merge(sessions::routes())
        .merge(inbox::routes())
        .merge(index::routes())
}

/// The answer to a path that is none.
pub(crate) async fn unknown_path() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "unknown_path", "there is nothing at this path")
}

/// Answers are for their caller: nothing keeps them, and nothing takes them for something else.
async fn private(request: Request, next: Next) -> Response {
    let mut answer = next.run(request).await;
    let headers = answer.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answer
}
