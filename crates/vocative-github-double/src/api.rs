//! The part of GitHub's API that Vocative asks.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{Json, Router};
use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::control::{Repository, Rule};
use crate::world::{Token, World};
use crate::{AppKind, Double, Shared};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/user", get(user))
        .route("/user/memberships/orgs/{organization}", get(membership))
        .route("/orgs/{organization}/public_members/{login}", get(public_member))
        .route("/repos/{owner}/{name}", get(repository))
        .route("/repositories/{id}", get(repository_by_id))
        .route("/applications/{client}/token", delete(revoke))
}

fn refuse(status: StatusCode, message: &str) -> Response {
    (status, Json(json!({ "message": message, "documentation_url": "https://docs.github.com/rest" })))
        .into_response()
}

fn not_found() -> Response {
    refuse(StatusCode::NOT_FOUND, "Not Found")
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok())
}

/// An answer to whoever has a token, with what GitHub says about the token.
fn with_token(
    shared: &Shared,
    headers: &HeaderMap,
    answer: impl FnOnce(&World, &Token) -> Response,
) -> Response {
    let world = shared.world();
    let Some(token) = world.bearer(authorization(headers)) else {
        return refuse(StatusCode::UNAUTHORIZED, "Bad credentials");
    };
    let mut answer = answer(&world, &token);
    let scopes = token.scopes.join(", ");
    if world.app.kind == AppKind::OAuth {
        answer.headers_mut().insert("x-oauth-scopes", scopes.parse().expect("scopes are ASCII"));
    }
    answer.headers_mut().insert("x-ratelimit-remaining", "4999".parse().expect("ASCII"));
    answer
}

async fn user(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    with_token(&shared, &headers, |world, token| {
        let login = &world.people[&token.person];
        Json(json!({ "id": token.person, "login": login, "type": "User", "name": login })).into_response()
    })
}

async fn membership(
    State(shared): State<Arc<Shared>>,
    Path(organization): Path<String>,
    headers: HeaderMap,
) -> Response {
    with_token(&shared, &headers, |world, token| {
        let may_ask = world.app.kind == AppKind::App || token.scopes.iter().any(|scope| scope == "read:org");
        if !may_ask {
            return refuse(StatusCode::FORBIDDEN, "You need at least read:org scope");
        }
        let members = world.organizations.get(&organization.to_ascii_lowercase());
        match members.is_some_and(|members| members.contains_key(&token.person)) {
            true => {
                Json(json!({ "state": "active", "organization": { "login": organization } })).into_response()
            }
            false => not_found(),
        }
    })
}

async fn public_member(
    State(shared): State<Arc<Shared>>,
    Path((organization, login)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    with_token(&shared, &headers, |world, _| {
        let members = world.organizations.get(&organization.to_ascii_lowercase());
        let person = world.person(&login);
        let is_public = members.zip(person).and_then(|(members, person)| members.get(&person));
        match is_public {
            Some(true) => StatusCode::NO_CONTENT.into_response(),
            _ => not_found(),
        }
    })
}

async fn repository(
    State(shared): State<Arc<Shared>>,
    Path((owner, name)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    let full = format!("{owner}/{name}");
    with_token(&shared, &headers, |world, token| {
        if let Some(to) = world.redirects.get(&format!("/repos/{full}")) {
            return moved(to);
        }
        match (world.repository(&full), world.moved.get(&full.to_ascii_lowercase())) {
            (Some(repository), _) => shown(world, token, repository),
            (None, Some(id)) if world.reads(token, &world.repositories[id]) => {
                moved(&format!("{}{}/repositories/{id}", shared.base, Double::API))
            }
            _ => not_found(),
        }
    })
}

fn moved(to: &str) -> Response {
    let body = json!({ "message": "Moved Permanently", "url": to });
    (StatusCode::MOVED_PERMANENTLY, [(header::LOCATION, to.to_owned())], Json(body)).into_response()
}

async fn repository_by_id(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<u64>,
    headers: HeaderMap,
) -> Response {
    with_token(&shared, &headers, |world, token| match world.repositories.get(&id) {
        Some(repository) => shown(world, token, repository),
        None => not_found(),
    })
}

fn shown(world: &World, token: &Token, repository: &Repository) -> Response {
    match repository.rule {
        _ if !world.reads(token, repository) => not_found(),
        Some(Rule::SingleSignOn) => {
            let mut answer =
                refuse(StatusCode::FORBIDDEN, "Resource protected by organization SAML enforcement.");
            answer.headers_mut().insert("x-github-sso", "required; url=https://sso".parse().expect("ASCII"));
            answer
        }
        Some(Rule::AppNotAllowed) => refuse(
            StatusCode::FORBIDDEN,
            "Although you appear to have the correct authorization credentials, \
                the organization has enabled OAuth App access restrictions.",
        ),
        None => {
            let (owner, name) = repository.name.split_once('/').unwrap_or_default();
            Json(json!({
                "id": repository.id,
                "name": name,
                "full_name": repository.name,
                "private": repository.is_private,
                "owner": { "login": owner },
                "permissions": { "pull": true },
            }))
            .into_response()
        }
    }
}

/// Ends a token; asked by the app itself.
async fn revoke(
    State(shared): State<Arc<Shared>>,
    Path(client): Path<String>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let mut world = shared.world();
    let expected = format!("{}:{}", world.app.client_id, world.app.client_secret);
    let expected = format!("Basic {}", BASE64.encode(expected.as_bytes()));
    if client != world.app.client_id || authorization(&headers) != Some(&expected) {
        return refuse(StatusCode::UNAUTHORIZED, "Bad credentials");
    }
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    match body["access_token"].as_str().is_some_and(|token| world.revoke(token)) {
        true => StatusCode::NO_CONTENT.into_response(),
        false => not_found(),
    }
}
