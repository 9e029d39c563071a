//! Reserving a label for a choice, so that it stands for one identity (R).

use crate::draft::{Claim, Draft};
use crate::form::form;
use crate::id::Id;
use crate::label::{qualified, trim};
use crate::reading::Scope;
use crate::roster::Standing;

/// The label that choosing `id`, known as `name`, reserves in a draft.
///
/// `text` is the draft's text without the query that the choice replaces; without it, names typed
/// earlier are not looked at (R-2 c). Choosing again gives the same label.
pub fn reserve(scope: Scope<'_>, name: &str, id: &Id, text: Option<&str>) -> String {
    let name = trim(name);
    // Handles of a registry are unique.
    let Id::Nostr(key) = id else {
        return name.to_owned();
    };
    let plain = Candidate { scope, label: name, id };
    if !plain.borrows_a_key() && (plain.is_held() || !plain.is_taken_as_name(text)) {
        return name.to_owned();
    }
    let first = format!("{name} ({key})");
    let more = (2_u64..).map(|number| format!("{first} {number}"));
    let mut labels = std::iter::once(first.clone()).chain(more);
    labels.find(|label| Candidate { scope, label, id }.is_free_as_qualified()).unwrap_or(first)
}

/// The labels of several choices, each seeing those before. A choice without identity keeps
/// its name, as a persona.
pub fn reserve_all<'n>(
    scope: Scope<'_>,
    choices: impl IntoIterator<Item = (&'n str, Option<Id>)>,
    text: Option<&str>,
) -> Vec<String> {
    let mut draft: Draft = scope.draft.clone();
    let mut labels = Vec::new();
    for (name, id) in choices {
        let label = match id {
            Some(id) => {
                let label = reserve(Scope { draft: &draft, ..scope }, name, &id, text);
                draft.bind(&label, id);
                label
            }
            None => {
                draft.push(name, Claim::Persona);
                trim(name).to_owned()
            }
        };
        labels.push(label);
    }
    labels
}

/// What choosing a team inserts. The team's own name is plain text.
pub fn team_text(team: &str, labels: &[String]) -> String {
    let members: Vec<String> = labels.iter().map(|label| format!("@{label}")).collect();
    format!("{team}({}) ", members.join(" "))
}

/// Whether a team may be offered: every member resolves (`None` for one that does not), and no
/// two share a name unless both have identities.
pub fn team_is_offered(members: &[Option<(&str, Option<&Id>)>]) -> bool {
    let mut seen: std::collections::HashMap<String, bool> = std::collections::HashMap::new();
    members.iter().all(|member| {
        let Some((name, id)) = member else {
            return false;
        };
        let has_id = id.is_some();
        match seen.insert(form(trim(name)), has_id) {
            Some(other_has_id) => has_id && other_has_id,
            None => true,
        }
    })
}

/// A label that might be reserved for `id`.
struct Candidate<'c> {
    scope: Scope<'c>,
    label: &'c str,
    id: &'c Id,
}

impl Candidate<'_> {
    /// Whether the label has the shape of G-14 with another key than the chosen one.
    fn borrows_a_key(&self) -> bool {
        qualified(self.label).is_some_and(|parts| Id::Nostr(parts.key) != *self.id)
    }

    fn bound(&self) -> impl Iterator<Item = &Claim> {
        self.scope.draft.claims_of(self.label).map(|(_, claim)| claim)
    }

    /// Whether the chosen identity holds an equal label already.
    fn is_held(&self) -> bool {
        self.bound().any(|claim| matches!(claim, Claim::Selected(id) | Claim::Fallback(id) if id == self.id))
    }

    /// R-2 a and b: another key or a persona holds an equal label.
    fn is_held_by_another(&self) -> bool {
        self.bound().any(|claim| match claim {
            Claim::Selected(id) | Claim::Fallback(id) => id != self.id,
            Claim::Persona => true,
            Claim::Competing | Claim::Expired | Claim::Outsider(_) => false,
        })
    }

    ///
    fn is_taken_as_name(&self, text: Option<&str>) -> bool {
        let roster = self.scope.roster;
        let mut members = roster.bearers(self.label).filter(|member| member.standing == Standing::Member);
        let is_named_otherwise = members.any(|member| member.id != *self.id);
        self.is_held_by_another()
            || is_named_otherwise && (!roster.has_member(self.id) || text.is_some_and(|text| self.owns(text)))
            || qualified(self.label).is_some() && self.is_anothers_name()
    }

    /// Whether an equal label owns a range of the text (R-2 c).
    fn owns(&self, text: &str) -> bool {
        let own = form(self.label);
        let reading = self.scope.read(text);
        reading.occurrences().iter().any(|occurrence| form(&occurrence.span.of(text)[1..]) == own)
    }

    ///
    fn is_free_as_qualified(&self) -> bool {
        self.is_held() || !self.is_held_by_another() && !self.is_anothers_name()
    }

    /// Whether a known identity other than the chosen one bears the label as its name.
    fn is_anothers_name(&self) -> bool {
        self.scope.roster.bearers(self.label).any(|member| member.id != *self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Member, Roster};

    const A: Key = Key::from_bytes([0xa1; 32]);
    const B: Key = Key::from_bytes([0xb0; 32]);

    fn roster(members: &[(&str, Key, Standing)]) -> Roster {
        let rows = members.iter().map(|&(name, key, standing)| Member {
            name: name.into(),
            id: key.into(),
            standing,
        });
        rows.collect()
    }

    /// Reserves `name` for A; `expected` is what follows the name: nothing, or a qualifier.
    #[test]
    fn when_a_name_is_taken() {
        use Standing::{Member, Outsider};
        for (why, members, bound, text, is_qualified) in [
            ("free", vec![], vec![], None, false),
            ("a: bound to another", vec![], vec![Claim::Selected(B.into())], None, true),
            ("restored for another", vec![], vec![Claim::Fallback(B.into())], None, true),
            ("held already", vec![], vec![Claim::Selected(A.into())], None, false),
            ("b: a persona", vec![], vec![Claim::Persona], None, true),
            ("an old label holds nothing", vec![], vec![Claim::Competing], None, false),
            (
                "two namesakes, nothing typed",
                vec![("Ada", A, Member), ("ADA", B, Member)],
                vec![],
                Some("hi"),
                false,
            ),
            (
                "c: a namesake was typed",
                vec![("Ada", A, Member), ("ADA", B, Member)],
                vec![],
                Some("@ada hi"),
                true,
            ),
            (
                "typed in code only",
                vec![("Ada", A, Member), ("ADA", B, Member)],
                vec![],
                Some("`@ada`"),
                false,
            ),
            (
                "an outsider was typed",
                vec![("Ada", A, Member), ("Ada", B, Outsider)],
                vec![],
                Some("@Ada"),
                false,
            ),
            ("d: an outsider takes a member's name", vec![("Ada", B, Member)], vec![], None, true),
            ("only outsiders share it", vec![("Ada", B, Outsider)], vec![], None, false),
        ] {
            let roster = roster(&members);
            let mut draft = Draft::new();
            for claim in bound {
                draft.push("Ada", claim);
            }
            let label = reserve(Scope::new(&roster, &draft), " Ada ", &A.into(), text);
            let expected = if is_qualified { format!("Ada ({A})") } else { "Ada".into() };
            assert_eq!(label, expected, "{why}");
        }
    }

    #[test]
    fn handles_are_never_qualified() {
        let (roster, mut draft) = (Roster::new(), Draft::new());
        draft.bind("ada", "github:other".parse().unwrap());
        let id = "github:ada".parse().unwrap();
        assert_eq!(reserve(Scope::new(&roster, &draft), "ada", &id, None), "ada");
    }

    #[test]
    fn a_qualified_name_that_another_bears_is_numbered() {
        let borrowed = format!("Ada ({A})");
        let roster = roster(&[(&borrowed, B, Standing::Member)]);
        let mut draft = Draft::new();
        draft.bind("Ada", B.into());
        assert_eq!(reserve(Scope::new(&roster, &draft), "Ada", &A.into(), None), format!("Ada ({A}) 2"));
    }

    #[test]
    fn teams() {
        let (roster, draft) = (Roster::new(), Draft::new());
        let members = [("Ada", None), ("Ada", Some(A.into())), ("Bo", Some(B.into()))];
        let labels = reserve_all(Scope::new(&roster, &draft), members, None);
        assert_eq!(team_text("Crew", &labels), format!("Crew(@Ada @Ada ({A}) @Bo) "));
        let (a, b) = (Id::from(A), Id::from(B));
        assert!(team_is_offered(&[Some(("Ada", Some(&a))), Some(("ada", Some(&b)))]));
        assert!(!team_is_offered(&[Some(("Ada", Some(&a))), Some(("ada", None))]));
        assert!(!team_is_offered(&[Some(("Ada", Some(&a))), None]));
    }
}
