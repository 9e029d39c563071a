//! The names of a channel, held inside, and what is the same for all its composers.

use std::cell::{Cell, Ref as Borrowed, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tsify::{Ts, Tsify};
use vocative::suggest::Suggestions;
use vocative::{Id, Labels, Profiles, Roster, RowId, Standing};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{Answer, error, id, key, read, read_all, write_all};
use crate::composer::Composer;
use crate::values::{Member, Profile};

/// What an engine and its composers share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) roster: Roster,
    pub(crate) channels: Labels,
    pub(crate) has_channels: bool,
    pub(crate) agents: HashSet<Id>,
    pub(crate) profiles: Profiles,
    pub(crate) suggestions: Suggestions,
    rows: HashMap<u32, RowId>,
    next_row: u32,
}

pub(crate) struct Held {
    shared: RefCell<Shared>,
    /// Counts changes of what competes in texts.
    revision: Cell<u32>,
}

impl Held {
    pub(crate) fn get(&self) -> Borrowed<'_, Shared> {
        self.shared.borrow()
    }

    pub(crate) fn revision(&self) -> u32 {
        self.revision.get()
    }

    fn touch(&self) {
        self.revision.set(self.revision.get().wrapping_add(1));
    }
}

/// The names of one channel: members, outsiders, channels, profiles and suggestions.
///
/// Set it up once, then change it in place: adding or renaming somebody costs microseconds.
#[wasm_bindgen]
pub struct Engine {
    held: Rc<Held>,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

#[wasm_bindgen]
impl Engine {
    /// An engine that knows nobody.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        let held = Held { shared: RefCell::new(Shared::default()), revision: Cell::new(0) };
        Self { held: Rc::new(held) }
    }

    /// Replaces everybody; roster order is the order given. Returns a row number for each, by which
    /// it is changed later. A name that could never match (`label_too_long`) changes nothing.
    #[wasm_bindgen(js_name = setMembers)]
    pub fn set_members(&self, members: Vec<Ts<Member>>) -> Answer<Vec<u32>> {
        let mut fresh = Shared::default();
        let rows =
            read_all(&members)?.into_iter().map(|member| fresh.add(member)).collect::<Answer<Vec<u32>>>()?;
        let mut shared = self.held.shared.borrow_mut();
        shared.roster = fresh.roster;
        shared.agents = fresh.agents;
        shared.rows = fresh.rows;
        shared.next_row = fresh.next_row;
        self.held.touch();
        Ok(rows)
    }

    /// Adds one name at the end of roster order, and returns its row number.
    #[wasm_bindgen(js_name = addMember)]
    pub fn add_member(&self, member: Ts<Member>) -> Answer<u32> {
        let row = self.held.shared.borrow_mut().add(read(&member)?)?;
        self.held.touch();
        Ok(row)
    }

    /// Takes a row out; false where there is none.
    #[wasm_bindgen(js_name = removeMember)]
    pub fn remove_member(&self, row: u32) -> bool {
        let shared = &mut *self.held.shared.borrow_mut();
        let removed = shared.rows.remove(&row).and_then(|at| shared.roster.remove(at));
        if let Some(member) = &removed
            && !shared.roster.knows(&member.id)
        {
            shared.agents.remove(&member.id);
        }
        self.held.touch();
        removed.is_some()
    }

    /// Gives a row another name; it keeps its place. False where there is no such row.
    #[wasm_bindgen(js_name = renameMember)]
    pub fn rename_member(&self, row: u32, name: &str) -> Answer<bool> {
        let shared = &mut *self.held.shared.borrow_mut();
        let Some(at) = shared.rows.get(&row) else {
            return Ok(false);
        };
        shared.roster.rename(*at, name).map_err(|problem| error(problem.code(), &problem.to_string()))?;
        self.held.touch();
        Ok(true)
    }

    /// Makes a row a member of the channel or an outsider. False where there is no such row.
    #[wasm_bindgen(js_name = setIsMember)]
    pub fn set_is_member(&self, row: u32, is_member: bool) -> bool {
        let shared = &mut *self.held.shared.borrow_mut();
        let Some(at) = shared.rows.get(&row) else {
            return false;
        };
        shared.roster.set_standing(*at, standing(is_member));
        self.held.touch();
        true
    }

    /// How many names there are.
    #[wasm_bindgen(getter, js_name = memberCount)]
    pub fn member_count(&self) -> usize {
        self.held.get().roster.len()
    }

    /// The names of channels, which stand behind `#`.
    #[wasm_bindgen(js_name = setChannels)]
    pub fn set_channels(&self, labels: Vec<String>) {
        let mut shared = self.held.shared.borrow_mut();
        shared.has_channels = !labels.is_empty();
        shared.channels = labels.iter().collect();
        self.held.touch();
    }

    /// What is known of an identity, for published texts (H-2, H-4). Without a profile it is forgotten.
    #[wasm_bindgen(js_name = setProfile)]
    pub fn set_profile(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Key")] of: &str,
        profile: Option<Ts<Profile>>,
    ) -> Answer<()> {
        let of = key(of)?;
        let profiles = &mut self.held.shared.borrow_mut().profiles;
        match profile {
            Some(profile) => profiles.insert(of, read(&profile)?.into()),
            None => profiles.remove(&of),
        };
        Ok(())
    }

    /// Who can be suggested, in source order. Folded once, ranked for each query (S-4).
    #[wasm_bindgen(js_name = setCandidates)]
    pub fn set_candidates(&self, candidates: Vec<Ts<Candidate>>) -> Answer<()> {
        let candidates =
            read_all(&candidates)?.into_iter().map(Candidate::read).collect::<Answer<Vec<_>>>()?;
        self.held.shared.borrow_mut().suggestions = Suggestions::new(candidates);
        Ok(())
    }

    /// The suggestions for a query, best first, at most 50 (S-5).
    pub fn suggest(&self, query: &str) -> Answer<Vec<Ts<Suggestion>>> {
        let shared = self.held.get();
        write_all(shared.suggestions.rank(query).map(Suggestion::of))
    }

    /// A composer over these names.
    pub fn composer(&self) -> Composer {
        Composer::over(self.held.clone())
    }

    pub(crate) fn shared(&self) -> Borrowed<'_, Shared> {
        self.held.get()
    }
}

fn standing(is_member: bool) -> Standing {
    if is_member { Standing::Member } else { Standing::Outsider }
}

impl Shared {
    fn add(&mut self, member: Member) -> Answer<u32> {
        let id = id(&member.id)?;
        if member.is_agent {
            self.agents.insert(id.clone());
        }
        let standing = standing(member.is_member);
        let at = self.roster.add(vocative::Member { name: member.name, id, standing });
        let at = at.map_err(|problem| error(problem.code(), &problem.to_string()))?;
        let row = self.next_row;
        self.next_row += 1;
        self.rows.insert(row, at);
        Ok(row)
    }
}

/// Somebody or something that could be suggested (S-4).
#[derive(Clone, Debug, Default, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "camelCase", default)]
pub struct Candidate {
    /// The name, as people see it.
    pub name: String,
    /// Who it is; a persona and a team are nobody yet.
    #[tsify(optional, type = "Id")]
    pub id: Option<String>,
    /// Whether it is an agent.
    #[tsify(optional, type = "boolean")]
    pub is_agent: bool,
    /// Whether it belongs to this channel.
    #[tsify(optional, type = "boolean")]
    pub is_member: bool,
    /// Whether it is a team.
    #[tsify(optional, type = "boolean")]
    pub is_team: bool,
    /// The persona it is, or that the agent embodies.
    #[tsify(optional)]
    pub persona: Option<String>,
    /// The name of the persona that the agent embodies.
    #[tsify(optional)]
    pub persona_name: Option<String>,
    /// The secondary label: a handle.
    #[tsify(optional)]
    pub handle: Option<String>,
    /// The name of an agent's owner.
    #[tsify(optional)]
    pub owner: Option<String>,
    /// Whether it was found by user search, which is shown only with a query.
    #[tsify(optional, type = "boolean")]
    pub is_search: bool,
    /// Archived identities are not suggested.
    #[tsify(optional, type = "boolean")]
    pub is_archived: bool,
    /// Nor are those that must not be mentioned.
    #[tsify(optional, type = "boolean")]
    pub is_hidden: bool,
}

impl Candidate {
    fn read(self) -> Answer<vocative::suggest::Candidate> {
        Ok(vocative::suggest::Candidate {
            id: self.id.as_deref().map(id).transpose()?,
            name: self.name,
            is_agent: self.is_agent,
            is_member: self.is_member,
            is_team: self.is_team,
            persona: self.persona,
            persona_name: self.persona_name,
            handle: self.handle,
            owner: self.owner,
            is_search: self.is_search,
            is_archived: self.is_archived,
            is_hidden: self.is_hidden,
        })
    }
}

/// One row of the picker.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Suggestion {
    /// The name, as people see it.
    pub name: String,
    /// Who it is; a persona and a team are nobody yet.
    #[tsify(optional, type = "Id")]
    pub id: Option<String>,
    /// What it is a row for.
    #[tsify(type = "\"identity\" | \"persona\" | \"team\"")]
    pub kind: vocative::rank::RowKind,
    /// Where it stands in the order (S-5).
    #[tsify(type = "\"members\" | \"made\" | \"people\" | \"agents\"")]
    pub group: vocative::rank::Group,
    /// Whether it is an agent.
    pub is_agent: bool,
    /// Whether it belongs to this channel.
    pub is_member: bool,
    /// The persona it is, or that the agent embodies.
    #[tsify(optional)]
    pub persona: Option<String>,
    /// The secondary label: a handle.
    #[tsify(optional)]
    pub handle: Option<String>,
    /// The name of an agent's owner.
    #[tsify(optional)]
    pub owner: Option<String>,
    /// Its accessible name: no two namesakes have the same (S-4).
    pub accessible_name: String,
    /// Another name looks like this one (UTS 39).
    pub is_confusable: bool,
    /// The name holds direction controls: draw it isolated.
    pub has_bidi_controls: bool,
    /// The abbreviated key, where a flag asks to show it.
    #[tsify(optional)]
    pub shown_key: Option<String>,
}

impl Suggestion {
    pub(crate) fn of(row: &vocative::suggest::Row) -> Self {
        let candidate = &row.candidate;
        Self {
            name: candidate.name.clone(),
            id: candidate.id.as_ref().map(ToString::to_string),
            kind: row.kind,
            group: row.group,
            is_agent: candidate.is_agent,
            is_member: candidate.is_member,
            persona: candidate.persona.clone(),
            handle: candidate.handle.clone(),
            owner: candidate.owner.clone(),
            accessible_name: row.accessible_name.clone(),
            is_confusable: row.is_confusable,
            has_bidi_controls: row.has_bidi_controls,
            shown_key: row.shown_key.clone(),
        }
    }
}
