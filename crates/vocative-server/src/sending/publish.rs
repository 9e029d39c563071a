//! A signed message on its way into the store: composed again, held against what it says, and admitted.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use vocative::wire::{Reference, recipient};
use vocative::{Key, Tag};
use vocative_store::{Event, EventId, Reader, kinds};

use super::compose::{Current, compose, is_later, is_named};
use super::{CannotSend, Difference, Form, Named, Naming, Sending, What};
use crate::relay::protocol::{self, Accepted, Reason, Refused};
use crate::relay::{Decision, State};

/// Publishes a message whose author is proven to be here, as the relay would on a connection of theirs, if it
/// names whom it would name now. `source` is the message that it forwards.
///
/// # Errors
/// Why it is not stored.
pub(crate) async fn publish(
    state: &State,
    event: nostr::event::Event,
    naming: Naming,
    source: Option<EventId>,
) -> Result<Accepted, CannotSend> {
    event.verify().map_err(|_| CannotSend::Forged)?;
    let event = protocol::stored_event(event);
    let outcome = admit(state, event, naming, source).await;
    let word = match &outcome {
        Ok(Accepted::Stored) => "stored",
        Ok(Accepted::Duplicate) => "duplicate",
        Err(CannotSend::Refused(refused)) => refused.reason.as_str(),
        Err(_) => "not-as-composed",
    };
    metrics::counter!("vocative_events_total", "outcome" => word).increment(1);
    outcome
}

async fn admit(
    state: &State,
    event: Event,
    naming: Naming,
    source: Option<EventId>,
) -> Result<Accepted, CannotSend> {
    let author = event.key;
    // The key is proven, so that the address is not what is counted.
    if !state.limiter.may_publish(author, &[author], IpAddr::V4(Ipv4Addr::UNSPECIFIED)) {
        let why = "this key publishes too often; wait a second";
        return Err(Refused::new(Reason::RateLimited, why).into());
    }
    // Who asks again did not hear the answer: by now others may bear the names.
    if state.store.event(&Reader::key(author), event.id).await?.is_some() {
        return Ok(Accepted::Duplicate);
    }
    if event.kind == kinds::EDIT {
        still_counts(state, &event).await?;
    }
    let what = what(&event, source)?;
    let composed = compose(state, &Sending { author, what, naming }).await;
    let composed = composed?;
    let (said, now) = (Said::of(&event.tags), Said::of(&composed.event.tags));
    if said.names != now.names {
        let people = composed.recipients.iter().chain(&composed.references).cloned();
        return Err(CannotSend::RosterChanged(Box::new(difference(
            &said.names,
            &now.names,
            people.collect(),
        ))));
    }
    if said.rest != now.rest || event.kind != composed.event.kind || event.content != composed.event.content {
        return Err(CannotSend::NotAsComposed);
    }
    match state.admit(event, &[author]).await? {
        Decision::Stored => Ok(Accepted::Duplicate),
        Decision::Admitted(admitted) => Ok(state.commit(admitted, &[author]).await?),
    }
}

/// What an event sends, as it says itself.
fn what(event: &Event, source: Option<EventId>) -> Result<What, CannotSend> {
    let text = event.content.clone();
    let id = |tag: Option<&Tag>| tag.and_then(|tag| tag.get(1)?.parse::<EventId>().ok());
    let e = || event.tags.iter().filter(|tag| is_named(tag, "e"));
    if event.kind == kinds::EDIT && source.is_none() {
        let message = id(e().next()).ok_or(CannotSend::NotAsComposed)?;
        return Ok(What::Edit { message, text });
    }
    let form = Form::of(event.kind).ok_or(CannotSend::NotAsComposed)?;
    let channel = event.values("h").next().and_then(|id| id.parse().ok());
    let channel = channel.ok_or(CannotSend::NotAsComposed)?;
    if let Some(message) = source {
        return Ok(What::Forward { channel, message });
    }
    // The last of them is what it replies to directly (NIP-10).
    let reply_to = match e().next_back() {
        None => None,
        last => Some(id(last).ok_or(CannotSend::NotAsComposed)?),
    };
    Ok(What::New { channel, form, text, reply_to })
}

/// An edit that another has overtaken would be stored and never shown.
async fn still_counts(state: &State, edit: &Event) -> Result<(), CannotSend> {
    let Some(message) = edit.values("e").next().and_then(|id| id.parse().ok()) else { return Ok(()) };
    let current = Current::of(state, &Reader::key(edit.key), message).await?;
    match &current.edit {
        Some(counting) if !is_later(edit, counting) => Err(CannotSend::EditedMeanwhile),
        _ => Ok(()),
    }
}

/// What the tags of an event say, as far as it is ours to compose. Attachments and the like are its client's.
struct Said<'t> {
    names: Names,
    rest: Vec<&'t Tag>,
}

/// Whom tags name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Names {
    notified: BTreeSet<Key>,
    referred: BTreeSet<Key>,
    addressed: BTreeSet<Key>,
}

impl<'t> Said<'t> {
    fn of(tags: &'t [Tag]) -> Self {
        const OURS: [&str; 5] = ["h", "e", "p", "mention", vocative::wire::SNAPSHOT];
        let mut said = Self { names: Names::default(), rest: Vec::new() };
        for tag in tags {
            if let Some(key) = recipient(tag) {
                said.names.notified.insert(key);
            } else if let Some(reference) = Reference::of(tag) {
                match reference {
                    Reference::Named(key) => said.names.referred.insert(key),
                    Reference::Addressed(key) => said.names.addressed.insert(key),
                };
            } else if OURS.iter().any(|name| is_named(tag, name)) {
                said.rest.push(tag);
            }
        }
        said
    }
}

/// Who is concerned, by name where it is known: of those whom the event named before it is not said again.
fn difference(said: &Names, now: &Names, people: Vec<Named>) -> Difference {
    let named = |key: &Key| {
        people.iter().find(|named| named.key == *key).cloned().unwrap_or_else(|| Named::unknown(*key))
    };
    let only = |one: &BTreeSet<Key>, other: &BTreeSet<Key>| one.difference(other).map(named).collect();
    let (notified, all_now) = (&said.notified, &now.notified);
    let referred: BTreeSet<Key> = said.referred.union(&said.addressed).copied().collect();
    let referred_now: BTreeSet<Key> = now.referred.union(&now.addressed).copied().collect();
    Difference {
        not_notified: only(notified, all_now),
        notified: only(all_now, notified),
        not_referred: only(&referred, &referred_now),
        referred: only(&referred_now, &referred),
    }
}

#[cfg(test)]
mod tests {
    use vocative::{Key, Tag};

    use super::{Said, difference};

    fn tags(text: &str) -> Vec<Tag> {
        let key = |name: &str| Key::from_bytes([name.as_bytes()[0]; 32]).to_string();
        let tag = |text: &str| {
            let mut parts = text.split(' ');
            let name = parts.next().unwrap_or_default().to_owned();
            let value = parts.next().map(key);
            [name].into_iter().chain(value).chain(parts.map(|part| part.replace('_', ""))).collect()
        };
        text.split(", ").map(tag).collect()
    }

    /// What an event says is what is composed: the same people, and the same of our own tags.
    #[test]
    fn what_is_held_against_each_other() {
        for (signed, composed, same_names, same_rest) in [
            ("h c, p a, mention b", "h c, p a, mention b", true, true),
            ("h c, p b, p a", "h c, p a, p b", true, true),
            ("h c, p a, imeta x, client y", "h c, p a", true, true),
            ("h c, p a, p b", "h c, p a", false, true),
            ("h c, p a", "h c, p a, p b", false, true),
            ("h c, mention a", "h c, p a", false, true),
            ("h c, p a, mention a agent-address", "h c, p a", false, true),
            ("h c, p a _ reply", "h c", true, false),
            ("h c, mention a other", "h c", true, false),
            ("h c, e a _ root", "h c", true, false),
            ("h c, e a _ root", "h c, e a _ reply", true, false),
            ("h d", "h c", true, false),
            ("h c, buzz:mention-snapshot", "h c", true, false),
        ] {
            let (signed_tags, composed_tags) = (tags(signed), tags(composed));
            let (said, now) = (Said::of(&signed_tags), Said::of(&composed_tags));
            assert_eq!((said.names == now.names, said.rest == now.rest), (same_names, same_rest), "{signed}");
        }
    }

    #[test]
    fn a_difference_says_who_came_and_who_went() {
        let (signed, composed) = (tags("p a, mention b"), tags("p b, mention c"));
        let found = difference(&Said::of(&signed).names, &Said::of(&composed).names, Vec::new());
        let keys = |named: &[super::Named]| {
            named.iter().map(|n| char::from(n.key.as_bytes()[0])).collect::<String>()
        };
        assert_eq!(
            [&found.not_notified, &found.notified, &found.not_referred, &found.referred].map(|n| keys(n)),
            ["a", "b", "b", "c"]
        );
    }
}
