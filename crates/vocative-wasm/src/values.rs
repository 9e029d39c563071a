//! The values that cross the border, with their TypeScript types.

use serde::{Deserialize, Serialize};
use tsify::Tsify;
use vocative::present::Kind;

/// Somebody whose name competes in a channel's texts.
#[derive(Clone, Debug, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The name, as people see it.
    pub name: String,
    /// Who bears it.
    #[tsify(type = "Id")]
    pub id: String,
    /// Whether the identity belongs to the channel: an outsider's name owns its text and reaches
    /// nobody (E-4).
    #[serde(default = "yes")]
    #[tsify(optional, type = "boolean")]
    pub is_member: bool,
    /// Whether it is an agent, for its icon.
    #[serde(default)]
    #[tsify(optional, type = "boolean")]
    pub is_agent: bool,
}

fn yes() -> bool {
    true
}

/// A label and the identity it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Ref {
    /// The label.
    pub label: String,
    /// Whom it names.
    #[tsify(type = "Id")]
    pub id: String,
    /// Whether that is an agent.
    #[serde(default)]
    pub is_agent: bool,
}

/// An identity that a clipboard claims. Nothing vouches for it yet (P-2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Tsify)]
pub struct Record {
    /// The label.
    pub label: String,
    /// Whom it claims to be.
    #[tsify(type = "Key")]
    pub key: String,
    /// A person or an agent.
    #[tsify(type = "\"human\" | \"agent\"")]
    pub kind: String,
}

pub(crate) fn kind(is_agent: bool) -> Kind {
    if is_agent { Kind::Agent } else { Kind::Human }
}

/// What is known of a person (H-2).
#[derive(Clone, Debug, Default, Deserialize, Tsify)]
#[serde(default)]
pub struct Profile {
    /// The display name.
    #[tsify(optional)]
    pub display_name: Option<String>,
    /// The name.
    #[tsify(optional)]
    pub name: Option<String>,
    /// The NIP-05 handle, `local@domain`.
    #[tsify(optional)]
    pub nip05: Option<String>,
}

impl From<Profile> for vocative::Profile {
    fn from(profile: Profile) -> Self {
        let Profile { display_name, name, nip05 } = profile;
        Self { display_name, name, nip05 }
    }
}

/// Where an occurrence stands (O-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// In the writer's own words.
    Prose,
    /// In a block quote: it never notifies (E-6).
    Quote,
}

impl From<vocative::Place> for Place {
    fn from(place: vocative::Place) -> Self {
        match place {
            vocative::Place::Prose => Self::Prose,
            vocative::Place::Quote => Self::Quote,
        }
    }
}

/// A name that several identities bear: nothing may be sent until the writer chooses (A-1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct Ambiguous {
    /// `ambiguous_label`.
    #[tsify(type = "\"ambiguous_label\"")]
    pub code: String,
    /// The literal after the sign, as it stands in the text.
    pub label: String,
    /// Where it stands.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// All identities it could mean, sorted.
    #[tsify(type = "Id[]")]
    pub candidates: Vec<String>,
    /// For a person.
    pub message: String,
}

impl Ambiguous {
    pub(crate) fn of(error: &vocative::Ambiguous, positions: &crate::border::Positions<'_>) -> Self {
        let (start, end) = positions.range(error.span);
        Self {
            code: vocative::Ambiguous::CODE.to_owned(),
            label: error.label.clone(),
            start,
            end,
            candidates: texts(&error.candidates),
            message: error.to_string(),
        }
    }
}

/// What a sender should be told about a name (D-7). It never stops a send by itself (D-9).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct Diagnostic {
    /// The reason.
    #[tsify(type = "DiagnosticCode")]
    pub code: vocative::Code,
    /// Where the sign stands.
    pub start: usize,
    /// Where the name ends.
    pub end: usize,
    /// The text after the sign.
    pub name: String,
    /// The identities concerned, sorted; only for names that are ambiguous, not eligible or run on.
    #[tsify(optional, type = "Id[]")]
    pub ids: Option<Vec<String>>,
}

#[wasm_bindgen::prelude::wasm_bindgen(typescript_custom_section)]
const CODES: &str = r#"
/** Why a name reaches nobody (D-7). */
export type DiagnosticCode =
  | "ambiguous_label" | "not_eligible" | "paste_expired" | "unresolved_reference" | "unknown_name"
  | "run_on" | "glued" | "hidden_text" | "quoted" | "in_code" | "in_link" | "wide_sign";

/** What becomes of a sign. */
export type Fate =
  | "bound" | "ambiguous" | "expired" | "not_eligible" | "unresolved" | "unknown" | "path" | "glued"
  | "run_on" | "escaped" | "code" | "link" | "hidden" | "quote" | "inside" | "bare" | "wide_sign";
"#;

pub(crate) fn diagnostics(
    reading: &vocative::Reading<'_>,
    positions: &crate::border::Positions<'_>,
) -> Vec<Diagnostic> {
    let told = reading.diagnostics().into_iter();
    told.map(|told| {
        let (start, end) = positions.range(told.span);
        Diagnostic { code: told.code, start, end, name: told.name, ids: told.keys.map(|ids| texts(&ids)) }
    })
    .collect()
}

pub(crate) fn texts<'i, T: ToString + 'i>(ids: impl IntoIterator<Item = &'i T>) -> Vec<String> {
    ids.into_iter().map(ToString::to_string).collect()
}
