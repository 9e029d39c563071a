//! Operations on tags and recipients.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::json;
use vocative::wire::{Publication, Reference, parse_keys};
use vocative::{Id, Key, MentionTags, Tag, WireError, audience};

use super::Answer;
use super::given;

#[derive(Deserialize)]
pub(crate) struct ReferenceTag {
    tag: Tag,
}

pub(crate) fn reference_tag(given: ReferenceTag) -> Answer {
    let accepted = Reference::of(&given.tag).map(Reference::to_tag);
    Ok(json!({ "accepted": accepted }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct GivenTags {
    notify: Vec<String>,
    references: Option<Vec<String>>,
    addressed: Vec<String>,
    edit: bool,
}

pub(crate) fn mention_tags(given: GivenTags) -> Answer {
    Ok(match tags(&given) {
        Ok(tags) => json!({ "tags": tags }),
        Err(error) => json!({ "error": error.code() }),
    })
}

fn tags(given: &GivenTags) -> Result<Vec<Tag>, WireError> {
    let publication = if given.edit { Publication::Edit } else { Publication::Message };
    let references = given.references.as_deref().map(parse_keys).transpose()?;
    let tags = MentionTags::new(
        publication,
        &parse_keys(&given.notify)?,
        references.as_deref(),
        &parse_keys(&given.addressed)?,
    )?;
    Ok(tags.into_tags())
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct MergeRecipients {
    explicit: Vec<Key>,
    addressed: Vec<Key>,
    excluded: Vec<Key>,
}

pub(crate) fn merge_recipients(given: MergeRecipients) -> Answer {
    let ids = |keys: Vec<Key>| keys.into_iter().map(Id::Nostr);
    let explicit: Vec<Id> = ids(given.explicit).collect();
    let addressed: Vec<Id> = ids(given.addressed).collect();
    let excluded: HashSet<Id> = ids(given.excluded).collect();
    let merged = audience::merge_recipients(&explicit, &addressed, &excluded);
    Ok(json!({ "keys": given::keys(&merged) }))
}

#[derive(Deserialize)]
pub(crate) struct StripPrefix {
    content: String,
    prefix: String,
}

pub(crate) fn strip_prefix(given: StripPrefix) -> Answer {
    Ok(json!({ "text": audience::strip_prefix(&given.content, &given.prefix) }))
}
