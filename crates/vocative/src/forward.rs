//! Forwarding a message to a channel: whom the copy notifies and which tags go with it (F).

use std::collections::{HashMap, HashSet};

use crate::history::{History, Profiles};
use crate::id::Key;
use crate::reading::Place;
use crate::wire::{Reference, Tag, has_snapshot, name, once, recipient};

/// A message that is to be forwarded, with its latest edit laid over it.
#[derive(Clone, Copy, Debug)]
pub struct Forwarded<'m> {
    /// Who wrote it.
    pub author: Key,
    /// Who signed it, where that is another.
    pub signer: Option<Key>,
    /// The body as it now reads.
    pub body: &'m str,
    /// Whether an edit is laid over it.
    pub revision: Revision,
    /// Its tags, those of the edit included.
    pub tags: &'m [Tag],
}

/// Whether a message is as it was first published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// No edit counts.
    Original,
    /// An edit is laid over it.
    Edited,
}

/// The new message. Eligibility is checked again at the target; the text stays (F-4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forward {
    /// Whom it notifies, in tag order (F-1 to F-3).
    pub notify: Vec<Key>,
    /// The tags that are copied (F-4).
    pub tags: Vec<Tag>,
}

/// What forwarding a message publishes.
pub fn forward(message: Forwarded<'_>, profiles: &Profiles) -> Forward {
    let mut notify = match message.revision {
        Revision::Original => message.tags.iter().filter_map(|tag| recipient(tag)).collect(),
        Revision::Edited if has_snapshot(message.tags) => from_snapshot(message, profiles),
        Revision::Edited => from_body(message, profiles),
    };
    notify.retain(|key| *key != message.author && Some(*key) != message.signer);
    Forward { notify: once(notify), tags: copied(message.tags) }
}

/// The latest list of references and the addresses that were delivered (F-2), without those who are
/// named in quotes only (F-3). A key without a resolved place is notified: its name may have changed.
fn from_snapshot(message: Forwarded<'_>, profiles: &Profiles) -> Vec<Key> {
    let delivered: HashSet<Key> = message.tags.iter().filter_map(|tag| recipient(tag)).collect();
    let places = places(message, profiles);
    let references = message.tags.iter().filter_map(|tag| Reference::of(tag));
    let counts = references.filter_map(|reference| match reference {
        Reference::Addressed(key) => Some(key).filter(|key| delivered.contains(key)),
        Reference::Named(key) => Some(key),
    });
    counts.filter(|key| places.get(key) != Some(&Place::Quote)).collect()
}

/// Without a list, those whose name still stands in the body (F-2).
fn from_body(message: Forwarded<'_>, profiles: &Profiles) -> Vec<Key> {
    let places = places(message, profiles);
    let recipients = message.tags.iter().filter_map(|tag| recipient(tag));
    recipients.filter(|key| places.get(key) == Some(&Place::Prose)).collect()
}

/// For each key with a resolved occurrence: prose if one stands there, else quote.
fn places(message: Forwarded<'_>, profiles: &Profiles) -> HashMap<Key, Place> {
    let history = History::read(message.tags, profiles, message.body);
    let mut places = HashMap::new();
    for found in history.occurrences() {
        let Some(key) = found.key else { continue };
        let place = places.entry(key).or_insert(found.place);
        if found.place == Place::Prose {
            *place = Place::Prose;
        }
    }
    places
}

fn copied(tags: &[Tag]) -> Vec<Tag> {
    let is_off = |tag: &Tag| name(tag) == "link-preview" && tag.get(1).is_some_and(|v| v == "none");
    let has_off = tags.iter().any(is_off);
    let copied = tags.iter().filter_map(|tag| match name(tag) {
        "emoji" | "imeta" => Some(tag.clone()),
        "mention" => Reference::of(tag).map(Reference::to_tag),
        "link-preview" if !has_off || is_off(tag) => Some(tag.clone()),
        _ => None,
    });
    copied.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Profile;

    fn key(byte: u8) -> Key {
        Key::from_bytes([byte; 32])
    }

    fn tag(parts: &[&str]) -> Tag {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    fn ada() -> Profiles {
        let profile = Profile { display_name: Some("Ada".into()), ..Profile::default() };
        [(key(0xa1), profile)].into()
    }

    #[test]
    fn whom_a_forward_notifies() {
        use Revision::{Edited, Original};
        let a = key(0xa1).to_string();
        let upper = a.to_uppercase();
        let marker: &[&str] = &["buzz:mention-snapshot"];
        let p: &[&str] = &["p", &a];
        let reply: &[&str] = &["p", &a, "", "reply"];
        let named: &[&str] = &["mention", &a];
        let odd: &[&str] = &["mention", &a, "other"];
        let addressed: &[&str] = &["mention", &a, "agent-address"];
        for (revision, body, tags, reaches) in [
            (Original, "> @Ada", vec![p], true),
            (Original, "", vec![&["p", &upper][..], p], true),
            (Original, "@Ada", vec![reply], false),
            (Original, "@Ada", vec![named], false),
            (Edited, "@Ada", vec![p], true),
            (Edited, "> @Ada", vec![p], false),
            (Edited, "`@Ada`", vec![p], false),
            (Edited, "@Ada", vec![named], false),
            (Edited, "", vec![named, marker], true),
            (Edited, "", vec![odd, marker], false),
            (Edited, "> @Ada", vec![named, marker], false),
            (Edited, "> @Ada\n\n@Ada", vec![named, marker], true),
            (Edited, "@Ada", vec![p, marker], false),
            (Edited, "> @Ada", vec![p, addressed, marker], true),
            (Edited, "", vec![addressed, marker], false),
            (Edited, "", vec![reply, addressed, marker], false),
            (Edited, "> @Ada\n\n@Ada", vec![p], true),
            (Edited, "`@Ada`", vec![named, marker], true),
        ] {
            let tags: Vec<Tag> = tags.into_iter().map(tag).collect();
            let mut message = Forwarded { author: key(1), signer: None, body, revision, tags: &tags };
            let expected: &[Key] = if reaches { &[key(0xa1)] } else { &[] };
            let notify = forward(message, &ada()).notify;
            assert_eq!(notify, expected, "{revision:?} {body:?} {tags:?}");
            message.signer = Some(key(0xa1));
            assert_eq!(forward(message, &ada()).notify, []);
        }
    }

    #[test]
    fn which_tags_go_along() {
        let a = key(0xa1).to_string();
        let tags: Vec<Tag> = [
            &["h", "c"][..],
            &["mention", &a.to_uppercase()],
            &["mention", "junk"],
            &["emoji", "x", "u"],
            &["link-preview", "https://e", "s"],
            &["mention-range", &a, "0", "4"],
            &["buzz:mention-snapshot"],
            &[],
        ]
        .map(tag)
        .into();
        let expected: Vec<Tag> =
            [&["mention", a.as_str()][..], &["emoji", "x", "u"], &["link-preview", "https://e", "s"]]
                .map(tag)
                .into();
        assert_eq!(copied(&tags), expected);
    }
}
