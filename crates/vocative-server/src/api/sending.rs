//! `/v1/messages`: composing, publishing, reading (section 2).

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use vocative::label::trim;
use vocative::{Ambiguous, Code, Key, Span, Tag, Utf16Map, form, limits};
use vocative_store::{Event, EventId};

use super::{Api, Call, Caller, Params, Problem, Segment};
use crate::relay::protocol::{self, Accepted, Reason, Refused};
use crate::relay::{NO_CHANNEL, NOT_YOURS};
use crate::sending::{
    self, CannotSend, Composed, Form, Message, Named, Naming, Occurrence, Sending, Told, Version, What,
};

/// The most versions of a message that are answered at once.
const VERSIONS: usize = 50;

/// The paths of this module.
pub(super) fn routes() -> OpenApiRouter<Arc<Api>> {
    OpenApiRouter::new()
        .routes(routes!(compose))
        .routes(routes!(publish))
        .routes(routes!(read))
        .routes(routes!(history))
}

/// What is to be composed.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// A message in `channel`.
    #[default]
    Message,
    /// A forum post in `channel`.
    Post,
    /// A comment in `channel`, on the post or comment `reply_to`.
    Comment,
    /// A new text of `message`.
    Edit,
    /// The message `message`, as it reads now, to `channel`.
    Forward,
}

/// A message that is about to be sent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToCompose {
    #[serde(default)]
    action: Action,
    /// Who will sign it, as npub or 64 hex digits. Absent: the caller's only key.
    author: Option<String>,
    /// The channel; of everything but an edit.
    channel: Option<String>,
    /// The text, Markdown of at most 64 KiB; of everything but a forward.
    text: Option<String>,
    /// The id of the message that is edited or forwarded.
    message: Option<String>,
    /// The id of the message that it replies to, or comments on.
    reply_to: Option<String>,
    /// Exact recipients. Each is notified, whether or not the text names it.
    #[serde(default)]
    to: Vec<To>,
    /// Exact meanings of labels in the text. One whose label does not stand there names nobody.
    #[serde(default)]
    bindings: Vec<Bound>,
    /// Recipients that a client has addressed automatically, as npub or 64 hex digits.
    #[serde(default)]
    addressed: Vec<String>,
    /// Whether typed names of members count. Absent: those of people do, those of agents do not.
    typed: Option<bool>,
    /// Refer to recipients who are no members of the channel, instead of refusing them.
    #[serde(default)]
    without_inviting: bool,
}

/// An exact recipient.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct To {
    /// The public key, npub or 64 hex digits.
    key: String,
    /// The label that stands for it in the text. Absent: its current name.
    label: Option<String>,
}

/// What a label stands for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Bound {
    /// The label, without its sign.
    label: String,
    /// The public key, npub or 64 hex digits.
    key: String,
}

/// A signed message, with the choices that it was composed with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ToPublish {
    /// The event, as it was composed, with its signature.
    #[schema(value_type = SignedEvent)]
    event: Box<RawValue>,
    /// The message that it forwards, if it is a forward.
    forwards: Option<String>,
    /// As they were given when it was composed.
    #[serde(default)]
    to: Vec<To>,
    /// Likewise.
    #[serde(default)]
    bindings: Vec<Bound>,
    /// Likewise.
    #[serde(default)]
    addressed: Vec<String>,
    /// Likewise.
    typed: Option<bool>,
    /// Likewise.
    #[serde(default)]
    without_inviting: bool,
}

/// An event that is still to be signed (NIP-01).
#[derive(Debug, Serialize, ToSchema)]
struct UnsignedEvent {
    /// 64 hex digits.
    id: String,
    /// 64 hex digits.
    #[schema(value_type = String)]
    pubkey: Key,
    /// Seconds since 1970.
    created_at: u64,
    kind: u32,
    tags: Vec<Tag>,
    content: String,
}

/// An event (NIP-01).
#[derive(Debug, Serialize, ToSchema)]
struct SignedEvent {
    #[serde(flatten)]
    event: UnsignedEvent,
    /// 128 hex digits.
    sig: String,
}

/// A message that is ready to be signed.
#[derive(Debug, Serialize, ToSchema)]
struct ReadyToSign {
    event: UnsignedEvent,
    /// Whom it notifies.
    recipients: Vec<Named>,
    /// Whom it refers to without notifying.
    references: Vec<Named>,
    /// Whom an edit names anew: they find it in their inbox, and nothing rings.
    newly_added: Vec<Named>,
    /// What the sender should know about the names in the text; nothing of it stops the send.
    diagnostics: Vec<Diagnosed>,
}

/// What a sender should know about a name in the text.
#[derive(Debug, Serialize, ToSchema)]
struct Diagnosed {
    #[schema(value_type = String)]
    code: Code,
    /// The text after the sign.
    name: String,
    /// Begin and end in UTF-8 bytes, the sign included.
    utf8: [usize; 2],
    /// The same in UTF-16 units.
    utf16: [usize; 2],
    /// Those concerned.
    people: Vec<Named>,
}

/// What became of a published message.
#[derive(Debug, Serialize, ToSchema)]
struct PublishedEvent {
    /// Its id.
    id: String,
    /// Whether it was stored before already.
    is_duplicate: bool,
}

/// A message as it reads now.
#[derive(Debug, Serialize, ToSchema)]
struct CurrentMessage {
    /// As it was published first.
    original: SignedEvent,
    author: Named,
    /// Whether an edit counts.
    is_edited: bool,
    /// How it reads now.
    current: OneVersion,
}

/// A version of a message.
#[derive(Debug, Serialize, ToSchema)]
struct OneVersion {
    /// The event that says it: the message, or an edit.
    event: SignedEvent,
    /// Where the text names whom.
    occurrences: Vec<Occurrence>,
    /// Whom the event notifies.
    recipients: Vec<Named>,
    /// Whom it refers to without notifying.
    references: Vec<Named>,
}

/// The versions of a message.
#[derive(Debug, Serialize, ToSchema)]
struct Versions {
    /// The first one first. Of the edits the last counts.
    versions: Vec<OneVersion>,
    /// How many there are; of more than 1,000 edits the newest are known.
    count: usize,
}

/// Which versions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Page {
    /// So many versions are passed over.
    #[serde(default)]
    skip: usize,
    /// At most so many are answered, 1 to 50.
    limit: Option<usize>,
}

/// Compose a message, edit or forward: the event that its author is to sign. Nothing is stored.
#[utoipa::path(
    post,
    path = "/v1/messages/compose",
    request_body = ToCompose,
    responses(
        (status = 200, description = "The event, all but its signature", body = ReadyToSign),
        (status = 400, description = "`bad_request`, `bad_body`", body = Problem),
        (status = 401, description = "`not_logged_in`, `bad_authorization`", body = Problem),
        (status = 403, description = "`not_your_key`, `not_yours`, `other_origin`", body = Problem),
        (status = 404, description = "`no_channel`, `no_message`: it is not there, or not for the author", body = Problem),
        (status = 413, description = "`too_large`", body = Problem),
        (status = 415, description = "`not_json`", body = Problem),
        (status = 422, description = "`ambiguous_label` with every candidate, `not_members`, `text_too_long`, \
            `text_holds_nul`, `too_many_recipients`, `too_many_references`", body = Problem),
        (status = 429, description = "`rate_limited`", body = Problem),
        (status = 503, description = "The store does not answer", body = Problem),
    ),
    security(("nostr" = []), ("token" = []), ("cookie" = [])),
)]
async fn compose(
    State(api): State<Arc<Api>>,
    call: Call<Json<ToCompose>>,
) -> Result<Json<ReadyToSign>, Problem> {
    let Call { caller, body: Json(body) } = call;
    let author = author(&caller, body.author.as_deref())?;
    if !api.node.limiter.may_ask(author) {
        return Err(rate_limited("too many requests; wait a second"));
    }
    let ToCompose { to, bindings, addressed, typed, without_inviting, .. } = body;
    let naming = naming(to, bindings, addressed, typed, without_inviting)?;
    let what = what(body.action, body.channel, body.text, body.message, body.reply_to)?;
    let Composed { event, recipients, references, newly_added, told } =
        sending::compose(&api.node, &Sending { author, what, naming }).await?;
    let diagnostics = told.into_iter().map(|told| Diagnosed::of(told, &event.content)).collect();
    Ok(Json(ReadyToSign { recipients, references, newly_added, diagnostics, event: event.into() }))
}

/// Publish a message that its author has signed. It is composed again from its own text and the choices given, and
/// refused where it would name others now.
#[utoipa::path(
    post,
    path = "/v1/messages",
    request_body = ToPublish,
    responses(
        (status = 200, description = "It is stored, durably", body = PublishedEvent),
        (status = 400, description = "`bad_request`, `bad_body`, `bad_event`", body = Problem),
        (status = 401, description = "`not_logged_in`, `bad_authorization`", body = Problem),
        (status = 403, description = "`not_your_key`, `not_yours`, `restricted`, `blocked`, `other_origin`", body = Problem),
        (status = 404, description = "`no_channel`, `no_message`: it is not there, or not for the author", body = Problem),
        (status = 409, description = "`roster_changed` with the difference, `edited_meanwhile`", body = Problem),
        (status = 413, description = "`too_large`", body = Problem),
        (status = 415, description = "`not_json`", body = Problem),
        (status = 422, description = "As for composing; `forged_event`, `not_as_composed`, `invalid_event`", body = Problem),
        (status = 429, description = "`rate_limited`", body = Problem),
        (status = 503, description = "The store does not answer", body = Problem),
    ),
    security(("nostr" = []), ("token" = []), ("cookie" = [])),
)]
async fn publish(
    State(api): State<Arc<Api>>,
    call: Call<Json<ToPublish>>,
) -> Result<Json<PublishedEvent>, Problem> {
    let Call { caller, body: Json(body) } = call;
    let bad = |why: String| Problem::new(StatusCode::BAD_REQUEST, "bad_event", why);
    if body.event.get().len() > protocol::EVENT {
        return Err(bad(format!("the event is longer than {} bytes", protocol::EVENT)));
    }
    let event: nostr::event::Event = serde_json::from_str(body.event.get())
        .map_err(|_| bad("`event` is no signed event (NIP-01)".to_owned()))?;
    owns(&caller, protocol::key(event.pubkey))?;
    let naming = naming(body.to, body.bindings, body.addressed, body.typed, body.without_inviting)?;
    let source = body.forwards.as_deref().map(|id| event_id("forwards", id)).transpose()?;
    let id = event.id.to_hex();
    let accepted = sending::publish(&api.node, event, naming, source).await?;
    Ok(Json(PublishedEvent { id, is_duplicate: accepted == Accepted::Duplicate }))
}

/// Read a message as it is now.
#[utoipa::path(
    get,
    path = "/v1/messages/{id}",
    params(("id" = String, Path, description = "The id of the message, 64 hex digits")),
    responses(
        (status = 200, description = "The message", body = CurrentMessage),
        (status = 401, description = "`not_logged_in`, `bad_authorization`", body = Problem),
        (status = 404, description = "`no_message`: it is not there, or not for the caller", body = Problem),
        (status = 429, description = "`rate_limited`", body = Problem),
        (status = 503, description = "The store does not answer", body = Problem),
    ),
    security(("nostr" = []), ("token" = []), ("cookie" = [])),
)]
async fn read(
    State(api): State<Arc<Api>>,
    id: Result<Segment, Problem>,
    caller: Caller,
) -> Result<Json<CurrentMessage>, Problem> {
    let id = named_message(&api, id, &caller)?;
    let Message { original, author, version } = sending::message(&api.node, &caller.keys, id).await?;
    let is_edited = version.event.id != original.id;
    Ok(Json(CurrentMessage { original: original.into(), author, is_edited, current: version.into() }))
}

/// Read what a message has said: as it was published, and its edits.
#[utoipa::path(
    get,
    path = "/v1/messages/{id}/history",
    params(("id" = String, Path, description = "The id of the message, 64 hex digits"), Page),
    responses(
        (status = 200, description = "The versions, the first one first", body = Versions),
        (status = 400, description = "`bad_request`", body = Problem),
        (status = 401, description = "`not_logged_in`, `bad_authorization`", body = Problem),
        (status = 404, description = "`no_message`: it is not there, or not for the caller", body = Problem),
        (status = 429, description = "`rate_limited`", body = Problem),
        (status = 503, description = "The store does not answer", body = Problem),
    ),
    security(("nostr" = []), ("token" = []), ("cookie" = [])),
)]
async fn history(
    State(api): State<Arc<Api>>,
    id: Result<Segment, Problem>,
    Params(page): Params<Page>,
    caller: Caller,
) -> Result<Json<Versions>, Problem> {
    let limit = page.limit.unwrap_or(VERSIONS);
    if !(1..=VERSIONS).contains(&limit) {
        return Err(Problem::bad_request(format!("`limit` is 1 to {VERSIONS}")));
    }
    let id = named_message(&api, id, &caller)?;
    let (versions, count) = sending::history(&api.node, &caller.keys, id, page.skip, limit).await?;
    Ok(Json(Versions { versions: versions.into_iter().map(Into::into).collect(), count }))
}

/// The message that a path names. What is no id names none.
fn named_message(api: &Api, id: Result<Segment, Problem>, caller: &Caller) -> Result<EventId, Problem> {
    if caller.keys.first().is_some_and(|key| !api.node.limiter.may_ask(*key)) {
        return Err(rate_limited("too many requests; wait a second"));
    }
    let id = id.ok().and_then(|Segment(id)| id.parse().ok());
    id.ok_or_else(|| CannotSend::NoMessage.into())
}

/// The key that is to sign: one of the caller's.
fn author(caller: &Caller, named: Option<&str>) -> Result<Key, Problem> {
    let key = match (named, &caller.keys[..]) {
        (Some(named), _) => key("author", named)?,
        (None, [only]) => *only,
        (None, _) => return Err(Problem::bad_request("name the key that is to sign, in `author`")),
    };
    owns(caller, key)?;
    Ok(key)
}

fn owns(caller: &Caller, key: Key) -> Result<(), Problem> {
    match caller.keys.contains(&key) {
        true => Ok(()),
        false => {
            Err(Problem::new(StatusCode::FORBIDDEN, "not_your_key", "the author's key is not the caller's"))
        }
    }
}

fn key(field: &str, text: &str) -> Result<Key, Problem> {
    let bad = || Problem::bad_request(format!("`{field}` holds no public key: npub1… or 64 hex digits"));
    crate::public_key(text).ok_or_else(bad)
}

fn event_id(field: &str, text: &str) -> Result<EventId, Problem> {
    text.parse().map_err(|_| Problem::bad_request(format!("`{field}` is no id of an event: 64 hex digits")))
}

fn naming(
    to: Vec<To>,
    bindings: Vec<Bound>,
    addressed: Vec<String>,
    typed: Option<bool>,
    without_inviting: bool,
) -> Result<Naming, Problem> {
    if to.len().max(bindings.len()).max(addressed.len()) > limits::BINDINGS {
        let says = format!("at most {} of `to`, `bindings` and `addressed`", limits::BINDINGS);
        return Err(Problem::bad_request(says));
    }
    let to = to.into_iter().map(|to| Ok((to.label, key("to", &to.key)?)));
    let to: Vec<(Option<String>, Key)> = to.collect::<Result<_, Problem>>()?;
    let bindings = bindings.into_iter().map(|bound| Ok((bound.label, key("bindings", &bound.key)?)));
    let bindings: Vec<(String, Key)> = bindings.collect::<Result<_, Problem>>()?;
    let labelled = to.iter().filter_map(|(label, key)| Some((label.as_ref()?, key)));
    let mut meanings = HashMap::new();
    for (label, key) in labelled.chain(bindings.iter().map(|(label, key)| (label, key))) {
        if meanings.insert(form(trim(label)), key).is_some_and(|other| other != key) {
            return Err(Problem::bad_request("one label is given two meanings, in `to` or `bindings`"));
        }
    }
    Ok(Naming {
        addressed: addressed.iter().map(|text| key("addressed", text)).collect::<Result<_, Problem>>()?,
        to,
        bindings,
        typed,
        without_inviting,
    })
}

/// What is to be composed. A field that has no meaning for it is an error: it would be lost silently.
fn what(
    action: Action,
    channel: Option<String>,
    text: Option<String>,
    message: Option<String>,
    reply_to: Option<String>,
) -> Result<What, Problem> {
    let reply_to = reply_to.as_deref().map(|id| event_id("reply_to", id)).transpose()?;
    let message = message.as_deref().map(|id| event_id("message", id)).transpose()?;
    // What is no name of a channel is the name of none.
    let channel = channel.map(|channel| channel.parse().map_err(|_| Problem::from(CannotSend::NoChannel)));
    let channel = channel.transpose()?;
    let form = match action {
        Action::Message => Form::Message,
        Action::Post => Form::Post,
        Action::Comment => Form::Comment,
        Action::Edit => {
            return match (channel, text, message, reply_to) {
                (None, Some(text), Some(message), None) => Ok(What::Edit { message, text }),
                _ => Err(Problem::bad_request("an edit takes `message` and `text`, and no channel")),
            };
        }
        Action::Forward => {
            return match (channel, text, message, reply_to) {
                (Some(channel), None, Some(message), None) => Ok(What::Forward { channel, message }),
                _ => Err(Problem::bad_request("a forward takes `channel` and `message`; the text stays")),
            };
        }
    };
    match (channel, text, message) {
        (Some(channel), Some(text), None) => Ok(What::New { channel, form, text, reply_to }),
        _ => Err(Problem::bad_request("this takes `channel` and `text`, and no `message`")),
    }
}

impl From<Event> for UnsignedEvent {
    fn from(event: Event) -> Self {
        Self {
            id: event.id.to_string(),
            pubkey: event.key,
            created_at: event.created_at.as_secs(),
            kind: event.kind,
            tags: event.tags,
            content: event.content,
        }
    }
}

impl From<Event> for SignedEvent {
    fn from(event: Event) -> Self {
        let sig = data_encoding::HEXLOWER.encode(&event.sig);
        Self { event: event.into(), sig }
    }
}

impl From<Version> for OneVersion {
    fn from(version: Version) -> Self {
        let Version { event, occurrences, recipients, references } = version;
        Self { event: event.into(), occurrences, recipients, references }
    }
}

impl Diagnosed {
    fn of(told: Told, text: &str) -> Self {
        let Told { diagnostic, people } = told;
        let (utf8, utf16) = ranges(diagnostic.span, text);
        Self { code: diagnostic.code, name: diagnostic.name, utf8, utf16, people }
    }
}

fn ranges(span: Span, text: &str) -> ([usize; 2], [usize; 2]) {
    let map = Utf16Map::new(text);
    ([span.start.get(), span.end.get()], [map.to_utf16(span.start), map.to_utf16(span.end)])
}

fn rate_limited(says: &str) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", says)
}

impl From<CannotSend> for Problem {
    fn from(error: CannotSend) -> Self {
        let unprocessable = |code, says: String| Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, says);
        match error {
            CannotSend::Ambiguous(error, candidates) => {
                let says = "several people bear this name; say which one is meant";
                unprocessable(Ambiguous::CODE, says.to_owned())
                    .with("label", &error.label)
                    .with("utf8", [error.span.start.get(), error.span.end.get()])
                    .with("candidates", candidates)
            }
            CannotSend::NotMembers(recipients) => {
                let says =
                    "recipients are no members of the channel; leave them out, or send `without_inviting`";
                unprocessable("not_members", says.to_owned()).with("recipients", recipients)
            }
            CannotSend::Nonsense(says) => Self::bad_request(says),
            CannotSend::BadText { code, message } => unprocessable(code, message),
            CannotSend::NoChannel => Self::new(StatusCode::NOT_FOUND, "no_channel", NO_CHANNEL),
            CannotSend::NoMessage => {
                let says = "there is no such message, or this key may not read it";
                Self::new(StatusCode::NOT_FOUND, "no_message", says)
            }
            CannotSend::NotYours => Self::new(StatusCode::FORBIDDEN, "not_yours", NOT_YOURS),
            CannotSend::Forged => {
                unprocessable("forged_event", "the id or the signature of the event is wrong".to_owned())
            }
            CannotSend::Tags(error) => unprocessable(error.code(), error.to_string()),
            CannotSend::RosterChanged(difference) => {
                let says = "the message would name others now than it does; compose it again";
                Self::new(StatusCode::CONFLICT, "roster_changed", says).with("difference", &*difference)
            }
            CannotSend::EditedMeanwhile => {
                let says = "a later edit counts already; compose this one again";
                Self::new(StatusCode::CONFLICT, "edited_meanwhile", says)
            }
            CannotSend::NotAsComposed => {
                let says =
                    "the event is not what its text and choices are composed to; sign the composed one";
                unprocessable("not_as_composed", says.to_owned())
            }
            CannotSend::Refused(refused) => refused.into(),
            CannotSend::Store(error) => error.into(),
        }
    }
}

/// What the relay says where it refuses an event.
impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let (status, code) = match refused.reason {
            Reason::Invalid => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_event"),
            Reason::Restricted => (StatusCode::FORBIDDEN, "restricted"),
            Reason::Blocked => (StatusCode::FORBIDDEN, "blocked"),
            Reason::RateLimited => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Reason::AuthRequired => (StatusCode::UNAUTHORIZED, "not_logged_in"),
            Reason::Duplicate | Reason::Error => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        };
        Self::new(status, code, refused.why)
    }
}
