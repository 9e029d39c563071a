//! When the picker opens and what a choice writes (S-1, S-2, S-6, S-7).
//!
//! Works on the plain text of one block. Whether the caret stands in code the caller knows (S-3).

use serde::Serialize;

use crate::chars::{is_line_end, is_space};
use crate::form::form;
use crate::known::{Joints, Known};
use crate::label::trim;
use crate::limits;
use crate::offset::{ByteOffset, Span};

/// What the picker is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Trigger<'t> {
    /// The text between the sign and the caret.
    pub query: &'t str,
    /// What a choice replaces: the sign and the query.
    pub span: Span,
}

/// The signs that open the picker: `@`, and the wide ones, for which a choice writes `@` (S-1).
fn is_sign(c: char) -> bool {
    c == '@' || is_wide_sign(c)
}

fn is_wide_sign(c: char) -> bool {
    matches!(c, '\u{ff20}' | '\u{fe6b}')
}

/// The query that the caret stands behind, if the picker opens there (S-1, S-2).
pub fn trigger<'t>(text: &'t str, caret: ByteOffset, known: &Known<'_>) -> Option<Trigger<'t>> {
    let caret = caret.get();
    let before = text.get(..caret)?;
    let joints = Joints::of(before, known);
    // A choice writes `@`, so a wide sign joins where that would (S-3). Only the last can be the one
    // that is typed.
    let last_wide = before.rfind(is_wide_sign);
    let joins_as_written = |sign: usize| {
        let written = format!("{}@", &before[..sign]);
        Joints::of(&written, known).let_begin(sign)
    };
    let may_begin = |sign: usize| joints.let_begin(sign) || last_wide == Some(sign) && joins_as_written(sign);
    let at =
        |sign: usize, c: char| Trigger { query: &before[sign + c.len_utf8()..], span: Span::at(sign, caret) };
    // S-1: the last sign that could route, where no space follows it.
    let last = before
        .char_indices()
        .rev()
        .take_while(|&(_, c)| !is_space(c))
        .find(|&(sign, c)| is_sign(c) && may_begin(sign));
    if let Some((sign, c)) = last {
        let found = at(sign, c);
        if !found.query.contains(is_sign) || known.has_prefix(&form(found.query)) {
            return Some(found);
        }
    }
    // S-2: signs further back, while a known label goes on that way.
    let signs = before
        .char_indices()
        .rev()
        .take(limits::LOOK_BACK)
        .take_while(|&(_, c)| !is_line_end(c))
        .filter(|&(sign, c)| is_sign(c) && may_begin(sign));
    for (sign, c) in signs {
        let found = at(sign, c);
        let query = form(found.query);
        if is_closed(found.query, &query, known) {
            return None;
        }
        if known.has_prefix(&query) {
            return Some(found);
        }
    }
    None
}

/// Whether a query has ended: a known label and one space, or two spaces (S-2).
fn is_closed(query: &str, form: &str, known: &Known<'_>) -> bool {
    let mut spaces = query.chars().map(is_space);
    let mut last = false;
    let two_spaces = spaces.any(|space| std::mem::replace(&mut last, space) && space);
    two_spaces || form.strip_suffix(' ').is_some_and(|label| known.has(label))
}

/// What a choice does to a block (S-7). The edit is one closed step of the history (C-4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Insertion {
    /// What is replaced.
    pub span: Span,
    /// By what: a space where the left side would refuse the sign, the sign, the label, a space.
    pub text: String,
    /// Where the caret stands in the new text: behind the space.
    pub caret: ByteOffset,
}

impl Insertion {
    /// Replaces `span` of a block's text by a mention of `label` (S-7). `known` holds the labels that
    /// a mention may be joined to (G-12).
    pub fn new(text: &str, span: Span, label: &str, known: &Known<'_>) -> Self {
        let label = trim(label);
        let range = span.bytes();
        let before = text.get(..range.start).unwrap_or(text);
        let after = text.get(range.end..).unwrap_or_default();
        let as_it_stands = format!("{before}@{label} {after}");
        let routes = Joints::of(&as_it_stands, known).let_begin(before.len());
        let inserted = if routes { format!("@{label} ") } else { format!(" @{label} ") };
        Self { span, caret: ByteOffset::at(before.len() + inserted.len()), text: inserted }
    }

    /// The text after the edit.
    pub fn apply(&self, text: &str) -> String {
        let range = self.span.bytes();
        let before = text.get(..range.start).unwrap_or(text);
        let after = text.get(range.end..).unwrap_or_default();
        format!("{before}{}{after}", self.text)
    }
}

/// Whether Space may commit: no known label goes on from the query with a space (S-6).
///
/// The name must also be exactly the query; [`crate::suggest::Suggestions::on_space`] asks both.
pub fn space_may_commit(query: &str, known: &Known<'_>) -> bool {
    !known.has_prefix(&(form(query) + " "))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::context::Contexts;
    use crate::known::Labels;

    fn labels(labels: &[&str]) -> Labels {
        labels.iter().collect()
    }

    /// `|` marks the caret.
    fn query(marked: &str, known: &[&str]) -> Option<String> {
        let caret = marked.find('|').unwrap();
        let text = marked.replace('|', "");
        let caret = ByteOffset::new(&text, caret).unwrap();
        let labels = labels(known);
        trigger(&text, caret, &Known::from(&labels)).map(|found| found.query.to_owned())
    }

    #[test]
    fn triggers() {
        let long = "k".repeat(78);
        let known = [&*format!("{long} x"), "ada", "ada king", "crew @ada x", "a  b"];
        for (text, expected) in [
            ("@|", Some("")),
            ("@ada|!", Some("ada")),
            ("@ada!|", Some("ada!")),
            ("a @b c|", None),
            ("@ad|a king", Some("ad")),
            ("\\@ad|", None),
            ("x...@ad|", Some("ad")),
            ("@ada+@gr|", Some("gr")),
            ("@ada++@gr|", None),
            ("@zed/@gr|", None),
            ("@crew @ada |", None),
            ("@crew @ad|", Some("ad")),
            ("@crew @ada x|", Some("crew @ada x")),
            ("@a  b|", None),
            ("@ada\u{a0}k|", Some("ada\u{a0}k")),
            ("@ada\u{a0}|", None),
            ("@ada\u{2028}k|", None),
            ("@ada\u{200b}k|", None),
            ("＠ada k|", Some("ada k")),
            ("﹫ad|", Some("ad")),
            ("@foo@bar|", None),
            ("|@ada", None),
            ("\\\\@ad|", None),
            ("\\_@ad|", Some("ad")),
            ("x..@ad|", Some("ad")),
            ("@ada king/@gr|", Some("gr")),
            ("@ada king/@ada k|", Some("ada k")),
            ("@ada k|", Some("ada k")),
            ("@ada\tk|", None),
            ("@a b @ada k|", Some("ada k")),
            ("@ada/＠gr|", Some("gr")),
            ("@ada king+﹫ada k|", Some("ada k")),
            ("@ada++＠gr|", None),
            ("@zed/＠gr|", None),
        ] {
            assert_eq!(query(text, &known).as_deref(), expected, "{text}");
        }
        assert_eq!(query(&format!("@{long} |"), &known), Some(format!("{long} ")));
        assert_eq!(query(&format!("@{long} x|"), &known), None, "81 code points");
        assert_eq!(query(&format!("@{long}xyz|"), &known), Some(format!("{long}xyz")));
    }

    #[test]
    fn space_commits_where_no_label_goes_on() {
        let labels = labels(&["ada", "ada king", "grace"]);
        let known = Known::from(&labels);
        assert!(space_may_commit("Grace", &known) && space_may_commit("ada king", &known));
        assert!(!space_may_commit("ADA", &known));
    }

    #[test]
    fn insertions() {
        for (marked, label, known, expected) in [
            ("@Ada/||", "Grace", &["Ada"][..], "@Ada/@Grace "),
            ("@Ada+||", "Grace", &["Ada"], "@Ada+@Grace "),
            ("@Ada/|＠gr|!", "Grace", &["Ada"], "@Ada/@Grace !"),
            ("\\||", "Ada", &[], "\\ @Ada "),
            ("太||", "Ada", &[], "太@Ada "),
            ("hey |@a| x", " Ada ", &[], "hey @Ada  x"),
            ("||@Bo", "Ada", &[], "@Ada @Bo"),
            ("@Ada·||", "Bo", &["Ada"], "@Ada·@Bo "),
            ("@Ada//||", "Bo", &["Ada"], "@Ada// @Bo "),
            ("@||", "Ada", &[], "@ @Ada "),
            ("foo_||", "Ada", &[], "foo_ @Ada "),
            ("_||", "Ada", &[], "_@Ada "),
            ("x.||", "Ada", &[], "x. @Ada "),
            ("x..||", "Ada", &[], "x..@Ada "),
            ("\\[||", "Ada", &[], "\\[@Ada "),
            ("\\\\||", "Ada", &[], "\\\\ @Ada "),
            ("e\u{301}||", "Ada", &[], "e\u{301} @Ada "),
            ("1\u{20e3}||", "Ada", &[], "1\u{20e3}@Ada "),
        ] {
            let (start, end) = (marked.find('|').unwrap(), marked.rfind('|').unwrap() - 1);
            let text = marked.replace('|', "");
            let labels = labels(known);
            let span = Span::new(&text, start..end).unwrap();
            let insertion = Insertion::new(&text, span, label, &Known::from(&labels));
            assert_eq!(insertion.apply(&text), expected, "{marked}");
            assert!(expected[..insertion.caret.get()].ends_with(' '));
        }
    }

    proptest! {
        /// The query is the piece of the text between a sign and the caret.
        #[test]
        fn a_query_is_a_piece_of_the_text(text in "[a@＠ /+.\n太]{0,12}", at in 0_usize..40) {
            let caret = (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
            let labels = labels(&["a", "a a", "a@a"]);
            if let Some(found) = trigger(&text, ByteOffset::at(caret), &Known::from(&labels)) {
                prop_assert!(found.span.of(&text).ends_with(found.query));
                prop_assert!(found.span.of(&text).starts_with(is_sign));
                prop_assert_eq!(found.span.end.get(), caret);
            }
        }

        /// A choice routes: its label owns an occurrence where it was inserted.
        #[test]
        fn a_choice_owns_its_place(before in "[a@/+.\\\\ (_太\u{301}]{0,8}", after in "[a@ /!.]{0,6}") {
            let text = format!("{before}{after}");
            let span = Span::at(before.len(), before.len());
            let none = Labels::default();
            let insertion = Insertion::new(&text, span, "Zoë", &Known::from(&none));
            let text = insertion.apply(&text);
            let labels = labels(&["zoë"]);
            let found = Known::from(&labels).occurrences(&text, &Contexts::all_prose());
            let end = insertion.caret.get() - 1;
            prop_assert!(found.iter().any(|span| span.end.get() == end), "{text}");
        }
    }
}
