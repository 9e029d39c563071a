//! Operations on published texts: their names, their edits, their forwards.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, json};
use vocative::edit::{self, Published, Replacement};
use vocative::forward::{self, Forwarded, Revision};
use vocative::{Draft, History, Key, Profile, Profiles, ResolvedNames, Roster, Tag, audience};

use super::Answer;
use super::given::{self, GivenMember, Pair};

/// Profiles as given; an entry whose key is none describes nobody.
fn profiles(given: BTreeMap<String, Profile>) -> Profiles {
    let keyed = given.into_iter();
    keyed.filter_map(|(key, profile)| Some((key.parse().ok()?, profile))).collect()
}

fn names<'n>(by_name: &'n BTreeMap<String, Key>, names: &'n [String]) -> ResolvedNames {
    let bindings = by_name.iter().map(|(name, key)| (name.as_str(), *key));
    ResolvedNames::new(bindings, names.iter().map(String::as_str))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    content: String,
    tags: Vec<Tag>,
    profiles: BTreeMap<String, Profile>,
    agents: Vec<Key>,
}

impl Message {
    fn read(&mut self) -> History {
        let profiles = profiles(std::mem::take(&mut self.profiles));
        History::read(&self.tags, &profiles, &self.content)
    }
}

pub(crate) fn resolve_history(mut given: Message) -> Answer {
    let history = given.read();
    let by_name = history.by_name().map(|bound| {
        let bound = bound.into_iter();
        bound.map(|(form, key)| (form.to_owned(), json!(key))).collect::<Map<_, _>>()
    });
    Ok(json!({ "names": history.names(), "by_name": by_name }))
}

pub(crate) fn edit_open(mut given: Message) -> Answer {
    let opened = given.read().open();
    let refs = opened.refs.into_iter().filter_map(|binding| {
        let key = binding.id.key()?;
        let is_agent = given.agents.contains(&key);
        Some(json!({ "label": binding.label, "key": key, "is_agent": is_agent }))
    });
    Ok(json!({ "refs": refs.collect::<Vec<_>>(), "unresolved_keys": opened.unresolved }))
}

pub(crate) fn mention_ranges(mut given: Message) -> Answer {
    let hints = given.read().accepted_ranges(&given.tags).into_iter();
    let accepted: Vec<_> = hints.map(|hint| (hint.key, hint.start, hint.end)).collect();
    Ok(json!({ "accepted": accepted }))
}

#[derive(Deserialize)]
pub(crate) struct EditSubmit {
    original: String,
    content: String,
    #[serde(rename = "self")]
    sender: Key,
    #[serde(flatten)]
    rest: EditRest,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EditRest {
    tags: Vec<Tag>,
    profiles: BTreeMap<String, Profile>,
    selected: Vec<Pair>,
    personas: Vec<String>,
    members: Vec<GivenMember>,
}

pub(crate) fn edit_submit(given: EditSubmit) -> Answer {
    let rest = given.rest;
    let draft: Draft = given::draft(&rest.selected, &rest.personas, &[]);
    let roster: Roster = given::roster(rest.members);
    let published = Published { body: &given.original, tags: &rest.tags, profiles: &profiles(rest.profiles) };
    let replacement = Replacement {
        body: &given.content,
        draft: &draft,
        roster: &roster,
        sender: given.sender,
        typed_names: true,
        explicit: &[],
    };
    Ok(match edit::submit(published, replacement) {
        Err(error) => given::ambiguous(&error),
        Ok(saved) => json!({ "references": saved.references, "notify": saved.notify }),
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct EditOverlay {
    original: Vec<Tag>,
    edit: Vec<Tag>,
}

pub(crate) fn edit_overlay(given: EditOverlay) -> Answer {
    Ok(json!({ "tags": edit::overlay(&given.original, &given.edit) }))
}

#[derive(Deserialize)]
pub(crate) struct AddedOnEdit {
    original: Vec<Key>,
    edited: Vec<Key>,
    #[serde(rename = "self")]
    sender: Key,
}

pub(crate) fn added_on_edit(given: AddedOnEdit) -> Answer {
    let keys = edit::added_on_edit(&given.original, &given.edited, given.sender);
    Ok(json!({ "keys": keys }))
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    text: String,
    body: String,
    addressed: Vec<Key>,
    by_name: BTreeMap<String, Key>,
    names: Vec<String>,
}

pub(crate) fn order_by_text(given: Named) -> Answer {
    let names = names(&given.by_name, &given.names);
    Ok(json!({ "keys": names.order_by_text(&given.text) }))
}

pub(crate) fn address_tray(given: Named) -> Answer {
    let names = names(&given.by_name, &given.names);
    Ok(json!({ "visible": audience::tray(&given.body, &given.addressed, &names) }))
}

#[derive(Deserialize)]
pub(crate) struct Forward {
    message: ForwardMessage,
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

#[derive(Deserialize)]
struct ForwardMessage {
    author: Key,
    signer: Option<Key>,
    body: String,
    edited: bool,
    #[serde(default)]
    tags: Option<Vec<Tag>>,
}

pub(crate) fn forward(given: Forward) -> Answer {
    let message = given.message;
    let tags = message.tags.unwrap_or_default();
    let forwarded = Forwarded {
        author: message.author,
        signer: message.signer,
        body: &message.body,
        revision: if message.edited { Revision::Edited } else { Revision::Original },
        tags: &tags,
    };
    let forward = forward::forward(forwarded, &profiles(given.profiles));
    Ok(json!({ "notify": forward.notify, "tags": forward.tags }))
}
