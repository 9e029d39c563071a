//! What a message says and has said, and whom each version names (H, X-11).

use serde::Serialize;
use utoipa::ToSchema;
use vocative::edit::{self, EditEvent};
use vocative::history::identity_keys;
use vocative::wire::recipient;
use vocative::{History, Key, Place, Tag, Utf16Map, has_signs};
use vocative_store::{Event, EventId, Filter, Reader};

use super::CannotSend;
use super::compose::{Current, edits};
use super::people::{Named, People};
use crate::relay::State;

/// A message as it reads now.
#[derive(Debug)]
pub(crate) struct Message {
    /// As it was published first.
    pub(crate) original: Event,
    /// Who wrote it.
    pub(crate) author: Named,
    /// How it reads now.
    pub(crate) version: Version,
}

/// One version of a message: as it was published, or an edit.
#[derive(Debug)]
pub(crate) struct Version {
    /// The event that says it.
    pub(crate) event: Event,
    /// Whom it names in its text.
    pub(crate) occurrences: Vec<Occurrence>,
    /// Whom its tags notify.
    pub(crate) recipients: Vec<Named>,
    /// Whom its tags refer to and do not notify.
    pub(crate) references: Vec<Named>,
}

/// A range of a text that a known name owns.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct Occurrence {
    /// Begin and end in UTF-8 bytes.
    pub(crate) utf8: [usize; 2],
    /// The same in UTF-16 units.
    pub(crate) utf16: [usize; 2],
    /// The name.
    pub(crate) label: String,
    /// Whether it stands in a quote, where it notifies nobody.
    pub(crate) is_quoted: bool,
    /// Whom it is bound to; absent where that is not known, and the name is nothing but text.
    #[schema(value_type = Option<String>)]
    pub(crate) key: Option<Key>,
}

/// A message as it reads now, for whoever has these keys.
///
/// # Errors
/// [`CannotSend::NoMessage`] for one that is not there or may not be read.
pub(crate) async fn message(state: &State, keys: &[Key], id: EventId) -> Result<Message, CannotSend> {
    let current = Current::of(state, &Reader::Keys(keys.to_vec()), id).await?;
    let tags = current.tags();
    let event = current.edit.as_ref().unwrap_or(&current.original).clone();
    let versions = [(event, tags)];
    let people = people(state, keys, &current, &versions).await?;
    let [(event, tags)] = versions;
    let author = people.named(current.original.key);
    Ok(Message { version: version(event, &tags, &people), author, original: current.original })
}

/// The versions of a message, the first one first, beginning after `skip` of them, at most `limit`; and how many
/// there are. Of very many edits the newest are known.
///
/// # Errors
/// [`CannotSend::NoMessage`] for one that is not there or may not be read.
pub(crate) async fn history(
    state: &State,
    keys: &[Key],
    id: EventId,
    skip: usize,
    limit: usize,
) -> Result<(Vec<Version>, usize), CannotSend> {
    let current = Current::of(state, &Reader::Keys(keys.to_vec()), id).await?;
    let filter = Filter { limit: Some(Filter::MAX_LIMIT), ..edits(&current.original, current.owner) };
    // Ids alone: a thousand texts are not held at once. The latest is found first.
    let found = state.store.find(&Reader::Server, &filter).await?;
    let count = 1 + found.len();
    let ids = found.iter().rev().map(|found| found.id);
    let wanted: Vec<EventId> =
        ids.skip(skip.saturating_sub(1)).take(limit - usize::from(skip == 0)).collect();
    let filter = Filter { limit: Some(wanted.len()), ids: Some(wanted), ..filter };
    let edits = state.store.query(&Reader::Server, &filter).await?;
    let written: Vec<String> = edits.iter().map(|edit| edit.id.to_string()).collect();
    let ranked = edits.iter().zip(&written).map(|(edit, id)| EditEvent {
        id,
        author: edit.key,
        created_at: edit.created_at.as_secs(),
    });
    let original = &current.original;
    let order = edit::versions(original.key, current.owner, ranked);
    let first = (skip == 0).then(|| (original.clone(), original.tags.clone()));
    let later =
        order.into_iter().map(|at| (edits[at].clone(), edit::overlay(&original.tags, &edits[at].tags)));
    let versions: Vec<(Event, Vec<Tag>)> = first.into_iter().chain(later).collect();
    let people = people(state, keys, &current, &versions).await?;
    let versions = versions.into_iter().map(|(event, tags)| version(event, &tags, &people)).collect();
    Ok((versions, count))
}

/// Those whose names compete in these texts, as far as the reader may see them (H-4).
async fn people(
    state: &State,
    keys: &[Key],
    current: &Current,
    versions: &[(Event, Vec<Tag>)],
) -> Result<People, CannotSend> {
    let channel = state.access.channel(&current.channel).await?;
    let tagged = versions.iter().flat_map(|(event, tags)| {
        let notified = tags.iter().filter_map(|tag| recipient(tag));
        identity_keys(tags).into_iter().chain(notified).chain([event.key])
    });
    let needed: Vec<Key> = tagged.chain([current.original.key]).collect();
    Ok(match versions.iter().any(|(event, _)| has_signs(&event.content)) {
        true => People::of(state, keys, &channel, &[], needed).await?,
        false => People::only(state, &channel, needed).await?,
    })
}

fn version(event: Event, tags: &[Tag], people: &People) -> Version {
    let history = History::read(tags, &people.profiles(), &event.content);
    let map = Utf16Map::new(&event.content);
    let occurrences = history.occurrences().map(|found| Occurrence {
        utf8: [found.span.start.get(), found.span.end.get()],
        utf16: [map.to_utf16(found.span.start), map.to_utf16(found.span.end)],
        label: found.span.of(&event.content)[1..].to_owned(),
        is_quoted: found.place == Place::Quote,
        key: found.key,
    });
    let occurrences = occurrences.collect();
    // Tags of the event itself: what the original notified, an edit did not notify again.
    let mut recipients: Vec<Key> = event.tags.iter().filter_map(|tag| recipient(tag)).collect();
    let mut seen = std::collections::HashSet::new();
    recipients.retain(|key| seen.insert(*key));
    let references = identity_keys(tags).into_iter().filter(|key| !recipients.contains(key));
    let name = |keys: Vec<Key>| keys.into_iter().map(|key| people.named(key)).collect();
    Version { occurrences, references: name(references.collect()), recipients: name(recipients), event }
}
