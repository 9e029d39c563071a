//! The paste fences against a model that remembers every character (P-8, P-9).
//!
//! The model gives each character a number of its own. A pasted range takes in what is typed inside
//! it, and lives as long as none of its characters is deleted or replaced; its label stands while
//! nothing has come in between.

use vocative::{
    Binding, CheckId, Draft, Id, Key, PasteFences, PastedRecord, Recipients, Roster, Scope, Span,
};

/// What one edit does, relative to a pasted name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Words are typed before everything.
    InsertBefore,
    /// Words are typed after everything.
    InsertAfter,
    /// A quotation mark is typed right behind the name.
    InsertAtEdge,
    /// A letter is typed inside the name.
    InsertInside,
    /// The first character of the text is deleted, where the name does not hold it.
    DeleteBefore,
    /// The last letter of the name is deleted.
    DeleteInside,
    /// The name is replaced by the same text.
    ReplaceSame,
    /// The space inside the name is written as a no-break space.
    Respace,
}

const KINDS: [Kind; 8] = [
    Kind::InsertBefore,
    Kind::InsertAfter,
    Kind::InsertAtEdge,
    Kind::InsertInside,
    Kind::DeleteBefore,
    Kind::DeleteInside,
    Kind::ReplaceSame,
    Kind::Respace,
];

impl Kind {
    fn touches_inside(self) -> bool {
        matches!(self, Self::InsertInside | Self::DeleteInside | Self::ReplaceSame)
    }
}

const NAMES: [&str; 4] = ["Ada King", "Grace Hop", "Li Na", "Zoe Ray"];

#[derive(Clone)]
struct Composer {
    text: String,
    /// The number of each character, in text order.
    numbers: Vec<u32>,
    next: u32,
    draft: Draft,
    fences: PasteFences,
    pastes: Vec<Paste>,
}

#[derive(Clone)]
struct Paste {
    check: CheckId,
    name: &'static str,
    id: Id,
    /// The characters of the pasted name.
    numbers: Vec<u32>,
    /// Those, and what was typed between them.
    range: Vec<u32>,
    is_dead: bool,
}

impl Composer {
    fn new() -> Self {
        let text = "so ".to_owned();
        let numbers = (0..3).collect();
        Self { text, numbers, next: 3, draft: Draft::new(), fences: PasteFences::new(), pastes: Vec::new() }
    }

    fn byte(&self, character: usize) -> usize {
        self.text.char_indices().nth(character).map_or(self.text.len(), |(at, _)| at)
    }

    /// Replaces characters `from..to`, and returns what undoes it.
    fn replace(
        &mut self,
        from: usize,
        to: usize,
        inserted: &str,
        keep_numbers: bool,
    ) -> (usize, usize, String) {
        let range = self.byte(from)..self.byte(to);
        let span = Span::new(&self.text, range.clone()).unwrap();
        self.fences.edited(&self.text, span, inserted);
        self.renumber(from, to, inserted, keep_numbers);
        let removed = self.text[range.clone()].to_owned();
        self.text.replace_range(range, inserted);
        (from, from + inserted.chars().count(), removed)
    }

    fn renumber(&mut self, from: usize, to: usize, inserted: &str, keep_numbers: bool) {
        if keep_numbers {
            return;
        }
        let count = u32::try_from(inserted.chars().count()).unwrap();
        let fresh = self.next..self.next + count;
        self.next += count;
        for paste in &mut self.pastes {
            let holds = |at: usize| self.numbers.get(at).is_some_and(|number| paste.range.contains(number));
            paste.is_dead |= (from..to).any(holds);
            if from == to && from > 0 && holds(from - 1) && holds(from) {
                paste.range.extend(fresh.clone());
            }
        }
        self.numbers.splice(from..to, fresh);
    }

    fn paste(&mut self, which: usize) {
        let at = self.numbers.len();
        let inserted = format!("@{}, ", NAMES[which]);
        let end = self.text.len();
        let span = Span::new(&self.text, end..end).unwrap();
        let id = Id::Nostr(Key::from_bytes([u8::try_from(which).unwrap() + 1; 32]));
        let record = PastedRecord { label: NAMES[which].into(), id: id.clone() };
        let checks = self.fences.pasted(&self.text, span, &inserted, &[record]);
        self.renumber(at, at, &inserted, false);
        self.text.push_str(&inserted);
        let numbers = self.numbers[at..at + 1 + NAMES[which].chars().count()].to_vec();
        self.pastes.push(Paste {
            check: checks[0].0,
            name: NAMES[which],
            id,
            range: numbers.clone(),
            numbers,
            is_dead: false,
        });
    }

    /// Where the characters of a pasted name that are left stand.
    fn place(&self, paste: usize) -> Option<(usize, usize)> {
        let own = &self.pastes[paste].numbers;
        let first = self.numbers.iter().position(|number| own.contains(number))?;
        let last = self.numbers.iter().rposition(|number| own.contains(number))?;
        Some((first, last + 1))
    }

    /// Applies an edit; none where there is no place for it. Returns what undoes it, and whether
    /// that only writes spaces.
    fn edit(&mut self, kind: Kind, paste: usize) -> Option<((usize, usize, String), bool)> {
        let (start, end) = self.place(paste).filter(|(start, end)| end - start > 3)?;
        let chars: Vec<char> = self.text.chars().collect();
        let undo = match kind {
            Kind::InsertBefore => self.replace(0, 0, "well ", false),
            Kind::InsertAfter => self.replace(chars.len(), chars.len(), " ok", false),
            Kind::InsertAtEdge => self.replace(end, end, "\"", false),
            Kind::InsertInside => self.replace(start + 2, start + 2, "x", false),
            Kind::DeleteBefore if start > 0 && !self.is_pasted(0) => self.replace(0, 1, "", false),
            Kind::DeleteBefore => return None,
            Kind::DeleteInside => self.replace(end - 1, end, "", false),
            Kind::ReplaceSame => {
                let same: String = chars[start..end].iter().collect();
                self.replace(start, end, &same, false)
            }
            Kind::Respace => {
                let space = (start..end).find(|&at| matches!(chars[at], ' ' | '\u{a0}'))?;
                let other = if chars[space] == ' ' { "\u{a0}" } else { " " };
                return Some((self.replace(space, space + 1, other, true), true));
            }
        };
        Some((undo, false))
    }

    fn is_pasted(&self, at: usize) -> bool {
        self.pastes.iter().any(|paste| paste.numbers.contains(&self.numbers[at]))
    }

    /// Whether the range lives and holds the name alone.
    fn is_whole(&self, paste: usize) -> bool {
        let Paste { numbers, is_dead, .. } = &self.pastes[paste];
        !is_dead && self.numbers.windows(numbers.len()).any(|window| window == numbers.as_slice())
    }

    fn verdict(&self, paste: usize) -> Option<Binding> {
        let mut later = self.clone();
        let nobody = Roster::new();
        later.fences.verdict(self.pastes[paste].check, true, &self.text, &nobody, &mut later.draft)
    }

    fn reading(&self) -> (Vec<Binding>, Option<Recipients>) {
        let mut draft = self.draft.clone();
        for paste in &self.pastes {
            draft.bind(paste.name, paste.id.clone());
        }
        let nobody = Roster::new();
        let reading = Scope::new(&nobody, &draft).read(&self.text);
        (reading.refs(), reading.recipients().ok())
    }
}

/// Whose verdicts are asked for after each edit; at the end it is always all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    All,
    Edited,
}

/// Runs edits, checks every verdict on the way, undoes all, and checks that everything is back.
fn check(pastes: usize, edits: &[(Kind, usize)], asked: Asked) {
    let mut composer = Composer::new();
    for which in 0..pastes {
        composer.paste(which);
    }
    let (before, text) = (composer.reading(), composer.text.clone());
    let mut undo = Vec::new();
    let mut touched = vec![false; pastes];
    for &(kind, paste) in edits {
        let Some(step) = composer.edit(kind, paste) else {
            continue;
        };
        undo.push(step);
        touched[paste] |= kind.touches_inside();
        // An answer now may bind only what stands whole; where it does, it must.
        let asked_for = if asked == Asked::All { 0..pastes } else { paste..paste + 1 };
        for paste in asked_for {
            let binding = composer.verdict(paste);
            let own = &composer.pastes[paste];
            let expected =
                composer.is_whole(paste).then(|| Binding { label: own.name.into(), id: own.id.clone() });
            assert_eq!(binding, expected, "{edits:?} after {kind:?}: {:?}", composer.text);
        }
    }
    for ((from, to, removed), keeps) in undo.into_iter().rev() {
        composer.replace(from, to, &removed, keeps);
    }
    assert_eq!(composer.text, text, "{edits:?}");
    assert_eq!(composer.reading(), before, "{edits:?}");
    for (paste, touched) in touched.into_iter().enumerate() {
        assert_eq!(composer.verdict(paste).is_some(), composer.is_whole(paste), "{edits:?}");
        assert!(touched || composer.is_whole(paste), "{edits:?}: an untouched range must live");
    }
}

#[test]
fn two_pastes_and_every_three_edits() {
    let steps: Vec<(Kind, usize)> = KINDS.into_iter().flat_map(|kind| [(kind, 0), (kind, 1)]).collect();
    for first in &steps {
        for second in &steps {
            for third in &steps {
                check(2, &[*first, *second, *third], Asked::All);
            }
        }
    }
}

#[test]
fn a_million_random_runs_of_four_pastes_and_six_edits() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed =
        std::env::var("VOCATIVE_SEED").map_or(now.as_nanos() as u64, |seed| seed.parse().expect("a number"));
    println!("seed {seed}; run again with VOCATIVE_SEED={seed}");
    let runs: u64 = std::env::var("VOCATIVE_RUNS").map_or(1_000_000, |runs| runs.parse().expect("a number"));
    std::thread::scope(|scope| {
        for half in 0..2 {
            scope.spawn(move || {
                let mut state = (seed ^ half) | 1;
                let mut below = |limit: usize| {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    (state >> 11) as usize % limit
                };
                for _ in 0..runs / 2 {
                    let edits: Vec<(Kind, usize)> = (0..6).map(|_| (KINDS[below(8)], below(4))).collect();
                    check(4, &edits, Asked::Edited);
                }
            });
        }
    });
}
