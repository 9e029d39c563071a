//! Whether an event may be stored, and what it changes (section 1).
//!
//! What is asked in this order: is it whole (size, time, tags), is there such a place, may this key. What
//! a key may not read answers as what does not exist, in the same words.

use std::sync::Arc;

use vocative::Key;
use vocative_store::{ChannelId, Entry, Event, EventId, Filter, Reader, StoreError, Timestamp, kinds};

use super::access;
use super::groups;
use super::protocol::{Reason, Refused};
use super::state::State;
use crate::settings::Who;

/// What a kind is to the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A message, post or comment.
    Message,
    /// A replacement of a message's body.
    Edit,
    /// Removal of own events.
    Deletion,
    /// A change of a channel (NIP-29).
    Control,
    /// About a key itself: its profile, or what it owns.
    Own,
    /// Something else.
    Other,
}

impl Sort {
    fn of(kind: u32) -> Self {
        match kind {
            kind if kinds::MESSAGES.contains(&kind) => Self::Message,
            kinds::EDIT => Self::Edit,
            kinds::DELETION => Self::Deletion,
            9000..=9022 => Self::Control,
            0 | kinds::AGENT_PROFILE | 30_175..=30_177 => Self::Own,
            _ => Self::Other,
        }
    }
}

/// Whether what may be published depends on what was published before it on the same connection.
pub(crate) fn depends_on_order(kind: u32) -> bool {
    !matches!(Sort::of(kind), Sort::Message | Sort::Own)
}

/// An event that may be stored.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// It, and what the relay says with it, to be stored together.
    pub(crate) entries: Vec<Entry>,
    /// The channel that it changes.
    pub(crate) changes: Option<ChannelChange>,
}

/// What a control event does to its channel.
#[derive(Debug)]
pub(crate) struct ChannelChange {
    pub(crate) channel: ChannelId,
    /// Whether somebody may now read less than before.
    pub(crate) takes_rights: bool,
}

impl From<Event> for Admitted {
    fn from(event: Event) -> Self {
        Self { entries: vec![event.into()], changes: None }
    }
}

/// How far a time may lie ahead, and a member's back.
pub(crate) const AHEAD: u64 = 15 * 60;
pub(crate) const BACK: u64 = 60 * 60;

/// The kind of an event that authenticates (NIP-42); it is never stored.
const AUTHENTICATION: u32 = 22_242;

/// What is said about a channel that is not there, and about one that must look so.
pub(crate) const NO_CHANNEL: &str = "there is no such channel, or this key may not use it";
/// What is said to whoever may read a message and not edit it.
pub(crate) const NOT_YOURS: &str = "only its author, or the owner of the agent that wrote it, edits it";
const NO_TARGET: &str = "there is no such message here";

/// Decides about an event whose signature has been verified. `keys` have authenticated on the connection.
pub(crate) async fn admit(
    state: &State,
    event: Event,
    keys: &[Key],
    now: Timestamp,
) -> Result<Admitted, Refused> {
    let sort = Sort::of(event.kind);
    whole(state, &event, sort, keys, now)?;
    match sort {
        Sort::Message => {
            member_of(state, &event).await?;
            Ok(event.into())
        }
        Sort::Edit => edit(state, event).await,
        Sort::Deletion => deletion(state, event).await,
        Sort::Control => groups::control(state, event).await,
        Sort::Own => own(event),
        Sort::Other => other(state, event).await,
    }
}

/// What can be said without asking anyone.
fn whole(state: &State, event: &Event, sort: Sort, keys: &[Key], now: Timestamp) -> Result<(), Refused> {
    if event.kind == AUTHENTICATION {
        return Err(Refused::invalid("events of kind 22242 are sent as AUTH and never stored"));
    }
    if event.content.len() > vocative::limits::BODY {
        return Err(Refused::invalid(format!("the text is longer than {} bytes", vocative::limits::BODY)));
    }
    let (at, now) = (event.created_at.as_secs(), now.as_secs());
    if at > now.saturating_add(AHEAD) {
        return Err(Refused::invalid("created_at is more than 15 minutes ahead"));
    }
    let is_members = matches!(sort, Sort::Message | Sort::Edit | Sort::Control);
    let is_import = keys.iter().any(|key| state.is_owner(*key));
    if is_members && !is_import && at < now.saturating_sub(BACK) {
        return Err(Refused::invalid("created_at is more than an hour ago; admins may import older events"));
    }
    vocative::wire::check(event.kind, &event.tags).map_err(|bad| Refused::invalid(bad.to_string()))
}

/// The one channel that an event names.
pub(crate) fn named_channel(event: &Event) -> Result<Option<ChannelId>, Refused> {
    let mut named = event.tags.iter().filter(|tag| tag.first().is_some_and(|name| name == "h"));
    let Some(tag) = named.next() else { return Ok(None) };
    if named.next().is_some() {
        return Err(Refused::invalid("an event belongs to one channel: one `h` tag"));
    }
    let id = tag.get(1).map_or("", String::as_str);
    id.parse().map(Some).map_err(|bad: vocative_store::BadValue| Refused::invalid(bad.to_string()))
}

pub(crate) fn required_channel(event: &Event) -> Result<ChannelId, Refused> {
    named_channel(event)?.ok_or_else(|| Refused::invalid("this kind needs an `h` tag with its channel"))
}

/// The channel of an event whose author is a member of it.
async fn member_of(state: &State, event: &Event) -> Result<Arc<access::Entry>, Refused> {
    let id = required_channel(event)?;
    writable(state, &id, event.key).await
}

/// A channel in which a key may write; whoever writes in one reads it too.
pub(crate) async fn writable(state: &State, id: &ChannelId, key: Key) -> Result<Arc<access::Entry>, Refused> {
    let entry = state.access.channel(id).await?;
    let restricts = entry.living().is_none_or(|channel| channel.restricted || channel.is_for_members());
    if restricts && entry.roles(key).is_none() {
        return Err(Refused::restricted(NO_CHANNEL));
    }
    Ok(entry)
}

/// An edit: of a message in the same channel, by its author or the owner of the agent that wrote it.
async fn edit(state: &State, event: Event) -> Result<Admitted, Refused> {
    let channel = required_channel(&event)?;
    let targets: Vec<Option<EventId>> = event.values("e").map(|id| id.parse().ok()).collect();
    let target = if let [target] = targets[..] { target } else { None };
    let target = target.ok_or_else(|| Refused::invalid("an edit names its message in one `e` tag"))?;
    let reader = Reader::key(event.key);
    let target =
        state.store.event(&reader, target).await?.filter(|target| {
            kinds::MESSAGES.contains(&target.kind) && target.values("h").eq([channel.as_str()])
        });
    let target = target.ok_or_else(|| Refused::invalid(NO_TARGET))?;
    if event.key != target.key && owner_of(state, target.key).await? != Some(event.key) {
        return Err(Refused::restricted(NOT_YOURS));
    }
    Ok(event.into())
}

/// The owner that an agent names in its profile.
pub(crate) async fn owner_of(state: &State, agent: Key) -> Result<Option<Key>, StoreError> {
    let filter = Filter {
        authors: Some(vec![agent]),
        kinds: Some(vec![kinds::AGENT_PROFILE]),
        limit: Some(1),
        ..Filter::default()
    };
    let profile = state.store.query(&Reader::Server, &filter).await?.pop();
    Ok(profile.and_then(|profile| profile.values("p").next()?.parse().ok()))
}

/// A deletion by the author (NIP-09). What is not there, or not readable, is blocked all the same.
async fn deletion(state: &State, event: Event) -> Result<Admitted, Refused> {
    if named_channel(&event)?.is_some() {
        member_of(state, &event).await?;
    }
    let ids: Vec<EventId> = event.values("e").filter_map(|id| id.parse().ok()).collect();
    if ids.is_empty() && event.values("a").next().is_none() {
        return Err(Refused::invalid("a deletion names what it deletes, in `e` or `a` tags"));
    }
    if ids.len() > Filter::MAX_LIMIT {
        return Err(Refused::invalid(format!("at most {} events in one deletion", Filter::MAX_LIMIT)));
    }
    if !ids.is_empty() {
        let filter = Filter { ids: Some(ids), limit: Some(Filter::MAX_LIMIT), ..Filter::default() };
        let targets = state.store.query(&Reader::key(event.key), &filter).await?;
        if targets.iter().any(|target| target.key != event.key) {
            return Err(Refused::restricted("only its author deletes an event"));
        }
    }
    let prefix = format!(":{}:", event.key);
    if event.values("a").any(|address| !address.contains(&prefix)) {
        return Err(Refused::restricted("only its author deletes an event"));
    }
    Ok(event.into())
}

/// What a key says about itself and what it owns.
fn own(event: Event) -> Result<Admitted, Refused> {
    if named_channel(&event)?.is_some() {
        return Err(Refused::invalid("this kind belongs to no channel: no `h` tag"));
    }
    if event.kind == kinds::AGENT_PROFILE {
        let owners = event.values("p").map(str::parse::<Key>);
        match owners.collect::<Result<Vec<_>, _>>().as_deref() {
            Ok([_]) => {}
            _ => return Err(Refused::invalid("an agent names its one owner in a `p` tag")),
        }
    }
    let is_addressed = event.kind == 0 || event.kind == kinds::AGENT_PROFILE;
    if !is_addressed && event.values("d").next().is_none_or(str::is_empty) {
        return Err(Refused::invalid("this kind needs a `d` tag"));
    }
    Ok(event.into())
}

/// Kinds that the specification does not list.
async fn other(state: &State, event: Event) -> Result<Admitted, Refused> {
    if kinds::CHANNEL_METADATA.contains(&event.kind) {
        return Err(Refused::restricted("the relay alone describes channels"));
    }
    if named_channel(&event)?.is_some() {
        member_of(state, &event).await?;
        return Ok(event.into());
    }
    if !may(state, state.settings.other_kinds, event.key).await? {
        return Err(Refused::new(Reason::Restricted, "events of this kind are stored for members only"));
    }
    Ok(event.into())
}

/// Whether a key is among those who may.
pub(crate) async fn may(state: &State, who: Who, key: Key) -> Result<bool, Refused> {
    Ok(match who {
        Who::Anyone => true,
        Who::Admins => state.is_owner(key),
        Who::Members => state.is_owner(key) || !state.store.channels_of(key).await?.is_empty(),
    })
}
