//! One inbox over messages and sessions (section 5).

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use data_encoding::BASE64URL_NOPAD;
use futures_util::stream::{self, Stream, StreamExt};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocative_store::{InboxCursor, InboxRow, Millis, Source};

use super::{Api, Caller, Params, Problem};
use crate::inbox::{self, Asked, Owner};

/// Rows of a page that does not say how many.
const ROWS: usize = 50;
/// How long a stream waits after something happened, so that much at once is one answer.
const SETTLE: Duration = Duration::from_millis(250);
/// How often a stream looks by itself: a push of references wakes nobody, and logins end.
const LOOK: Duration = Duration::from_secs(5);

pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new().routes(routes!(page)).routes(routes!(live))
}

/// Which rows are asked for.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// Not before: seconds since 1970, or a time such as 2026-11-30T17:00:00Z.
    since: Option<String>,
    /// Before, exclusive.
    until: Option<String>,
    /// At most so many rows, 1 to 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Where the page begins: `next` of the page before it.
    cursor: Option<String>,
    /// Only rows by this person: a public key, or `github:login`.
    from: Option<String>,
    /// Of what: `message`, `session` or `all`.
    #[param(inline)]
    source: Option<Sources>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Sources {
    Message,
    Session,
    All,
}

/// That someone named the caller. It carries no text: `item` is where to read it.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
struct Row {
    /// `message` or `session`.
    source: &'static str,
    /// When, as its author says.
    #[schema(format = DateTime)]
    at: String,
    /// Under which key or login the caller was named.
    recipient: String,
    /// Who did: a key in hex, or `github:login`.
    actor: String,
    /// `mention`, `added-by-edit`, `agent-address` or `session`.
    why: &'static str,
    /// An edit has taken the name out since.
    retracted: bool,
    /// What named the caller was deleted since.
    deleted: bool,
    /// Publishers say different things.
    disputed: bool,
    /// Where to read it: a path of this server.
    item: String,
    /// The message.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<String>,
    /// What named the caller: the message, or an edit of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_event: Option<String>,
    /// The channel of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    /// The session of the entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<String>,
}

/// A page of an inbox, the newest first.
#[derive(Serialize, ToSchema)]
struct Page {
    rows: Vec<Row>,
    /// Where the next page begins; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl From<&InboxRow> for Row {
    fn from(row: &InboxRow) -> Self {
        match row {
            InboxRow::Message(row) => Self {
                source: "message",
                at: inbox::shown(i128::from(row.at.as_secs()) * 1000),
                recipient: row.recipient.to_string(),
                actor: row.actor.to_string(),
                why: row.why.as_str(),
                retracted: row.retracted,
                deleted: row.deleted,
                disputed: false,
                item: format!("/v1/messages/{}", row.item),
                event: Some(row.item.to_string()),
                by_event: Some(row.by_event.to_string()),
                channel: row.channel.as_ref().map(ToString::to_string),
                session: None,
                entry: None,
            },
            InboxRow::Session(row) => Self {
                source: "session",
                at: inbox::shown(i128::from(row.at.get())),
                recipient: row.recipient.to_string(),
                actor: row.actor.to_string(),
                why: "session",
                retracted: false,
                deleted: false,
                disputed: row.disputed,
                item: format!("/v1/sessions/{}/{}/entries/{}", row.actor, row.session, row.entry),
                event: None,
                by_event: None,
                channel: None,
                session: Some(row.session.to_string()),
                entry: Some(row.entry.to_string()),
            },
        }
    }
}

impl Query {
    fn asked(&self) -> Result<Asked, Problem> {
        let time = |name: &str, text: &Option<String>| -> Result<Option<Millis>, Problem> {
            let Some(text) = text else { return Ok(None) };
            let says = || {
                let says = format!("`{name}` is seconds since 1970, or a time such as 2026-11-30T17:00:00Z");
                Problem::bad_request(says)
            };
            inbox::instant(text).map(Some).ok_or_else(says)
        };
        let limit = self.limit.unwrap_or(ROWS);
        if !(1..=1000).contains(&limit) {
            return Err(Problem::bad_request("`limit` is 1 to 1000"));
        }
        let cursor = |text: &String| {
            let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
            String::from_utf8(bytes).ok()?.parse::<InboxCursor>().ok()
        };
        let bad_cursor = || Problem::bad_request("`cursor` is not one that this server gave out");
        let from = |text: &String| {
            inbox::person(text).ok_or_else(|| Problem::bad_request("`from` is a public key, or github:login"))
        };
        Ok(Asked {
            since: time("since", &self.since)?,
            until: time("until", &self.until)?,
            from: self.from.as_ref().map(from).transpose()?,
            after: self.cursor.as_ref().map(|text| cursor(text).ok_or_else(bad_cursor)).transpose()?,
            source: match self.source {
                Some(Sources::Message) => Source::Message,
                Some(Sources::Session) => Source::Session,
                Some(Sources::All) | None => Source::All,
            },
            limit,
        })
    }
}

/// Where the caller was named
///
/// In messages and in sessions, newest first, one row for each message or entry. Quotes, reference-only
/// tags, what a reply is addressed with, and the caller's own words make none.
#[utoipa::path(
    get, path = "/v1/inbox", tag = "inbox", params(Query),
    responses(
        (status = 200, body = Page),
        (status = 400, body = Problem, description = "bad_request"),
        (status = 401, body = Problem, description = "not_logged_in, bad_authorization"),
        (status = 503, body = Problem),
    ),
    security(("token" = []), ("cookie" = []), ("nostr" = [])),
)]
async fn page(
    State(api): State<Arc<Api>>,
    caller: Caller,
    Params(query): Params<Query>,
) -> Result<Json<Page>, Problem> {
    let asked = query.asked()?;
    let owner = Owner::of(&api, &caller).await?;
    let page = inbox::page(&*api.node.store, &owner, &asked).await?;
    let next = page.next.map(|cursor| BASE64URL_NOPAD.encode(cursor.to_string().as_bytes()));
    Ok(Json(Page { rows: page.rows.iter().map(Row::from).collect(), next }))
}

/// What changes in the caller's inbox, as it happens
///
/// Server-sent events, each called `row` with a row as its data: one that is new, or one of the newest fifty
/// that changed. It begins with the newest fifty.
#[utoipa::path(
    get, path = "/v1/inbox/live", tag = "inbox",
    responses(
        (status = 200, description = "events", content_type = "text/event-stream", body = String),
        (status = 401, body = Problem, description = "not_logged_in, bad_authorization"),
    ),
    security(("token" = []), ("cookie" = []), ("nostr" = [])),
)]
async fn live(
    State(api): State<Arc<Api>>,
    caller: Caller,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    // Whoever has no inbox is told so, and not by a stream that ends.
    Owner::of(&api, &caller).await?;
    let stopped = Arc::clone(&api.node);
    let watch =
        Watch { delivered: api.node.watch_delivered(), api, caller, seen: HashMap::new(), is_begun: false };
    let rows = stream::unfold(watch, Watch::next).flat_map(stream::iter);
    let events = rows.map(|row| Ok(Event::default().event("row").json_data(row).unwrap_or_default()));
    let events = events.take_until(async move { stopped.stopped().await });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// What one stream has shown.
struct Watch {
    api: Arc<Api>,
    caller: Caller,
    delivered: tokio::sync::watch::Receiver<u64>,
    /// The rows that were shown last, by their item.
    seen: HashMap<String, Row>,
    is_begun: bool,
}

impl Watch {
    /// The rows that are to be shown next, once there is something to look for; nothing when the caller is
    /// nobody any more, or the store fails.
    async fn next(mut self) -> Option<(Vec<Row>, Self)> {
        if self.is_begun {
            tokio::select! {
                changed = self.delivered.changed() => {
                    changed.ok()?;
                    tokio::time::sleep(SETTLE).await;
                }
                () = tokio::time::sleep(LOOK) => {}
            }
            self.caller.is_still_known(&self.api).await.ok().filter(|is_known| *is_known)?;
        }
        self.is_begun = true;
        self.delivered.borrow_and_update();
        let owner = Owner::of(&self.api, &self.caller).await.ok()?;
        let newest = Asked { limit: ROWS, ..Asked::default() };
        let page = inbox::page(&*self.api.node.store, &owner, &newest).await.ok()?;
        let rows: Vec<Row> = page.rows.iter().map(Row::from).collect();
        let seen = rows.iter().map(|row| (row.item.clone(), row.clone())).collect();
        let before = std::mem::replace(&mut self.seen, seen);
        let mut news: Vec<Row> = rows.into_iter().filter(|row| before.get(&row.item) != Some(row)).collect();
        news.reverse();
        Some((news, self))
    }
}
