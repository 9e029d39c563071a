//! Making the mention index again, as the community's owner may ask for (section 5).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocative_store::rebuild_left;

use super::{Api, Caller, Problem};

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(begin, progress))
}

/// How far a rebuild of the index is.
#[derive(Serialize, ToSchema)]
struct Progress {
    /// Parts that are still to be done; 0 when nothing is going on.
    left: usize,
}

/// Begin to make the mention index again
///
/// For the community's owner, whose key signs the request. Every node takes part. What an interrupted run
/// has left is gone on with. Answers to readers are right before, after and meanwhile.
#[utoipa::path(
    post, path = "/v1/index/rebuild", tag = "operations",
    responses(
        (status = 202, body = Progress),
        (status = 401, body = Problem, description = "`not_logged_in`, `bad_authorization`"),
        (status = 403, body = Problem, description = "`not_owner`"),
        (status = 503, body = Problem),
    ),
    security(("nostr" = [])),
)]
async fn begin(State(api): State<Arc<Api>>, caller: Caller) -> Result<(StatusCode, Json<Progress>), Problem> {
    caller.is_owner(&api)?;
    let left = api.rebuilding.begin(&*api.node.store).await?;
    Ok((StatusCode::ACCEPTED, Json(Progress { left })))
}

/// How far it is
#[utoipa::path(
    get, path = "/v1/index/rebuild", tag = "operations",
    responses(
        (status = 200, body = Progress),
        (status = 401, body = Problem, description = "`not_logged_in`, `bad_authorization`"),
        (status = 403, body = Problem, description = "`not_owner`"),
        (status = 503, body = Problem),
    ),
    security(("nostr" = [])),
)]
async fn progress(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<Progress>, Problem> {
    caller.is_owner(&api)?;
    Ok(Json(Progress { left: rebuild_left(&*api.node.store).await? }))
}
