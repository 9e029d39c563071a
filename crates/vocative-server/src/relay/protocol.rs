//! The framing of the protocol (NIP-01, 42, 45): what a client says, and what it is answered.
//!
//! Events, filters and signatures are those of the `nostr` crate. The array around them is read here,
//! because a client that said something wrong is told for which event or subscription.

use std::fmt;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use vocative::Key;
use vocative_store::{Event, EventId, Filter, Timestamp};

/// The longest name of a subscription, in bytes (NIP-01).
pub(crate) const SUBSCRIPTION_ID: usize = 64;
/// The longest event, in bytes of JSON (section 1, Mention tags).
pub(crate) const EVENT: usize = 128 * 1024;

/// What the filters of one request may name altogether: a statement takes so many values.
pub(crate) const VALUES: usize = 5000;
/// The longest text that is searched for, in bytes.
pub(crate) const SEARCH: usize = 256;

/// What a client says.
#[derive(Debug)]
pub(crate) enum Request {
    /// `EVENT`: here is an event. Nothing of it is verified yet.
    Event(Box<nostr::event::Event>),
    /// `REQ`: what is stored, and from now on what comes.
    Subscribe(String, Vec<Filter>),
    /// `COUNT`: how many are stored.
    Count(String, Vec<Filter>),
    /// `CLOSE`: no more of it.
    Close(String),
    /// `AUTH`: proof that a key is here.
    Auth(Box<nostr::event::Event>),
}

/// What a client is told when it was not understood, about the thing that it spoke of if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misunderstood {
    about: About,
    because: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum About {
    Nothing,
    Event(String),
    Subscription(String),
}

impl Misunderstood {
    /// The answer that says so.
    pub(crate) fn answer(&self) -> String {
        let because = Reason::Invalid.says(&self.because);
        match &self.about {
            About::Nothing => notice(&because),
            About::Event(id) => json!(["OK", id, false, because]).to_string(),
            About::Subscription(id) => closed(id, &because),
        }
    }
}

impl Request {
    /// Reads a message with at most so many filters.
    ///
    /// # Errors
    /// What to answer instead.
    pub(crate) fn parse(text: &str, filters: usize) -> Result<Self, Misunderstood> {
        let nothing = |because: &str| Misunderstood { about: About::Nothing, because: because.to_owned() };
        let parts: Vec<&RawValue> = serde_json::from_str(text)
            .map_err(|_| nothing("a message is one JSON array whose first element says what it is"))?;
        let (what, rest) = parts.split_first().ok_or_else(|| nothing("the message is empty"))?;
        let what: String = serde_json::from_str(what.get())
            .map_err(|_| nothing("the first element of a message is a string"))?;
        match &*what {
            "EVENT" => event(rest).map(Self::Event),
            "AUTH" => event(rest).map(Self::Auth),
            "REQ" => read_filters(rest, filters).map(|(id, filters)| Self::Subscribe(id, filters)),
            "COUNT" => read_filters(rest, filters).map(|(id, filters)| Self::Count(id, filters)),
            "CLOSE" => subscription(rest).map(Self::Close),
            _ => Err(nothing("the relay knows EVENT, REQ, COUNT, CLOSE and AUTH")),
        }
    }
}

fn event(rest: &[&RawValue]) -> Result<Box<nostr::event::Event>, Misunderstood> {
    let Some(raw) = rest.first() else {
        return Err(Misunderstood { about: About::Nothing, because: "the event is missing".to_owned() });
    };
    let misunderstood = |because: String| {
        let id = serde_json::from_str::<Value>(raw.get()).ok().and_then(|value| match value.get("id")? {
            Value::String(id) if id.len() <= 64 => Some(id.clone()),
            _ => None,
        });
        Misunderstood { about: id.map_or(About::Nothing, About::Event), because }
    };
    if raw.get().len() > EVENT {
        return Err(misunderstood(format!("the event is longer than {EVENT} bytes")));
    }
    serde_json::from_str(raw.get()).map(Box::new).map_err(|error| misunderstood(format!("no event: {error}")))
}

fn subscription(rest: &[&RawValue]) -> Result<String, Misunderstood> {
    let id = rest.first().and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let id = id.filter(|id| (1..=SUBSCRIPTION_ID).contains(&id.len()));
    id.ok_or_else(|| Misunderstood {
        about: About::Nothing,
        because: format!("a subscription has a name of 1 to {SUBSCRIPTION_ID} bytes"),
    })
}

fn read_filters(rest: &[&RawValue], most: usize) -> Result<(String, Vec<Filter>), Misunderstood> {
    let id = subscription(rest)?;
    let about = |because: String| Misunderstood { about: About::Subscription(id.clone()), because };
    let given = &rest[1..];
    if given.is_empty() {
        return Err(about("at least one filter is needed".to_owned()));
    }
    if given.len() > most {
        return Err(about(format!("at most {most} filters in one request")));
    }
    let read = |raw: &&RawValue| {
        let filter: nostr::filter::Filter =
            serde_json::from_str(raw.get()).map_err(|error| about(format!("no filter: {error}")))?;
        Ok(stored_filter(filter))
    };
    let filters: Vec<Filter> = given.iter().map(read).collect::<Result<_, _>>()?;
    if filters.iter().map(values).sum::<usize>() > VALUES {
        return Err(about(format!("the filters of one request name at most {VALUES} values")));
    }
    if filters.iter().filter_map(|filter| filter.search.as_ref()).any(|search| search.len() > SEARCH) {
        return Err(about(format!("a search has at most {SEARCH} bytes")));
    }
    Ok((id, filters))
}

/// How many values a filter names.
fn values(filter: &Filter) -> usize {
    filter.ids.as_ref().map_or(0, Vec::len)
        + filter.authors.as_ref().map_or(0, Vec::len)
        + filter.kinds.as_ref().map_or(0, Vec::len)
        + filter.tags.values().map(Vec::len).sum::<usize>()
}

/// About how much memory open filters take, in bytes.
pub(crate) fn weight(filters: &[Filter]) -> usize {
    const OF_VALUE: usize = 128;
    let texts = |filter: &Filter| filter.tags.values().flatten().map(String::len).sum::<usize>();
    filters.iter().map(|filter| OF_VALUE * (1 + values(filter)) + 2 * texts(filter)).sum()
}

/// A filter as the store takes it.
fn stored_filter(filter: nostr::filter::Filter) -> Filter {
    let time = |at: nostr::types::Timestamp| Timestamp::from_secs(at.as_secs());
    Filter {
        ids: filter.ids.map(|ids| ids.into_iter().map(|id| EventId::from_bytes(id.to_bytes())).collect()),
        authors: filter.authors.map(|keys| keys.into_iter().map(key).collect()),
        kinds: filter.kinds.map(|kinds| kinds.into_iter().map(|kind| u32::from(kind.as_u16())).collect()),
        tags: filter
            .generic_tags
            .into_iter()
            .map(|(name, values)| (name.as_char(), values.into_iter().collect()))
            .collect(),
        since: filter.since.map(time),
        // A time that no event can have bounds nothing.
        until: filter.until.map(time).map(|until| until.min(Timestamp::MAX)),
        search: filter.search,
        limit: filter.limit,
    }
}

/// A key of the `nostr` crate as ours.
pub(crate) fn key(key: nostr::key::PublicKey) -> Key {
    Key::from_bytes(key.to_bytes())
}

/// An event of the `nostr` crate as the store keeps it.
pub(crate) fn stored_event(event: nostr::event::Event) -> Event {
    Event {
        id: EventId::from_bytes(event.id.to_bytes()),
        key: key(event.pubkey),
        created_at: Timestamp::from_secs(event.created_at.as_secs()),
        kind: u32::from(event.kind.as_u16()),
        tags: event.tags.to_vec().into_iter().map(nostr::event::Tag::to_vec).collect(),
        content: event.content,
        sig: event.sig.to_bytes(),
    }
}

/// The first word of a refusal (NIP-01), by which programs tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Reason {
    /// It is stored already.
    Duplicate,
    /// It does not say what it must.
    Invalid,
    /// This key may not.
    Restricted,
    /// Nobody may.
    Blocked,
    /// Too often.
    RateLimited,
    /// A key is needed.
    AuthRequired,
    /// The relay could not.
    Error,
}

impl Reason {
    /// The word.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Duplicate => "duplicate",
            Self::Invalid => "invalid",
            Self::Restricted => "restricted",
            Self::Blocked => "blocked",
            Self::RateLimited => "rate-limited",
            Self::AuthRequired => "auth-required",
            Self::Error => "error",
        }
    }

    /// The word and, for people, why.
    pub(crate) fn says(self, why: impl fmt::Display) -> String {
        format!("{}: {why}", self.as_str())
    }
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) reason: Reason,
    pub(crate) why: String,
}

impl Refused {
    pub(crate) fn new(reason: Reason, why: impl Into<String>) -> Self {
        Self { reason, why: why.into() }
    }

    pub(crate) fn invalid(why: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, why)
    }

    pub(crate) fn restricted(why: impl Into<String>) -> Self {
        Self::new(Reason::Restricted, why)
    }

    pub(crate) fn blocked(why: impl Into<String>) -> Self {
        Self::new(Reason::Blocked, why)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason.says(&self.why))
    }
}

impl From<vocative_store::StoreError> for Refused {
    /// The details of a failure are for the operator, not for whoever is connected.
    fn from(error: vocative_store::StoreError) -> Self {
        tracing::error!(code = error.code(), %error, "the store failed");
        Self::new(Reason::Error, format!("the store failed ({}); try again", error.code()))
    }
}

/// `EVENT`, with the event as JSON that is made once for all who get it.
pub(crate) fn event_message(subscription: &str, event: &str) -> String {
    let id = Value::from(subscription).to_string();
    let mut message = String::with_capacity(event.len() + id.len() + 12);
    message.push_str("[\"EVENT\",");
    message.push_str(&id);
    message.push(',');
    message.push_str(event);
    message.push(']');
    message
}

/// An event as JSON.
pub(crate) fn event_json(event: &Event) -> String {
    #[derive(serde::Serialize)]
    struct Written<'e> {
        id: String,
        pubkey: String,
        created_at: u64,
        kind: u32,
        tags: &'e [vocative::Tag],
        content: &'e str,
        sig: String,
    }
    let written = Written {
        id: event.id.to_string(),
        pubkey: event.key.to_string(),
        created_at: event.created_at.as_secs(),
        kind: event.kind,
        tags: &event.tags,
        content: &event.content,
        sig: nostr::event::Signature::from_byte_array(event.sig).to_hex(),
    };
    serde_json::to_string(&written).expect("strings and numbers are JSON")
}

/// `OK`: what became of an event.
pub(crate) fn ok(id: &EventId, outcome: &Result<Accepted, Refused>) -> String {
    match outcome {
        Ok(Accepted::Stored) => json!(["OK", id.to_string(), true, ""]).to_string(),
        Ok(Accepted::Duplicate) => {
            let says = Reason::Duplicate.says("it is stored already");
            json!(["OK", id.to_string(), true, says]).to_string()
        }
        Err(refused) => json!(["OK", id.to_string(), false, refused.to_string()]).to_string(),
    }
}

/// What became of an event that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// It is committed and synced.
    Stored,
    /// It was before.
    Duplicate,
}

/// `EOSE`: what follows is new.
pub(crate) fn end_of_stored(subscription: &str) -> String {
    json!(["EOSE", subscription]).to_string()
}

/// `CLOSED`: a subscription that has ended, or never began.
pub(crate) fn closed(subscription: &str, why: &str) -> String {
    json!(["CLOSED", subscription, why]).to_string()
}

/// `COUNT`: how many there are.
pub(crate) fn counted(subscription: &str, count: u64) -> String {
    json!(["COUNT", subscription, { "count": count }]).to_string()
}

/// `NOTICE`: for people.
pub(crate) fn notice(text: &str) -> String {
    json!(["NOTICE", text]).to_string()
}

/// `AUTH`: what a client has to sign (NIP-42).
pub(crate) fn challenge(challenge: &str) -> String {
    json!(["AUTH", challenge]).to_string()
}
