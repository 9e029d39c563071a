//! What holds of edits whatever they say, and the recorded sessions that repair a history.

use proptest::prelude::*;

use super::tests::{SELF, roster, short};
use super::*;
use crate::forward::{Forwarded, Revision, forward};
use crate::history::tests::{expand, key, profiles, tags};

/// Saves, lays the edit over the message, opens it again, saves unchanged, and forwards.
fn repair(original: &[Tag], body: &str, to: &str, known: &Profiles, roster: &Roster) -> [Vec<Key>; 4] {
    let draft = Draft::new();
    let save = |body: &str, tags: &[Tag], to: &str, roster: &Roster| {
        let published = Published { body, tags, profiles: known };
        let replacement = Replacement {
            body: to,
            draft: &draft,
            roster,
            sender: key(SELF),
            typed_names: true,
            explicit: &[],
        };
        submit(published, replacement).unwrap()
    };
    let first = save(body, original, to, roster);
    let laid = overlay(original, &first.tags().unwrap().into_tags());
    let second = save(to, &laid, to, &Roster::new());
    let laid = overlay(&laid, &second.tags().unwrap().into_tags());
    let message =
        Forwarded { author: key(SELF), signer: None, body: to, revision: Revision::Edited, tags: &laid };
    let forwarded = forward(message, known).notify;
    [first.references, first.notify, second.references, forwarded]
}

#[test]
fn history_is_repaired_forward_013() {
    let known = profiles(&[("a1", "Ada"), ("9c", "Ada")]);
    let roster = roster(&[("Linus", "15")]);
    let all = repair(&tags("p a1, p 9c"), "@Ada old", "@Linus fixed", &known, &roster);
    assert_eq!(all.map(|keys| short(&keys)), ["15", "15", "15", "15"]);
}

#[test]
fn history_is_repaired_forward_015() {
    let known = profiles(&[("a1", "Ada"), ("9c", "Ada"), ("15", "Ada King"), ("ba", "Ada King")]);
    let tags = tags("p a1, p 9c, p 15, p ba");
    let body = "@Ada and @Ada King old";
    let all = repair(&tags, body, "@Ada King fixed", &known, &Roster::new());
    assert_eq!(all.map(|keys| short(&keys)), ["15 ba", "", "15 ba", "15 ba"]);
}

fn any_tags() -> impl Strategy<Value = Vec<Tag>> {
    let pool = [
        "h c",
        "imeta u",
        "imeta v",
        "emoji x",
        "p a1",
        "p 9c",
        "p a1 - reply",
        "p junk",
        "mention a1",
        "mention 15",
        "mention 9c agent-address",
        "buzz:mention-snapshot",
    ];
    prop::collection::vec(0..pool.len(), 0..8)
        .prop_map(move |chosen| chosen.iter().flat_map(|&at| tags(pool[at])).collect())
}

proptest! {
    /// laying the same edit over a message again changes nothing but the order of kinds.
    #[test]
    fn an_overlay_is_idempotent(original in any_tags(), edit in any_tags()) {
        let once = overlay(&original, &edit);
        let mut twice = overlay(&once, &edit);
        let mut sorted = once.clone();
        sorted.sort();
        twice.sort();
        prop_assert_eq!(&sorted, &twice);
        // What the message says of identities is the edit's list, or the original's.
        if has_snapshot(&edit) {
            let mut listed = edit.clone();
            listed.retain(|tag| name(tag) != "p");
            prop_assert_eq!(identity_keys(&once), identity_keys(&listed));
        }
    }

    /// Opening an edited message again and saving it unchanged refers to the same identities.
    #[test]
    fn reopening_and_saving_is_stable(
        words in prop::collection::vec(0_usize..9, 0..8),
        to in prop::collection::vec(0_usize..9, 0..8),
        chosen in prop::collection::vec(0_usize..4, 0..4),
        names in prop::collection::vec(0_usize..4, 4),
    ) {
        let keys = ["a1", "9c", "15", "ba"];
        let pool = ["Ada", "ada", "Ada King", "Bo"];
        let pieces =
            ["@Ada", " ", " @Ada King", " (<9c>)", " @Bo", "> ", "\n\n", "/", " @Ada (<a1>)"];
        let text = |words: &[usize]| expand(&words.iter().map(|&at| pieces[at]).collect::<String>());
        // Every known identity is tagged: a name that is not competes when a message is read, not
        // when it is written, unless the channel knows it too.
        let tags: Vec<Tag> = chosen.iter().map(|&at| vec!["p".to_owned(), keys[at].repeat(32)]).collect();
        let names: Vec<(&str, &str)> =
            chosen.iter().map(|&at| (keys[at], pool[names[at]])).collect();
        let known = profiles(&names);
        let [first, _, mut second, _] =
            repair(&tags, &text(&words), &text(&to), &known, &Roster::new());
        let mut first = first;
        first.sort();
        second.sort();
        prop_assert_eq!(first, second);
    }
}
