//! From a text to an event: whom it names, who is told, which tags it carries (E, X, F, T).

use std::sync::Arc;

use sha2::{Digest, Sha256};
use vocative::edit::{self, EditEvent, Published, Replacement};
use vocative::forward::{Forwarded, Revision, forward};
use vocative::history::identity_keys;
use vocative::wire::{self, Publication, Reference};
use vocative::{
    Ambiguous, Claim, Diagnostic, Draft, Id, Key, MentionTags, Recipients, Scope, Tag, has_signs, limits,
};
use vocative_store::{ChannelId, Event, EventId, Filter, Reader, StoreError, Timestamp, kinds};

use super::people::{Named, People};
use super::{CannotSend, Form, Naming, Sending, What};
use crate::relay::{ChannelEntry, State, owner_of, writable};

/// A message that is ready to be signed.
#[derive(Debug)]
pub(crate) struct Composed {
    /// The event, all but its signature, which is empty.
    pub(crate) event: Event,
    /// Whom it notifies.
    pub(crate) recipients: Vec<Named>,
    /// Whom it refers to without notifying.
    pub(crate) references: Vec<Named>,
    /// Whom an edit names and the message did not before: they find it in their inbox, and nothing rings.
    pub(crate) newly_added: Vec<Named>,
    /// What the sender should know about the names in the text.
    pub(crate) told: Vec<Told>,
}

/// A diagnostic (D-7) with the people whom it concerns.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) diagnostic: Diagnostic,
    pub(crate) people: Vec<Named>,
}

/// Composes what is to be sent, and stores nothing.
///
/// # Errors
/// Why it cannot be sent.
pub(crate) async fn compose(state: &State, sending: &Sending) -> Result<Composed, CannotSend> {
    let Sending { author, what, naming } = sending;
    match what {
        What::New { channel, form, text, reply_to } => {
            new(state, *author, channel, *form, text, *reply_to, naming).await
        }
        What::Edit { message, text } => replace(state, *author, *message, text, naming).await,
        What::Forward { channel, message } => copy(state, *author, channel, *message, naming).await,
    }
}

async fn new(
    state: &State,
    author: Key,
    channel: &ChannelId,
    form: Form,
    text: &str,
    reply_to: Option<EventId>,
    naming: &Naming,
) -> Result<Composed, CannotSend> {
    storable(text)?;
    let entry = writable(state, channel, author).await?;
    let mut before = vec![tag(&["h", channel.as_str()])];
    before.extend(thread(state, author, channel, form, reply_to).await?);
    let people = people(state, author, &entry, &[], !has_signs(text), naming.keys().chain([author])).await?;
    let (roster, draft) = (people.roster(), naming.draft(&people));
    let scope = Scope { roster: &roster, draft: &draft, typed_names: naming.typed_names(&people, author) };
    let reading = scope.read(text);
    let told = told(reading.diagnostics(), &people);
    let recipients = reading.recipients().map_err(|error| ambiguous(error, &people))?;
    let recipients = recipients.with_explicit(&naming.explicit()).without_sender(&author.into());
    let (notify, references) = keys(&recipients);
    let (notify, references) = eligible(&people, naming, notify, references)?;
    let mentions = MentionTags::new(Publication::Message, &notify, Some(&references), &naming.addressed)?;
    let event = event(author, state.now(), form.kind(), mentions.arrange(before, Vec::new()), text);
    let event = unlike_any(state, event).await?;
    Ok(composed(event, &people, Vec::new(), told))
}

async fn replace(
    state: &State,
    author: Key,
    message: EventId,
    text: &str,
    naming: &Naming,
) -> Result<Composed, CannotSend> {
    storable(text)?;
    let current = Current::of(state, &Reader::key(author), message).await?;
    if author != current.original.key && current.owner != Some(author) {
        return Err(CannotSend::NotYours);
    }
    let entry = state.access.channel(&current.channel).await?;
    let (body, tags) = (current.text(), current.tags());
    let needed = naming.keys().chain([author]).chain(identity_keys(&tags));
    // The names of the old text compete in the new one.
    let is_plain = !has_signs(body) && !has_signs(text);
    let people = people(state, author, &entry, &[], is_plain, needed).await?;
    let (roster, draft, profiles) = (people.roster(), naming.draft(&people), people.profiles());
    let explicit = naming.explicit();
    let replacement = Replacement {
        body: text,
        draft: &draft,
        roster: &roster,
        sender: author,
        typed_names: naming.typed_names(&people, author),
        explicit: &explicit,
    };
    let original = Published { body, tags: &tags, profiles: &profiles };
    let submission = edit::submit(original, replacement).map_err(|error| ambiguous(error, &people))?;
    let newly_added = submission.newly_added(&tags);
    let told = told(submission.diagnostics, &people);
    let (notify, references) = eligible(&people, naming, submission.notify, submission.references)?;
    let newly_added = newly_added.into_iter().filter(|key| notify.contains(key)).collect();
    let mentions = MentionTags::new(Publication::Edit, &notify, Some(&references), &[])?;
    // An edit takes attachments away that it does not repeat; this one is of the text alone.
    let media = tags.iter().filter(|tag| is_named(tag, "imeta") || is_named(tag, "emoji")).cloned().collect();
    let before = vec![tag(&["h", current.channel.as_str()]), tag(&["e", &message.to_string()])];
    // Of two edits the later counts, so this one is later than the one that it replaces.
    let after = current.edit.as_ref().map(|edit| edit.created_at.next());
    let now = after.map_or(state.now(), |after| after.max(state.now()));
    let event = event(author, now, kinds::EDIT, mentions.arrange(before, media), text);
    Ok(composed(event, &people, newly_added, told))
}

async fn copy(
    state: &State,
    author: Key,
    channel: &ChannelId,
    message: EventId,
    naming: &Naming,
) -> Result<Composed, CannotSend> {
    if naming.keys().next().is_some() || naming.typed.is_some() {
        return Err(CannotSend::Nonsense("a forward names whom the message names; it takes no other names"));
    }
    let entry = writable(state, channel, author).await?;
    let current = Current::of(state, &Reader::key(author), message).await?;
    let source = state.access.channel(&current.channel).await?;
    let (body, tags) = (current.text(), current.tags());
    let needed = identity_keys(&tags).into_iter().chain([author, current.original.key]);
    let people = people(state, author, &entry, &[source], !has_signs(body), needed).await?;
    let forwarded = Forwarded {
        author: current.original.key,
        signer: None,
        body,
        revision: if current.edit.is_some() { Revision::Edited } else { Revision::Original },
        tags: &tags,
    };
    let copy = forward(forwarded, &people.profiles());
    let recipients =
        Recipients { keys: copy.notify.iter().map(|key| Id::Nostr(*key)).collect(), references: Vec::new() };
    let (notify, moved) = keys(&recipients.without_sender(&author.into()));
    let (notify, moved) = eligible(&people, naming, notify, moved)?;
    let mut mentions = MentionTags::new(Publication::Message, &notify, None, &[])?;
    let (references, media): (Vec<Tag>, Vec<Tag>) =
        copy.tags.into_iter().partition(|tag| Reference::of(tag).is_some());
    let named = |key: &Key| references.iter().any(|tag| Reference::of(tag) == Some(Reference::Named(*key)));
    let moved = moved.into_iter().filter(|key| !named(key)).map(|key| Reference::Named(key).to_tag());
    mentions.references = moved.chain(references.iter().cloned()).collect();
    let is_forum = entry.living().is_some_and(|channel| channel.kind == vocative_store::ChannelKind::Forum);
    let form = if is_forum { Form::Post } else { Form::Message };
    let tags = mentions.arrange(vec![tag(&["h", channel.as_str()])], media);
    let event = unlike_any(state, event(author, state.now(), form.kind(), tags, body)).await?;
    Ok(composed(event, &people, Vec::new(), Vec::new()))
}

/// A message with the edit that counts.
pub(super) struct Current {
    pub(super) original: Event,
    pub(super) channel: ChannelId,
    /// The owner of the agent that wrote it.
    pub(super) owner: Option<Key>,
    /// The edit that counts.
    pub(super) edit: Option<Event>,
}

impl Current {
    /// The message as it reads now, if the reader may read it.
    pub(super) async fn of(state: &State, reader: &Reader, id: EventId) -> Result<Self, CannotSend> {
        let original = state.store.event(reader, id).await?;
        let original = original.filter(|event| Form::of(event.kind).is_some());
        let original = original.ok_or(CannotSend::NoMessage)?;
        let channel = original.values("h").next().and_then(|id| id.parse().ok());
        let channel = channel.ok_or(CannotSend::NoMessage)?;
        let owner = owner_of(state, original.key).await?;
        let edits = Filter { limit: Some(1), ..edits(&original, owner) };
        // The store answers the latest first, of equally late ones the one with the lower id: X-11.
        let edit = state.store.query(&Reader::Server, &edits).await?.pop();
        Ok(Self { original, channel, owner, edit })
    }

    pub(super) fn text(&self) -> &str {
        &self.edit.as_ref().unwrap_or(&self.original).content
    }

    /// The tags with the edit laid over them.
    pub(super) fn tags(&self) -> Vec<Tag> {
        match &self.edit {
            Some(edit) => edit::overlay(&self.original.tags, &edit.tags),
            None => self.original.tags.clone(),
        }
    }
}

/// The edits of a message that can count.
pub(super) fn edits(original: &Event, owner: Option<Key>) -> Filter {
    let authors = [Some(original.key), owner].into_iter().flatten().collect();
    let filter = Filter { kinds: Some(vec![kinds::EDIT]), authors: Some(authors), ..Filter::default() };
    // One that stood in another channel would have other readers.
    filter.tag('e', [original.id.to_string()]).tag('h', original.values("h"))
}

/// Whether an edit counts before another.
pub(super) fn is_later(edit: &Event, other: &Event) -> bool {
    fn rank<'e>(edit: &Event, id: &'e str) -> (u64, std::cmp::Reverse<&'e str>) {
        EditEvent { id, author: edit.key, created_at: edit.created_at.as_secs() }.rank()
    }
    let (id, other_id) = (edit.id.to_string(), other.id.to_string());
    rank(edit, &id) > rank(other, &other_id)
}

/// Those whose names compete where somebody writes: everyone known, or those needed where the text is plain, so
/// that no name can stand in it.
async fn people(
    state: &State,
    author: Key,
    channel: &ChannelEntry,
    others: &[Arc<ChannelEntry>],
    is_plain: bool,
    needed: impl IntoIterator<Item = Key>,
) -> Result<People, StoreError> {
    match is_plain {
        true => People::only(state, channel, needed).await,
        false => People::of(state, &[author], channel, others, needed).await,
    }
}

impl Naming {
    /// The choices as the engine takes them. A recipient without a label is chosen by its current name (E-7).
    fn draft(&self, people: &People) -> Draft {
        let mut draft = Draft::new();
        for (label, key) in &self.bindings {
            draft.push(label, Claim::Selected(Id::Nostr(*key)));
        }
        let to = self.to.iter().map(|(label, key)| (label.as_deref(), *key));
        let addressed = self.addressed.iter().map(|key| (None, *key));
        for (label, key) in to.chain(addressed) {
            if let Some(label) = label.or_else(|| people.name(key)) {
                draft.push(label, Claim::Selected(Id::Nostr(key)));
            }
        }
        draft
    }

    /// Who is tagged whether or not the text names them (E-7, W-7).
    fn explicit(&self) -> Vec<Id> {
        let to = self.to.iter().map(|(_, key)| *key);
        to.chain(self.addressed.iter().copied()).map(Id::Nostr).collect()
    }

    fn typed_names(&self, people: &People, author: Key) -> bool {
        self.typed.unwrap_or(!people.is_agent(author))
    }
}

/// The tags of a reply (NIP-10), to something that stands in the channel and that the author may read.
async fn thread(
    state: &State,
    author: Key,
    channel: &ChannelId,
    form: Form,
    reply_to: Option<EventId>,
) -> Result<Vec<Tag>, CannotSend> {
    let Some(id) = reply_to else {
        return match form {
            Form::Comment => {
                Err(CannotSend::Nonsense("a comment names the post that it is on, in `reply_to`"))
            }
            Form::Message | Form::Post => Ok(Vec::new()),
        };
    };
    if form == Form::Post {
        return Err(CannotSend::Nonsense("a post replies to nothing; a comment does"));
    }
    let target = state.store.event(&Reader::key(author), id).await?;
    let target = target.filter(|target| {
        target.values("h").eq([channel.as_str()])
            && Form::of(target.kind).is_some_and(|other| form.replies_to(other))
    });
    let target = target.ok_or(CannotSend::NoMessage)?;
    let is_root = |tag: &&Tag| is_named(tag, "e") && tag.get(3).is_some_and(|marker| marker == "root");
    let root = target.tags.iter().find(is_root).and_then(|tag| tag[1].parse::<EventId>().ok());
    let e = |id: EventId, marker: &str| tag(&["e", &id.to_string(), "", marker]);
    Ok(match root.filter(|root| *root != id) {
        Some(root) => vec![e(root, "root"), e(id, "reply")],
        None => vec![e(id, "root")],
    })
}

/// Moves those who are no members out of who is notified, if the sender wants that (T-6).
fn eligible(
    people: &People,
    naming: &Naming,
    notify: Vec<Key>,
    mut references: Vec<Key>,
) -> Result<(Vec<Key>, Vec<Key>), CannotSend> {
    let (notify, outside): (Vec<Key>, Vec<Key>) = notify.into_iter().partition(|key| people.is_member(*key));
    if !outside.is_empty() && !naming.without_inviting {
        return Err(CannotSend::NotMembers(outside.into_iter().map(|key| people.named(key)).collect()));
    }
    for key in outside {
        if !references.contains(&key) {
            references.push(key);
        }
    }
    Ok((notify, references))
}

fn storable(text: &str) -> Result<(), CannotSend> {
    if text.len() > limits::BODY {
        let message = format!("the text is longer than {} bytes", limits::BODY);
        return Err(CannotSend::BadText { code: "text_too_long", message });
    }
    if text.contains('\0') {
        let message = "the text holds the character U+0000, which cannot be stored".to_owned();
        return Err(CannotSend::BadText { code: "text_holds_nul", message });
    }
    Ok(())
}

fn ambiguous(error: Ambiguous, people: &People) -> CannotSend {
    let candidates = named(&error.candidates, people);
    CannotSend::Ambiguous(error, candidates)
}

fn told(diagnostics: Vec<Diagnostic>, people: &People) -> Vec<Told> {
    let told = diagnostics.into_iter().map(|diagnostic| {
        let concerned = named(diagnostic.keys.as_deref().unwrap_or_default(), people);
        Told { diagnostic, people: concerned }
    });
    told.collect()
}

fn named(ids: &[Id], people: &People) -> Vec<Named> {
    ids.iter().filter_map(Id::key).map(|key| people.named(key)).collect()
}

fn keys(recipients: &Recipients) -> (Vec<Key>, Vec<Key>) {
    let of = |ids: &[Id]| ids.iter().filter_map(Id::key).collect();
    (of(&recipients.keys), of(&recipients.references))
}

fn tag(parts: &[&str]) -> Tag {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

pub(super) fn is_named(tag: &Tag, name: &str) -> bool {
    tag.first().is_some_and(|first| first == name)
}

/// The event, with its id (NIP-01) and no signature.
fn event(key: Key, created_at: Timestamp, kind: u32, tags: Vec<Tag>, text: &str) -> Event {
    let written = serde_json::to_vec(&(0, key, created_at.as_secs(), kind, &tags, text));
    let written = written.expect("strings and numbers are JSON");
    let id = EventId::from_bytes(Sha256::digest(written).into());
    Event { id, key, created_at, kind, tags, content: text.to_owned(), sig: [0; 64] }
}

/// The event, a little later where the same was said this second already: it would be one with that.
async fn unlike_any(state: &State, mut event: Event) -> Result<Event, StoreError> {
    const SECONDS: usize = 60;
    for _ in 0..SECONDS {
        if state.store.event(&Reader::Server, event.id).await?.is_none() {
            break;
        }
        event = self::event(event.key, event.created_at.next(), event.kind, event.tags, &event.content);
    }
    Ok(event)
}

/// Names people for what the event says: the tags are what is published, so the answer is read from them.
fn composed(event: Event, people: &People, newly_added: Vec<Key>, told: Vec<Told>) -> Composed {
    let name = |keys: Vec<Key>| keys.into_iter().map(|key| people.named(key)).collect::<Vec<_>>();
    let recipients: Vec<Key> = event.tags.iter().filter_map(|tag| wire::recipient(tag)).collect();
    let references = event.tags.iter().filter_map(|tag| Reference::of(tag).and_then(Reference::named));
    let references = references.filter(|key| !recipients.contains(key)).collect();
    Composed {
        recipients: name(recipients),
        references: name(references),
        newly_added: name(newly_added),
        told,
        event,
    }
}
