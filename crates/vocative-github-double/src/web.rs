//! The pages and the token endpoint of GitHub's logins.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use crate::page::{choose, escaped, page};
use crate::world::{Consent, DEVICE, Issued, REFRESH, Request, TOKEN, World};
use crate::{App, Shared};

pub(crate) fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/login/device/code", post(device_code))
        .route("/login/device", get(device_page).post(device_answer))
        .route("/login/oauth/authorize", get(authorize_page).post(authorize_answer))
        .route("/login/oauth/access_token", post(access_token))
}

type Form = BTreeMap<String, String>;

fn form(text: &str) -> Form {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

fn scopes(form: &Form) -> Vec<String> {
    let given = form.get("scope").map(String::as_str).unwrap_or_default();
    given.split([' ', ',']).filter(|scope| !scope.is_empty()).map(str::to_owned).collect()
}

/// An answer of the login endpoints: status 200 whatever it says, and a form unless JSON is asked for.
fn answer(headers: &HeaderMap, body: &Value) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if accept.contains("json") {
        return ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response();
    }
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in body.as_object().into_iter().flatten() {
        form.append_pair(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    ([(header::CONTENT_TYPE, "application/x-www-form-urlencoded")], form.finish()).into_response()
}

fn error(code: &str) -> Value {
    json!({
        "error": code,
        "error_description": format!("The double says {code}."),
        "error_uri": "https://docs.github.com/developers/apps/authorizing-oauth-apps",
    })
}

async fn device_code(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    let form = form(&body);
    let mut world = shared.world();
    if form.get("client_id") != Some(&world.app.client_id) {
        return (StatusCode::NOT_FOUND, answer(&headers, &json!({ "error": "Not Found" }))).into_response();
    }
    if !world.app.device_flow {
        return answer(&headers, &error("device_flow_disabled"));
    }
    let (code, device) = world.device(scopes(&form));
    let body = json!({
        "device_code": code,
        "user_code": device.user_code,
        "verification_uri": format!("{}/login/device", shared.base),
        "expires_in": DEVICE,
        "interval": device.interval,
    });
    answer(&headers, &body)
}

async fn access_token(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> Response {
    let form = form(&body);
    let mut world = shared.world();
    let body = grant(&mut world, &form).map_or_else(|refusal| refusal, |issued| token(&issued));
    answer(&headers, &body)
}

fn grant(world: &mut World, form: &Form) -> Result<Issued, Value> {
    let of = |name: &str| form.get(name).map(String::as_str);
    let is_device = of("grant_type") == Some("urn:ietf:params:oauth:grant-type:device_code");
    if of("client_id") != Some(&world.app.client_id)
        || (!is_device && of("client_secret") != Some(&world.app.client_secret))
    {
        return Err(error("incorrect_client_credentials"));
    }
    match of("grant_type") {
        _ if is_device => device_grant(world, of("device_code").unwrap_or_default()),
        Some("refresh_token") => world.refresh(of("refresh_token").unwrap_or_default()).map_err(error),
        None | Some("authorization_code") => {
            let (code, redirect) = (of("code").unwrap_or_default(), of("redirect_uri").unwrap_or_default());
            world.exchange(code, redirect, of("code_verifier")).map_err(error)
        }
        Some(_) => Err(error("unsupported_grant_type")),
    }
}

fn device_grant(world: &mut World, code: &str) -> Result<Issued, Value> {
    let now = world.now();
    let is_enabled = world.app.device_flow;
    let device = world.devices.get_mut(code).ok_or_else(|| error("incorrect_device_code"))?;
    if !is_enabled {
        return Err(error("device_flow_disabled"));
    }
    if device.expires_at <= now {
        return Err(error("expired_token"));
    }
    let is_early = device.asked_at.is_some_and(|asked| now < asked + device.interval);
    device.asked_at = Some(now);
    if let Some(with_interval) = device.slow_down.take().or_else(|| is_early.then_some(true)) {
        device.interval += 5;
        let mut refusal = error("slow_down");
        if with_interval {
            refusal["interval"] = device.interval.into();
        }
        return Err(refusal);
    }
    match device.consent {
        Consent::Pending => Err(error("authorization_pending")),
        Consent::Denied => Err(error("access_denied")),
        Consent::Given(person) => {
            let scopes = device.scopes.clone();
            world.devices.remove(code);
            Ok(world.issue(person, scopes))
        }
    }
}

fn token(issued: &Issued) -> Value {
    let mut body = json!({
        "access_token": issued.token,
        "token_type": "bearer",
        "scope": issued.scopes.join(","),
    });
    if let Some(refresh) = &issued.refresh {
        body["expires_in"] = TOKEN.into();
        body["refresh_token"] = refresh.clone().into();
        body["refresh_token_expires_in"] = REFRESH.into();
    }
    body
}

/// The page on which a person enters the code that a terminal shows.
async fn device_page(State(shared): State<Arc<Shared>>) -> Html<String> {
    let people: Vec<String> = shared.world().people.values().cloned().collect();
    Html(choose("Connect a device", &[], true, &people))
}

async fn device_answer(State(shared): State<Arc<Shared>>, body: String) -> Response {
    let form = form(&body);
    let mut world = shared.world();
    let person = form.get("login").and_then(|login| world.person(login));
    let consent = person.map_or(Consent::Denied, Consent::Given);
    let code = form.get("user_code").map(|code| code.trim()).unwrap_or_default();
    match world.device_of(code) {
        Some(device) => {
            device.consent = consent;
            Html(page("Done", "<p>Go back to your terminal.</p>")).into_response()
        }
        None => (StatusCode::NOT_FOUND, Html(page("No device has this code", ""))).into_response(),
    }
}

/// Reads what the web flow asks for.
pub(crate) struct Authorize;

impl Authorize {
    pub(crate) fn read(query: &str, app: &App) -> Result<Request, String> {
        let form = form(query);
        let of = |name: &str| form.get(name).cloned();
        if form.get("client_id") != Some(&app.client_id) {
            return Err("no app has this client_id".to_owned());
        }
        let redirect = of("redirect_uri").or_else(|| app.callback.clone()).unwrap_or_default();
        let is_registered = match &app.callback {
            Some(callback) => *callback == redirect,
            None => Url::parse(&redirect).is_ok_and(|url| {
                url.host_str().is_some_and(|host| matches!(host, "127.0.0.1" | "localhost" | "[::1]"))
            }),
        };
        if !is_registered {
            return Err("the redirect_uri is not that of the app".to_owned());
        }
        let challenge = of("code_challenge");
        if challenge.is_some() && form.get("code_challenge_method").map(String::as_str) != Some("S256") {
            return Err("the code_challenge_method is not S256".to_owned());
        }
        Ok(Request { redirect, state: of("state"), challenge, scopes: scopes(&form) })
    }
}

/// The address that the browser is sent back to.
pub(crate) fn back(request: &Request, parameters: &[(&str, &str)]) -> String {
    let mut url = Url::parse(&request.redirect).expect("it was checked");
    url.query_pairs_mut().extend_pairs(parameters);
    if let Some(state) = &request.state {
        url.query_pairs_mut().append_pair("state", state);
    }
    url.into()
}

async fn authorize_page(State(shared): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    let world = shared.world();
    match Authorize::read(&query, &world.app) {
        Ok(_) => {
            let people: Vec<String> = world.people.values().cloned().collect();
            Html(choose("Authorize Vocative", &[("request", &query)], false, &people)).into_response()
        }
        Err(why) => (StatusCode::BAD_REQUEST, Html(page("Refused", &escaped(&why)))).into_response(),
    }
}

async fn authorize_answer(State(shared): State<Arc<Shared>>, body: String) -> Response {
    let form = form(&body);
    let mut world = shared.world();
    let query = form.get("request").map(String::as_str).unwrap_or_default();
    let request = match Authorize::read(query, &world.app) {
        Ok(request) => request,
        Err(why) => return (StatusCode::BAD_REQUEST, Html(page("Refused", &escaped(&why)))).into_response(),
    };
    let location = match form.get("login").and_then(|login| world.person(login)) {
        Some(person) => {
            let code = world.consent(&request, person);
            back(&request, &[("code", &code)])
        }
        None => back(&request, &[("error", "access_denied")]),
    };
    (StatusCode::FOUND, [(header::LOCATION, location)]).into_response()
}
