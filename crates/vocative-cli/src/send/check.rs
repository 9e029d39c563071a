//! What a server has composed, before it is signed: a key signs nothing that its owner did not ask for.

use nostr::event::UnsignedEvent;
use nostr::key::PublicKey;
use nostr::types::Timestamp;

/// How far the time of an event may be off, in seconds: further ahead no relay takes it.
const TOLERANCE: u64 = 15 * 60;

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) author: PublicKey,
    pub(super) kinds: &'a [u16],
    /// Absent: it is not known here, because the text is that of another message.
    pub(super) text: Option<&'a str>,
    /// A tag that must be there, by its name and value.
    pub(super) place: (&'a str, &'a str),
    pub(super) now: u64,
}

impl Asked<'_> {
    /// Whether this is what was asked for; else what is not.
    pub(super) fn is(&self, event: &UnsignedEvent) -> Result<(), &'static str> {
        const TAGS: [&str; 8] =
            ["h", "e", "p", "mention", vocative::wire::SNAPSHOT, "imeta", "emoji", "link-preview"];
        let of_place = |tag: &nostr::event::Tag| {
            let parts = tag.as_slice();
            parts.first().is_some_and(|name| name == self.place.0).then(|| parts.get(1).cloned())
        };
        let mut places = event.tags.iter().filter_map(of_place);
        if event.pubkey != self.author {
            return Err("its author");
        }
        if !self.kinds.contains(&event.kind.as_u16()) {
            return Err("its kind");
        }
        if self.text.is_some_and(|text| text != event.content) {
            return Err("its text");
        }
        if places.next().flatten().as_deref() != Some(self.place.1) || places.next().is_some() {
            return Err("its place");
        }
        if event.tags.iter().any(|tag| tag.as_slice().first().is_none_or(|name| !TAGS.contains(&&**name))) {
            return Err("a tag");
        }
        if event.created_at.as_secs().abs_diff(self.now) > TOLERANCE {
            return Err("its time");
        }
        Ok(())
    }
}

/// Seconds since 1970, by this machine's clock.
pub(super) fn now() -> u64 {
    Timestamp::now().as_secs()
}

#[cfg(test)]
mod tests {
    use nostr::event::{EventBuilder, FinalizeUnsignedEvent, Kind, Tag};
    use nostr::key::Keys;

    use super::*;

    #[test]
    fn nothing_else_is_signed() {
        let (ann, bob) = (Keys::generate().public_key(), Keys::generate().public_key());
        let asked = Asked { author: ann, kinds: &[9], text: Some("hi"), place: ("h", "open"), now: 1000 };
        let open: &[&[&str]] = &[&["h", "open"], &["p", "x"], &["mention", "x"]];
        for (author, kind, text, tags, at, expected) in [
            (ann, 9, "hi", open, 1000, Ok(())),
            (ann, 9, "hi", open, 1900, Ok(())),
            (bob, 9, "hi", open, 1000, Err("its author")),
            (ann, 5, "hi", open, 1000, Err("its kind")),
            (ann, 9, "ho", open, 1000, Err("its text")),
            (ann, 9, "hi", &[&["h", "other"]], 1000, Err("its place")),
            (ann, 9, "hi", &[&["h", "open"], &["h", "other"]], 1000, Err("its place")),
            (ann, 9, "hi", &[&["p", "open"]], 1000, Err("its place")),
            (ann, 9, "hi", &[&["h", "open"], &["a", "30023:x:y"]], 1000, Err("a tag")),
            (ann, 9, "hi", open, 1901, Err("its time")),
            (ann, 9, "hi", open, 99, Err("its time")),
        ] {
            let tags = tags.iter().map(|tag| Tag::parse(tag.iter().copied()).unwrap());
            let event = EventBuilder::new(Kind::from(kind), text).tags(tags);
            let event = event.custom_created_at(Timestamp::from_secs(at)).finalize_unsigned(author);
            assert_eq!(asked.is(&event), expected, "{kind} {text} {at}");
        }
        let forward = Asked { text: None, ..asked };
        let event = EventBuilder::new(Kind::from(9), "any").tags([Tag::parse(["h", "open"]).unwrap()]);
        let event = event.custom_created_at(Timestamp::from_secs(1000)).finalize_unsigned(ann);
        assert_eq!(forward.is(&event), Ok(()));
    }
}
