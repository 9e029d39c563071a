//! Session references, and sessions that are shared (section 4).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocative_pi::{Branch, EntryId, FetchedEntry, Page, SessionId};

use super::{Api, Call, Caller, Params, Problem, Raw, Segment, Segments};
use crate::inbox;
use crate::people::{Account, AccountId, RepositoryName};
use crate::sessions::objects::Unreachable;
use crate::sessions::references::{self, NotTaken};
use crate::sessions::shared::{Around, Grant, MOST_BYTES, MOST_ENTRIES, NotRead, NotShared, view};

/// The paths of this module.
pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(push)).routes(routes!(share)).routes(routes!(entry))
}

/// What became of the references of an artifact.
#[derive(Serialize, ToSchema)]
struct Pushed {
    /// References that are new.
    added: usize,
    /// References that the caller has pushed before.
    unchanged: usize,
    /// References whose actor is somebody else; they are not kept.
    ignored: usize,
}

/// Takes the references of a reduced artifact.
///
/// The body is the artifact, byte for byte. References whose actor is not the caller are ignored. Pushing
/// the same again changes nothing. A pushed reference grants nobody a read.
#[utoipa::path(
    post,
    path = "/v1/references",
    tag = "sessions",
    request_body(content = Vec<u8>, content_type = "application/x-ndjson", description = "a reduced artifact"),
    responses(
        (status = 200, body = Pushed),
        (status = 401, body = Problem, description = "not_logged_in, bad_authorization"),
        (status = 409, body = Problem, description = "conflict: the caller has pushed something else of the same message"),
        (status = 413, body = Problem, description = "too_large"),
        (status = 422, body = Problem, description = "invalid_artifact, unknown_recipient, later_than_now"),
        (status = 503, body = Problem),
    ),
    security(("token" = []), ("cookie" = [])),
)]
async fn push(
    State(api): State<Arc<Api>>,
    Call { caller, body: Raw(bytes) }: Call<Raw<{ references::MOST_BYTES }>>,
) -> Result<Json<Pushed>, Problem> {
    let publisher = caller.account(&api).await?;
    let is_trusted = api.node.settings.trusts(&publisher);
    let now = api.node.now();
    let taken = references::take(&api.sessions, &api.people, &publisher, is_trusted, bytes, now).await?;
    Ok(Json(Pushed { added: taken.added, unchanged: taken.unchanged, ignored: taken.ignored }))
}

impl From<NotTaken> for Problem {
    fn from(why: NotTaken) -> Self {
        let message = why.to_string();
        let unprocessable =
            |code, message: String| Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message);
        match why {
            NotTaken::Invalid(problem) => unprocessable("invalid_artifact", problem.to_string())
                .with("problem", problem.code.as_str())
                .with("line", problem.line)
                .with("entry", &problem.entry),
            NotTaken::NoArtifact => unprocessable("invalid_artifact", message),
            NotTaken::Later { session, entry } => unprocessable("later_than_now", message)
                .with("source", json!({ "sessionId": session, "entryId": entry })),
            NotTaken::UnknownRecipients(logins) => {
                let ids: Vec<_> = logins.iter().map(|login| format!("github:{login}")).collect();
                unprocessable("unknown_recipient", message).with("recipients", ids)
            }
            NotTaken::Conflict(both) => {
                let shown = both.each_ref().map(|one| {
                    json!({
                        "source": { "sessionId": one.session.as_str(), "entryId": one.entry.as_str() },
                        "recipientId": one.recipient.as_str(),
                        "actorId": one.actor.as_str(),
                        "timestamp": inbox::shown(i128::from(one.at.get())),
                    })
                });
                Self::new(StatusCode::CONFLICT, "conflict", message).with("references", shown)
            }
            NotTaken::Store(error) => error.into(),
            NotTaken::People(error) => error.into(),
        }
    }
}

/// A session that is shared.
#[derive(Serialize, ToSchema)]
struct SharedSession {
    /// Whose it is: what stands in its address.
    account: String,
    /// The session.
    session: String,
    /// How many bytes of it are shared.
    bytes: u64,
    /// Whether these were shared already.
    unchanged: bool,
}

/// Shares a session, or what it has grown to.
///
/// The body is the session file, which must pass the strict check. Only who shared it first replaces it,
/// with bytes that begin with the shared ones. Whoever a marker inside it names may read that message, what
/// led to it and what followed; with `x-chi-repo`, everyone who can read that repository may read all.
#[utoipa::path(
    put,
    path = "/v1/sessions/{session}",
    tag = "sessions",
    params(
        ("session" = String, Path, description = "the id in its header"),
        ("x-chi-repo" = Option<String>, Header, description = "owner/name: whose readers may read it"),
    ),
    request_body(content = Vec<u8>, content_type = "application/x-ndjson", description = "a session file"),
    responses(
        (status = 200, body = SharedSession),
        (status = 401, body = Problem, description = "not_logged_in, bad_authorization"),
        (status = 403, body = Problem, description = "repo_not_readable, repo_not_served"),
        (status = 409, body = Problem, description = "no_continuation, busy"),
        (status = 413, body = Problem, description = "too_large"),
        (status = 422, body = Problem, description = "invalid_session, other_session, not_a_session"),
        (status = 503, body = Problem),
    ),
    security(("token" = []), ("cookie" = [])),
)]
async fn share(
    State(api): State<Arc<Api>>,
    Segment(session): Segment,
    headers: HeaderMap,
    Call { caller, body: Raw(bytes) }: Call<Raw<MOST_BYTES>>,
) -> Result<Json<SharedSession>, Problem> {
    let account = caller.account(&api).await?;
    let id = SessionId::from_evidence(&session).ok_or_else(|| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "other_session", "the path holds no id of a session")
    })?;
    let length = bytes.len() as u64;
    let repository = match headers.get("x-chi-repo") {
        None => None,
        Some(header) => {
            let name: RepositoryName = header.to_str().unwrap_or_default().parse()?;
            // Only a repository that the sharer reads, and that is served here, says anything of its readers.
            api.people.reads(account.id, &name).await?;
            Some(format!("{}/{}", name.owner(), name.name()))
        }
    };
    let name = references::key(&account);
    let now = api.node.now();
    let (opened, is_new) = api.sessions.share(&name, &id, bytes, repository, now).await?;
    // Also when nothing is new: whoever shared it before may have been cut off here.
    references::settle(api.sessions.store(), &account, &opened).await?;
    Ok(Json(SharedSession { account: name, session, bytes: length, unchanged: !is_new }))
}

impl From<NotShared> for Problem {
    fn from(why: NotShared) -> Self {
        let message = why.to_string();
        let (status, code) = match why {
            NotShared::Invalid(problem) => {
                return Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_session", message)
                    .with("problem", problem.code.as_str())
                    .with("line", problem.line)
                    .with("entry", &problem.entry);
            }
            NotShared::OtherSession(_) => (StatusCode::UNPROCESSABLE_ENTITY, "other_session"),
            NotShared::Artifact => (StatusCode::UNPROCESSABLE_ENTITY, "not_a_session"),
            NotShared::NoContinuation => (StatusCode::CONFLICT, "no_continuation"),
            NotShared::Busy => (StatusCode::CONFLICT, "busy"),
            NotShared::Store(error) => return error.into(),
            NotShared::Objects(error) => return objects_failed(&error),
        };
        Self::new(status, code, message)
    }
}

fn objects_failed(error: &Unreachable) -> Problem {
    tracing::error!(%error, "the object store failed a request");
    let says = "the object store does not answer; try again";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "objects_unavailable", says)
}

impl From<NotRead> for Problem {
    fn from(why: NotRead) -> Self {
        match why {
            NotRead::Store(error) => error.into(),
            NotRead::Objects(error) => objects_failed(&error),
            NotRead::Damaged => {
                tracing::error!("a shared session is damaged");
                let says = "the session is damaged; share it again";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "damaged", says)
            }
        }
    }
}

/// Which entries around one are asked for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Pages {
    /// How many entries above it, the nearest first; at most 50.
    #[serde(default)]
    #[param(maximum = 50)]
    before: usize,
    /// How many entries that answer it; at most 50.
    #[serde(default)]
    #[param(maximum = 50)]
    after: usize,
    /// Where the page above begins: `next` of an earlier one.
    before_from: Option<String>,
    /// Where the page below begins.
    after_from: Option<String>,
}

/// An entry of a session. Its text is untrusted: it is shown, and never obeyed.
#[derive(Serialize, ToSchema)]
struct EntryView {
    id: String,
    parent: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    role: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    at: vocative_pi::Timestamp,
    /// `current` or `abandoned`.
    branch: &'static str,
    untrusted_text: Option<String>,
    /// The line of the file.
    raw: String,
}

/// A page of entries.
#[derive(Serialize, ToSchema)]
struct EntryPage {
    entries: Vec<EntryView>,
    /// Where the next page begins; absent on the last.
    next: Option<String>,
}

/// Whom an entry names, by a marker of its session.
#[derive(Serialize, ToSchema)]
struct MarkerView {
    id: String,
    line: u64,
    actor: String,
    recipients: Vec<String>,
}

/// An entry with what stands around it.
#[derive(Serialize, ToSchema)]
struct EntryAround {
    account: String,
    session: String,
    entry: EntryView,
    markers: Vec<MarkerView>,
    before: EntryPage,
    after: EntryPage,
}

impl From<FetchedEntry> for EntryView {
    fn from(entry: FetchedEntry) -> Self {
        let FetchedEntry { id, parent, kind, role, at, branch, text, raw } = entry;
        let branch = match branch {
            Branch::Current => "current",
            Branch::Abandoned => "abandoned",
        };
        Self { id, parent, kind, role, at, branch, untrusted_text: text, raw }
    }
}

impl From<Page> for EntryPage {
    fn from(page: Page) -> Self {
        Self { entries: page.entries.into_iter().map(EntryView::from).collect(), next: page.next }
    }
}

/// Shows an entry of a shared session.
///
/// For who shared it; for accounts that a marker inside it names, the message, its ancestors and its
/// descendants; and for readers of the repository that the sharer named. For everyone else it is not there.
#[utoipa::path(
    get,
    path = "/v1/sessions/{account}/{session}/entries/{entry}",
    tag = "sessions",
    params(
        ("account" = String, Path, description = "the sharer: the number of the account, or github:login"),
        ("session" = String, Path, description = "the session"),
        ("entry" = String, Path, description = "the entry"),
        Pages,
    ),
    responses(
        (status = 200, body = EntryAround),
        (status = 400, body = Problem, description = "bad_request"),
        (status = 401, body = Problem, description = "not_logged_in, bad_authorization"),
        (status = 404, body = Problem, description = "not_found: there is no such entry, or it is not for the caller"),
        (status = 503, body = Problem),
    ),
    security(("token" = []), ("cookie" = []), ("nostr" = [])),
)]
async fn entry(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Segments([account, session, entry]): Segments<3>,
    Params(pages): Params<Pages>,
) -> Result<Json<EntryAround>, Problem> {
    if pages.before > MOST_ENTRIES || pages.after > MOST_ENTRIES {
        return Err(Problem::bad_request(format!("at most {MOST_ENTRIES} entries on a page")));
    }
    let reader = caller.account(&api).await?;
    let ids = (SessionId::from_evidence(&session), EntryId::from_evidence(&entry));
    let (Some(id), Some(entry)) = ids else { return Err(Problem::not_found()) };
    let sharer = sharer(&api, &account).await?.ok_or_else(Problem::not_found)?;
    let found = api.sessions.find(&sharer.to_string(), &id).await?;
    let (shared, opened) = found.ok_or_else(Problem::not_found)?;
    let opened = (*opened).as_ref();
    let is_for_all = sharer == reader.id || reads(&api, &reader, shared.repository.as_deref()).await;
    let grant = if is_for_all { Grant::All } else { Grant::of(opened, &reader.names) };
    let around = Around {
        before: pages.before,
        after: pages.after,
        before_from: pages.before_from.as_deref(),
        after_from: pages.after_from.as_deref(),
    };
    let read = view(opened, &grant, &entry, &around).map_err(|_| NotRead::Damaged)?;
    let shown = read.ok_or_else(Problem::not_found)?;
    let github = |person: &vocative_pi::Person| format!("github:{}", person.login);
    let markers = shown.markers.iter().map(|item| MarkerView {
        id: item.id.to_string(),
        line: item.line,
        actor: github(&item.marker.actor),
        recipients: item.marker.recipients.iter().map(github).collect(),
    });
    Ok(Json(EntryAround {
        account: sharer.to_string(),
        session,
        markers: markers.collect(),
        entry: shown.entry.into(),
        before: shown.before.into(),
        after: shown.after.into(),
    }))
}

/// Whose session it is, by the number of the account or by a login that is or was its own.
async fn sharer(api: &Api, named: &str) -> Result<Option<AccountId>, Problem> {
    let Some(login) = named.strip_prefix("github:") else {
        return Ok(named.parse().ok().map(AccountId::new));
    };
    match login.parse() {
        Ok(login) => Ok(api.people.account_of(&login, api.node.now()).await?),
        Err(_) => Ok(None),
    }
}

/// Whether someone reads the repository whose readers the sharer let in. What is not certain is a no.
async fn reads(api: &Api, reader: &Account, repository: Option<&str>) -> bool {
    match repository.and_then(|name| name.parse::<RepositoryName>().ok()) {
        Some(name) => api.people.reads(reader.id, &name).await.is_ok(),
        None => false,
    }
}
