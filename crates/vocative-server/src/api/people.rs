//! Logging in, discovery, and linking keys (section 3).

use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocative::{Id, Key, Login};
use vocative_store::Timestamp;

use super::caller::{Proof, cookie, session_cookie};
use super::{Api, Call, Caller, Open, Params, Problem, Segment};
use crate::listener::Peer;
use crate::people::{self, LoginId, LoginRow, NewLogin, Polled, WEB_LOGIN};
use crate::relay::PublicUrl;

/// Where GitHub sends a browser back to.
const CALLBACK: &str = "/v1/login/web/callback";
/// What a client is called that does not say.
const NAMELESS: &str = "unnamed client";

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(begin_device))
        .routes(routes!(poll_device))
        .routes(routes!(begin_web))
        .routes(routes!(finish_web))
        .routes(routes!(me))
        .routes(routes!(logins, end_logins))
        .routes(routes!(end_login))
        .routes(routes!(participants))
        .routes(routes!(challenge))
        .routes(routes!(keys, link))
        .routes(routes!(unlink))
        .routes(routes!(release))
}

/// What begins a login of a terminal.
#[derive(Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct BeginDevice {
    /// What the client calls itself, as the list of logins shows it.
    #[schema(example = "vocative on ada-laptop")]
    client: Option<String>,
    /// Asks an OAuth app's scope for private repositories too. A GitHub App needs none.
    private_repositories: bool,
}

/// A login that a person is to confirm at GitHub.
#[derive(Serialize, ToSchema)]
struct DeviceLogin {
    /// The secret with which the outcome is collected; for nobody else.
    flow: String,
    /// The code that the person enters.
    user_code: String,
    /// Where.
    verification_uri: String,
    /// The server that asks: what the person is about to log in to.
    server: String,
    /// What GitHub is asked for; nothing beyond the identity if empty.
    scopes: Vec<String>,
    /// Seconds until it is over.
    expires_in: u64,
    /// Seconds between two questions for the outcome.
    interval: u64,
}

/// Begin to log in from a terminal
///
/// The server asks GitHub for the outcome; neither GitHub's device code nor its token leaves it.
#[utoipa::path(
    post, path = "/v1/login/device", tag = "people", request_body = BeginDevice,
    responses(
        (status = 200, body = DeviceLogin),
        (status = 404, body = Problem, description = "`login_not_configured`"),
        (status = 400, body = Problem), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 429, body = Problem, description = "`too_many_logins`"),
        (status = 502, body = Problem, description = "`github_app_refused`"),
        (status = 503, body = Problem, description = "`github_unreachable`"),
    ),
)]
async fn begin_device(
    State(api): State<Arc<Api>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Open(Json(begin)): Open<Json<BeginDevice>>,
) -> Result<Json<DeviceLogin>, Problem> {
    may_begin(&api, &peer)?;
    let client = begin.client.as_deref().unwrap_or(NAMELESS);
    let login = api.people.begin_device(client, begin.private_repositories).await?;
    Ok(Json(DeviceLogin {
        flow: login.flow,
        user_code: login.user_code,
        verification_uri: login.verification_uri,
        server: api.url.http(host(&headers), ""),
        scopes: login.scopes,
        expires_in: login.expires_in,
        interval: login.interval,
    }))
}

fn may_begin(api: &Api, peer: &Peer) -> Result<(), Problem> {
    if api.node.limiter.may_begin_login(peer.address.ip()) {
        return Ok(());
    }
    let says = "too many logins were begun from this address: wait a minute";
    Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_logins", says).with("retry_after", 60))
}

fn host(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST).and_then(|host| host.to_str().ok())
}

/// Asks for the outcome of a login.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PollDevice {
    /// The secret that came with the login.
    flow: String,
}

/// A login that has succeeded.
#[derive(Serialize, ToSchema)]
struct LoggedIn {
    /// The session token, told this once.
    #[schema(example = "voc_…")]
    token: String,
    /// When it ends, in seconds since 1970.
    expires_at: u64,
    /// Which login it is.
    login: String,
    /// Under which identity the person is addressed.
    #[schema(value_type = Option<String>, example = "github:ada")]
    id: Option<Id>,
    /// As GitHub spells it.
    handle: String,
}

impl From<NewLogin> for LoggedIn {
    fn from(login: NewLogin) -> Self {
        Self {
            token: login.token,
            expires_at: login.expires_at,
            login: login.id.as_str().to_owned(),
            id: login.account.addressed(),
            handle: login.account.handle,
        }
    }
}

/// A login that is not confirmed yet.
#[derive(Serialize, ToSchema)]
struct Pending {
    /// Seconds until it is worth asking again.
    interval: u64,
}

/// Ask for the outcome of a login
#[utoipa::path(
    post, path = "/v1/login/device/poll", tag = "people", request_body = PollDevice,
    responses(
        (status = 200, body = LoggedIn),
        (status = 202, body = Pending, description = "not confirmed yet"),
        (status = 400, body = Problem), (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 403, body = Problem, description = "`login_denied`, `login_not_allowed`"),
        (status = 404, body = Problem, description = "`unknown_login`, `login_not_configured`"),
        (status = 409, body = Problem, description = "`login_held`"),
        (status = 410, body = Problem, description = "`login_expired`"),
        (status = 502, body = Problem), (status = 503, body = Problem),
    ),
)]
async fn poll_device(
    State(api): State<Arc<Api>>,
    Open(Json(poll)): Open<Json<PollDevice>>,
) -> Result<Response, Problem> {
    Ok(match api.people.poll_device(&poll.flow).await? {
        Polled::Done(login) => Json(LoggedIn::from(login)).into_response(),
        Polled::Pending { interval } => (StatusCode::ACCEPTED, Json(Pending { interval })).into_response(),
    })
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct BeginWeb {
    /// The path of this server to go on to, `/` by default.
    return_to: Option<String>,
    /// Asks an OAuth app's scope for private repositories too.
    #[serde(default)]
    private_repositories: bool,
}

/// Begin to log in from a browser
///
/// Sends the browser to GitHub, and remembers by a cookie that it was this one.
#[utoipa::path(
    get, path = "/v1/login/web", tag = "people", params(BeginWeb),
    responses(
        (status = 303, description = "to GitHub"),
        (status = 400, body = Problem, description = "`bad_return`"),
        (status = 404, body = Problem, description = "`login_not_configured`"),
        (status = 429, body = Problem, description = "`too_many_logins`"),
        (status = 503, body = Problem),
    ),
)]
async fn begin_web(
    State(api): State<Arc<Api>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Params(begin): Params<BeginWeb>,
) -> Result<Response, Problem> {
    may_begin(&api, &peer)?;
    let redirect = api.url.http(host(&headers), CALLBACK);
    let to = begin.return_to.as_deref().unwrap_or("/");
    let client = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or("browser");
    let login = api.people.begin_web(client, &redirect, to, begin.private_repositories).await?;
    let cookie = set_cookie(&api.url, flow_cookie(&api.url), &login.browser, WEB_LOGIN);
    Ok((StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie)], [(header::LOCATION, login.location)])
        .into_response())
}

#[derive(Deserialize, IntoParams)]
struct FinishWeb {
    /// What GitHub's token is exchanged for; absent when the person said no.
    code: Option<String>,
    /// The state that the login was begun with.
    state: Option<String>,
}

/// End to log in from a browser
///
/// GitHub sends the browser here. Other browsers than the one that began are refused.
#[utoipa::path(
    get, path = "/v1/login/web/callback", tag = "people", params(FinishWeb),
    responses(
        (status = 303, description = "logged in, to where the browser wanted to go"),
        (status = 400, body = Problem, description = "`login_of_another_browser`"),
        (status = 403, body = Problem, description = "`login_denied`, `login_not_allowed`"),
        (status = 404, body = Problem), (status = 409, body = Problem, description = "`login_held`"),
        (status = 410, body = Problem), (status = 502, body = Problem), (status = 503, body = Problem),
    ),
)]
async fn finish_web(
    State(api): State<Arc<Api>>,
    headers: HeaderMap,
    Params(finish): Params<FinishWeb>,
) -> Result<Response, Problem> {
    let browser = cookie(&headers, flow_cookie(&api.url));
    let state = finish.state.as_deref().unwrap_or_default();
    let returned = api.people.finish_web(state, browser, finish.code.as_deref()).await?;
    let lasts = returned.login.expires_at.saturating_sub(api.node.now().as_secs());
    let session = set_cookie(&api.url, session_cookie(&api.url), &returned.login.token, lasts);
    let mut answer = (StatusCode::SEE_OTHER, [(header::LOCATION, returned.to)]).into_response();
    let cookies = answer.headers_mut();
    cookies.append(header::SET_COOKIE, session);
    cookies.append(header::SET_COOKIE, set_cookie(&api.url, flow_cookie(&api.url), "", 0));
    Ok(answer)
}

/// The cookie by which a browser shows that it began a login.
fn flow_cookie(url: &PublicUrl) -> &'static str {
    if url.is_secure() { "__Host-vocative-login" } else { "vocative-login" }
}

/// A cookie that no script reads and no other site's request for a change carries.
fn set_cookie(url: &PublicUrl, name: &str, value: &str, lasts: u64) -> HeaderValue {
    let secure = if url.is_secure() { "; Secure" } else { "" };
    let cookie = format!("{name}={value}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::try_from(cookie).expect("secrets are ASCII")
}

/// The caller's account.
#[derive(Serialize, ToSchema)]
struct Me {
    /// Under which identity it is addressed; nothing after its name was released.
    #[schema(value_type = Option<String>, example = "github:ada")]
    id: Option<Id>,
    /// As GitHub spells it.
    handle: String,
    /// Its number at GitHub, which stays when it is renamed.
    account: u64,
    /// Every identity that counts as its own, the latest last.
    names: Vec<Name>,
    /// The keys that are linked to it.
    #[schema(value_type = Vec<String>)]
    keys: Vec<Key>,
    /// Which login this request is of.
    login: String,
    /// What GitHub has granted, of an OAuth app.
    scopes: Vec<String>,
    /// The GitHub that people log in through.
    github: Option<String>,
}

/// An identity and the time for which it is an account's.
#[derive(Serialize, ToSchema)]
struct Name {
    /// The identity.
    #[schema(value_type = String, example = "github:ada")]
    id: Id,
    /// From when on, in seconds since 1970; always before if absent.
    from: Option<u64>,
    /// Until when, exclusively; still if absent.
    until: Option<u64>,
}

/// Who am I?
#[utoipa::path(
    get, path = "/v1/me", tag = "people", security(("token" = []), ("cookie" = [])),
    responses((status = 200, body = Me), (status = 401, body = Problem), (status = 503, body = Problem)),
)]
async fn me(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<Me>, Problem> {
    let session = caller.session()?;
    let account = api.people.account(session.account).await?.ok_or_else(Problem::not_logged_in)?;
    let name = |name: &people::Holding| Name {
        id: Id::Github(name.login.clone()),
        from: name.from,
        until: name.until,
    };
    Ok(Json(Me {
        id: account.addressed(),
        names: account.names.iter().map(name).collect(),
        account: account.id.get(),
        handle: account.handle,
        keys: account.keys,
        login: session.login.as_str().to_owned(),
        scopes: api.people.granted(session.account).await?,
        github: api.people.github_web().map(str::to_owned),
    }))
}

/// The caller's logins.
#[derive(Serialize, ToSchema)]
struct Logins {
    /// The latest first.
    logins: Vec<LoginItem>,
}

/// A login.
#[derive(Serialize, ToSchema)]
struct LoginItem {
    /// Which; no secret.
    id: String,
    /// What its client called itself.
    client: String,
    /// When it began, in seconds since 1970.
    created_at: u64,
    /// When it ends.
    expires_at: u64,
    /// Whether this request is made with it.
    current: bool,
}

/// List one's logins
#[utoipa::path(
    get, path = "/v1/logins", tag = "people", security(("token" = []), ("cookie" = [])),
    responses((status = 200, body = Logins), (status = 401, body = Problem), (status = 503, body = Problem)),
)]
async fn logins(State(api): State<Arc<Api>>, caller: Caller) -> Result<Json<Logins>, Problem> {
    let session = caller.session()?;
    let item = |row: LoginRow| LoginItem {
        current: row.id == session.login,
        id: row.id.as_str().to_owned(),
        client: row.client,
        created_at: row.created_at,
        expires_at: row.expires_at,
    };
    let rows = api.people.logins(session.account).await?;
    Ok(Json(Logins { logins: rows.into_iter().map(item).collect() }))
}

/// End all of one's logins
#[utoipa::path(
    delete, path = "/v1/logins", tag = "people", security(("token" = []), ("cookie" = [])),
    responses(
        (status = 204), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 503, body = Problem),
    ),
)]
async fn end_logins(State(api): State<Arc<Api>>, caller: Caller) -> Result<StatusCode, Problem> {
    api.people.end_logins(caller.session()?.account, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End one of one's logins
///
/// With the last, GitHub's token is dropped and revoked.
#[utoipa::path(
    delete, path = "/v1/logins/{id}", tag = "people", security(("token" = []), ("cookie" = [])),
    params(("id" = String, Path, description = "Which")),
    responses(
        (status = 204), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 503, body = Problem),
    ),
)]
async fn end_login(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Segment(id): Segment,
) -> Result<StatusCode, Problem> {
    api.people.end_logins(caller.session()?.account, Some(&LoginId::new(id))).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
struct Query {
    /// What the handle begins with or holds; everyone if absent.
    q: Option<String>,
}

/// The people of the community.
#[derive(Serialize, ToSchema)]
struct Participants {
    /// With a query the best first, at most 50; otherwise all, by identity.
    participants: Vec<Participant>,
}

/// An addressable human.
#[derive(Serialize, ToSchema)]
struct Participant {
    /// Who.
    #[schema(value_type = String, example = "github:steffenpl")]
    id: Id,
    /// As GitHub spells it.
    #[schema(example = "SteffenPL")]
    handle: String,
}

/// Find people
///
/// For callers who read the repository that `x-chi-repo` names, one that the deployment serves.
#[utoipa::path(
    get, path = "/v1/participants", tag = "people", security(("token" = []), ("cookie" = [])),
    params(Query, ("x-chi-repo" = String, Header, description = "`owner/name`")),
    responses(
        (status = 200, body = Participants),
        (status = 400, body = Problem, description = "`bad_repository`"),
        (status = 401, body = Problem, description = "`not_logged_in`, `github_login_ended`"),
        (status = 403, body = Problem, description = "`repo_not_readable`"),
        (status = 404, body = Problem, description = "`login_not_configured`"),
        (status = 503, body = Problem, description = "`github_unreachable`"),
    ),
)]
async fn participants(
    State(api): State<Arc<Api>>,
    caller: Caller,
    headers: HeaderMap,
    Params(query): Params<Query>,
) -> Result<Json<Participants>, Problem> {
    let session = caller.session()?;
    let mut named = headers.get_all("x-chi-repo").iter();
    let (Some(repository), None) = (named.next(), named.next()) else {
        return Err(people::PeopleError::BadRepository.into());
    };
    let repository = repository.to_str().map_err(|_| people::PeopleError::BadRepository)?.parse()?;
    let found = api.people.participants(session, &repository, query.q.as_deref()).await?;
    let row = |row: people::Participant| Participant { id: row.id, handle: row.handle };
    Ok(Json(Participants { participants: found.into_iter().map(row).collect() }))
}

/// What a key has to sign.
#[derive(Serialize, ToSchema)]
struct Challenge {
    /// The account that it is for.
    #[schema(value_type = String, example = "github:ada")]
    account: Id,
    /// Good for once.
    nonce: String,
    /// Seconds for which it is good.
    expires_in: u64,
}

/// Ask for a challenge to link a key
#[utoipa::path(
    post, path = "/v1/keys/challenge", tag = "people", security(("token" = []), ("cookie" = [])),
    responses(
        (status = 200, body = Challenge), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 413, body = Problem), (status = 503, body = Problem),
    ),
)]
async fn challenge(State(api): State<Arc<Api>>, call: Call<()>) -> Result<Json<Challenge>, Problem> {
    let challenge = api.people.challenge(call.caller.session()?).await?;
    let people::Challenge { account, nonce, expires_in } = challenge;
    Ok(Json(Challenge { account, nonce, expires_in }))
}

/// Links the key that signs the request.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Link {
    /// The account that the key is to belong to, as the challenge names it.
    #[schema(value_type = String, example = "github:ada")]
    account: Id,
    /// The nonce of the challenge.
    nonce: String,
}

/// Link a key to an account
///
/// The key signs this request (NIP-98), whose `payload` covers the account and the nonce.
#[utoipa::path(
    post, path = "/v1/keys", tag = "people", security(("nostr" = [])), request_body = Link,
    responses(
        (status = 204), (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem, description = "`bad_challenge`"),
        (status = 409, body = Problem, description = "`key_taken`, `replayed`"),
        (status = 413, body = Problem), (status = 415, body = Problem), (status = 503, body = Problem),
    ),
)]
async fn link(State(api): State<Arc<Api>>, call: Call<Json<Link>>) -> Result<StatusCode, Problem> {
    let Call { caller, body: Json(link) } = call;
    let (Proof::Signed { event, covers_body: true }, [key]) = (&caller.proof, caller.keys.as_slice()) else {
        let says = "a key is linked by a request that it signs (NIP-98), with a `payload` tag";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "bad_authorization", says));
    };
    api.people.link(*key, *event, &link.account, &link.nonce).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The keys that are linked to the caller's account.
#[derive(Serialize, ToSchema)]
struct Keys {
    /// 64 hex digits each.
    #[schema(value_type = Vec<String>)]
    keys: Vec<Key>,
}

/// List one's keys
#[utoipa::path(
    get, path = "/v1/keys", tag = "people", security(("token" = []), ("cookie" = [])),
    responses((status = 200, body = Keys), (status = 401, body = Problem), (status = 503, body = Problem)),
)]
async fn keys(caller: Caller) -> Result<Json<Keys>, Problem> {
    caller.session()?;
    Ok(Json(Keys { keys: caller.keys }))
}

/// Unlink a key
#[utoipa::path(
    delete, path = "/v1/keys/{key}", tag = "people", security(("token" = []), ("cookie" = [])),
    params(("key" = String, Path, description = "64 hex digits")),
    responses(
        (status = 204), (status = 401, body = Problem), (status = 403, body = Problem),
        (status = 404, body = Problem), (status = 503, body = Problem),
    ),
)]
async fn unlink(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Segment(key): Segment,
) -> Result<StatusCode, Problem> {
    let account = caller.session()?.account;
    let key = key.parse().map_err(|_| people::PeopleError::NotFound)?;
    api.people.unlink(account, key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lets go of a name.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Release {
    /// The identity whose holder is to lose it.
    #[schema(value_type = String, example = "github:ada")]
    id: Id,
    /// From when on, in seconds since 1970. References before stay the holder's.
    from: u64,
}

/// Release a held name
///
/// For the community's owner, whose key signs the request: after this another account that has the name
/// at GitHub may log in under it.
#[utoipa::path(
    post, path = "/v1/names/release", tag = "people", security(("nostr" = [])), request_body = Release,
    responses(
        (status = 204), (status = 400, body = Problem), (status = 401, body = Problem),
        (status = 403, body = Problem, description = "`not_owner`"),
        (status = 404, body = Problem, description = "`login_not_held`"),
        (status = 413, body = Problem), (status = 415, body = Problem),
        (status = 422, body = Problem, description = "`bad_instant`"), (status = 503, body = Problem),
    ),
)]
async fn release(State(api): State<Arc<Api>>, call: Call<Json<Release>>) -> Result<StatusCode, Problem> {
    let Call { caller, body: Json(release) } = call;
    caller.is_owner(&api)?;
    let login: Login = match release.id {
        Id::Github(login) => login,
        Id::Nostr(_) => return Err(people::PeopleError::NotHeld.into()),
    };
    api.people.release(&login, Timestamp::from_secs(release.from)).await?;
    Ok(StatusCode::NO_CONTENT)
}
