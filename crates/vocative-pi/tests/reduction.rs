//! Reduction: the test vectors of section 4.2 and the algebra of section 4.3.

mod support;

use proptest::prelude::*;
use support::*;
use vocative_pi::artifact::Artifact;
use vocative_pi::discover::session_files;
use vocative_pi::{Inputs, Options, Reduction};

/// The reduction of a file, or the codes of what is wrong with it.
fn read(place: u32, text: impl AsRef<[u8]>) -> Result<Reduction, Vec<String>> {
    let mut problems = Vec::new();
    let mut note = |problem: vocative_pi::Problem| problems.push(problem.code.to_string());
    let input = Inputs::new(Options::default()).read(place, text.as_ref(), &mut note).unwrap();
    input.map(|input| input.reduction).ok_or(problems)
}

fn reduce<T: AsRef<[u8]>>(texts: impl IntoIterator<Item = T>) -> Reduction {
    let mut all = Reduction::default();
    for (place, text) in texts.into_iter().enumerate() {
        all.absorb(read(place as u32, text).unwrap());
    }
    all
}

fn written(reduction: &Reduction) -> String {
    let mut bytes = Vec::new();
    Artifact::of(reduction).write(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn recorded() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/pi");
    let files = session_files(folder.as_ref()).unwrap();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn the_recorded_sessions_give_the_known_artifact() {
    let reduction = reduce(recorded());
    assert_eq!(Artifact::of(&reduction).id(), "zm1_7636ab42b67d8ebc08f98296");
    let text = written(&reduction);
    assert_eq!(text.len(), 4467);
    assert_eq!(read(0, &text), Ok(reduction));
}

#[test]
fn a_header_alone_gives_the_known_artifact() {
    let reduction = reduce([file(&[header("s1")])]);
    assert_eq!(Artifact::of(&reduction).id(), "zm1_69d9f4d629af7f076fa0438a");
    let text = written(&reduction);
    assert!(text.contains(r#""timeRange":null,"mentions":[]"#), "{text}");
    assert!(text.starts_with(r#"{"type":"session","version":3,"id":"zm1_69d9f4d629af7f076fa0438a","timestamp":"1970-01-01T00:00:00.000Z","cwd":""}"#));
}

#[test]
fn an_artifact_holds_no_text_path_or_handle() {
    let text = written(&reduce(recorded()));
    for absent in ["SteffenPL", "labproj", "branch two", "stub", "/tmp"] {
        assert!(!text.contains(absent), "{absent}");
    }
}

#[test]
fn anything_but_the_canonical_form_is_refused() {
    let text = written(&reduce(recorded()));
    let key_at = text.find("reductionKey").unwrap() + 15;
    let other_key = if &text[key_at..=key_at] == "0" { "1" } else { "0" };
    let cases: Vec<(String, &str)> = vec![
        (text.replace("\"cwd\":\"\"", "\"cwd\":\"/\""), "artifact_not_canonical"),
        (text.replace("z=-1 mentions", "mentions"), "artifact_not_canonical"),
        (
            text.replace("\"schemaVersion\":1,\"z\":-1", "\"z\":-1,\"schemaVersion\":1"),
            "artifact_not_canonical",
        ),
        (text.replace("\"schemaVersion\":1", "\"schemaVersion\": 1"), "artifact_not_canonical"),
        (text.replace("\"schemaVersion\":1", "\"schemaVersion\":2"), "artifact_schema"),
        (text.replace("\"modelId\":null", "\"modelId\":\"m\""), "artifact_not_canonical"),
        (text.replace("\"modelId\":null", "\"modelId\":null,\"title\":\"x\""), "artifact_not_canonical"),
        (text.replace("github:gszep", "github:gszeq"), "artifact_key"),
        (
            text.replace("\"recipientId\":\"github:gszep\"", "\"recipientId\":\"gszep\""),
            "artifact_not_canonical",
        ),
        (format!("{}{other_key}{}", &text[..key_at], &text[key_at + 1..]), "artifact_key"),
        (text.lines().take(2).map(|line| format!("{line}\n")).collect(), "artifact_not_canonical"),
        (text.lines().take(1).map(|line| format!("{line}\n")).collect(), "artifact_not_canonical"),
        (text.trim_end().to_owned(), "unterminated_artifact"),
        (format!("{text}{{\"torn"), "unterminated_artifact"),
    ];
    for (text, expected) in cases {
        let codes = read(0, &text).expect_err(&text);
        assert!(codes.iter().any(|code| code == expected), "{expected}: {codes:?}");
    }
}

#[test]
fn an_artifact_that_pi_continued_is_both_artifact_and_session() {
    let base = reduce(recorded());
    let text = written(&base);
    let id = Artifact::of(&base).id();
    let leaf = format!("m{}", &Artifact::of(&base).key()[31..38]);
    let more = file(&[user("u1", &leaf, "now @B"), marker("k1", "u1", &id, "u1", &["B"])]);
    let continued = read(0, format!("{text}{more}{{\"torn")).unwrap();
    assert!(continued.contains(&base));
    assert_eq!(continued.len(), base.len() + 1);
    // The artifact's own id is never an input.
    assert_eq!(continued.inputs(), base.inputs());
    let wrong = file(&[user("u1", "nowhere", "x")]);
    assert_eq!(
        read(0, format!("{text}{wrong}")),
        Err(vec!["artifact_continued".into(), "parent_missing".into()])
    );
}

#[test]
fn a_difference_in_actor_or_time_is_a_conflict_and_a_difference_in_case_is_none() {
    let session = |actor: &str, at: u32, to: &str| {
        file(&[header("s1"), user_at("u1", "", at, "x"), marker_by(actor, "m1", "u1", "s1", "u1", &[to])])
    };
    assert!(reduce([session("A", 1, "B"), session("a", 1, "b")]).conflicts().is_empty());
    for other in [session("C", 1, "B"), session("A", 2, "B")] {
        let both = reduce([session("A", 1, "B"), other.clone()]);
        assert_eq!(both.conflicts().len(), 1);
        let [first, second] = &both.conflicts()[0].references;
        assert_eq!((first.origin.file, first.origin.line), (0, 3));
        assert_eq!((second.origin.file, second.origin.line), (1, 3));
        assert_eq!(reduce([other, session("A", 1, "B")]).conflicts().len(), 1);
    }
}

/// Sessions of one shape: a chain of messages of which some are marked, with a branch here and
/// there, and forks that keep the first session's evidence.
fn sessions() -> impl Strategy<Value = Vec<String>> {
    let message = (0u32..3, prop::collection::btree_set(0usize..3, 0..3));
    let session = (0usize..4, any::<bool>(), prop::collection::vec(message, 0..6));
    prop::collection::vec(session, 1..5).prop_map(|sessions| {
        const PEOPLE: [&str; 3] = ["Ada", "bob", "Cy_d"];
        sessions
            .into_iter()
            .map(|(name, fork, messages)| {
                // A fork holds evidence of the session it came from, whose name is shared.
                let (id, target) = if fork {
                    (format!("f{name}"), "s0".to_owned())
                } else {
                    (format!("s{name}"), format!("s{name}"))
                };
                let mut lines = vec![if fork { fork_header(&id) } else { header(&id) }];
                let mut parent = String::new();
                for (number, (back, to)) in messages.into_iter().enumerate() {
                    let entry = format!("u{number}");
                    lines.push(user_at(&entry, if back == 0 { "" } else { &parent }, number as u32, "x"));
                    parent.clone_from(&entry);
                    let to: Vec<&str> = to.into_iter().map(|person| PEOPLE[person]).collect();
                    if !to.is_empty() {
                        let own = format!("m{number}");
                        lines.push(marker(&own, &entry, &target, &entry, &to));
                        parent = own;
                    }
                }
                file(&lines)
            })
            .collect()
    })
}

proptest! {
    /// Law 1: the order of inputs does not matter.
    #[test]
    fn union_is_commutative(texts in sessions(), seed in any::<u64>()) {
        let mut shuffled = texts.clone();
        let mut state = seed;
        for place in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            shuffled.swap(place, (state >> 33) as usize % (place + 1));
        }
        prop_assert_eq!(written(&reduce(texts)), written(&reduce(shuffled)));
    }

    /// Law 2: the grouping of inputs does not matter.
    #[test]
    fn union_is_associative(texts in sessions(), cut in 0usize..5) {
        let cut = cut.min(texts.len());
        let mut left = reduce(&texts[..cut]);
        left.absorb(reduce(&texts[cut..]));
        prop_assert_eq!(written(&left), written(&reduce(&texts)));
    }

    /// Law 3: an input twice is an input once.
    #[test]
    fn union_is_idempotent(texts in sessions()) {
        let once = reduce(&texts);
        let mut twice = once.clone();
        twice.absorb(once.clone());
        prop_assert_eq!(written(&twice), written(&once));
        prop_assert!(twice.contains(&once) && once.contains(&twice));
    }

    /// Law 4: reducing artifacts of sessions is reducing the sessions, byte for byte, also where
    /// some inputs are sessions and some are artifacts.
    #[test]
    fn artifacts_stand_for_their_sessions(texts in sessions(), which in any::<u8>()) {
        let mixed: Vec<String> = texts.iter().enumerate().map(|(place, text)| {
            if which >> place & 1 == 1 { written(&reduce([text])) } else { text.clone() }
        }).collect();
        prop_assert_eq!(written(&reduce(mixed)), written(&reduce(&texts)));
    }

    /// Law 5: what is written is read back as the same set, and as nothing else after a change.
    #[test]
    fn an_artifact_has_one_spelling(texts in sessions(), at in any::<prop::sample::Index>()) {
        let reduction = reduce(&texts);
        let text = written(&reduction);
        prop_assert_eq!(read(0, &text), Ok(reduction));
        let mut changed = text.clone().into_bytes();
        let at = at.index(changed.len());
        changed[at] = if changed[at] == b'1' { b'2' } else { b'1' };
        prop_assert!(read(0, changed).is_err());
    }

    /// Law 6: the index answers what the set answers, in memory and on disk.
    #[test]
    fn the_index_agrees_with_the_set(texts in sessions(), since in 0u32..6, until in 0u32..6, limit in 0usize..6) {
        use vocative_pi::{Timestamp, index::{self, Fingerprint, OpenIndex}, query::{Index, Query}};
        let reduction = reduce(&texts);
        let index = Index::of(&reduction);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        let [state, other] = [1, 2].map(|max_line| Fingerprint::of_all(&[], max_line));
        index::write(&path, &state, &index).unwrap();
        prop_assert!(OpenIndex::open(&path, &other).is_none());
        let on_disk = OpenIndex::open(&path, &state).unwrap();
        let at = |millis| Timestamp::parse(time(millis).as_bytes());
        for recipient in ["ada", "bob", "cy_d", "nobody"] {
            let query = Query {
                recipient: recipient.parse().unwrap(),
                actor: None,
                since: at(since).filter(|_| since > 0),
                until: at(until).filter(|_| until > 0),
                limit: (limit > 0).then_some(limit),
            };
            let naive = query.run(&reduction);
            prop_assert_eq!(index.run(&query), naive.clone());
            let on_disk = on_disk.run(&query).unwrap();
            prop_assert!(on_disk.iter().map(|(key, reference)| (key, reference)).eq(naive.iter().copied()));
            prop_assert!(naive.windows(2).all(|pair| pair[0].1.at >= pair[1].1.at));
        }
    }
}
