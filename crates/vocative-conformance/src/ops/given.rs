//! The shapes that several operations share.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vocative::{Ambiguous, Claim, Draft, Id, Key, Member, Roster, Standing};

/// `{"name","key","is_member"}`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct GivenMember {
    pub(crate) name: String,
    pub(crate) key: Key,
    #[serde(default = "yes")]
    pub(crate) is_member: bool,
}

fn yes() -> bool {
    true
}

/// `{"label","key","is_agent"}`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Ref {
    pub(crate) label: String,
    pub(crate) key: Key,
    #[serde(default)]
    pub(crate) is_agent: bool,
}

/// A label and its key.
pub(crate) type Pair = (String, Key);

pub(crate) fn roster(members: Vec<GivenMember>) -> Roster {
    let rows = members.into_iter().map(|member| Member {
        name: member.name,
        id: Id::Nostr(member.key),
        standing: if member.is_member { Standing::Member } else { Standing::Outsider },
    });
    rows.collect()
}

pub(crate) fn draft(selected: &[Pair], personas: &[String], competing: &[String]) -> Draft {
    let mut draft = Draft::new();
    for (label, key) in selected {
        draft.push(label, Claim::Selected(Id::Nostr(*key)));
    }
    for label in personas {
        draft.push(label, Claim::Persona);
    }
    for label in competing {
        draft.push(label, Claim::Competing);
    }
    draft
}

/// A key as the cases write it: bare hex.
pub(crate) fn key(id: &Id) -> String {
    id.key().map_or_else(|| id.to_string(), |key| key.to_string())
}

/// Keys as the cases write them.
pub(crate) fn keys(ids: &[Id]) -> Vec<String> {
    ids.iter().map(key).collect()
}

/// `Err` of the cases.
pub(crate) fn ambiguous(error: &Ambiguous) -> Value {
    json!({ "error": Ambiguous::CODE, "label": error.label, "candidates": keys(&error.candidates) })
}
