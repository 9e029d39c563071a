//! The words of a text, for search. Both backends index exactly these, so both find the same.
//!
//! Words are compared as labels are: folded and normalised. Scripts that are written without spaces
//! yield single characters and pairs of neighbours, because no dictionary is at hand.

use std::collections::BTreeSet;

use unicode_script::{Script, UnicodeScript};

/// The longest word, in characters; longer ones are cut, in the index and in what is looked for.
const LONGEST: usize = 64;

/// The words to index, each once, in order.
pub(crate) fn indexed(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for run in runs(text) {
        match run {
            Run::Word(word) => {
                words.insert(word);
            }
            Run::Dense(chars) => {
                words.extend(chars.iter().map(char::to_string));
                words.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
            }
        }
    }
    words
}

/// The words that a text must hold to be found, each once, in order.
pub(crate) fn wanted(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for run in runs(text) {
        match run {
            Run::Word(word) => {
                words.insert(word);
            }
            Run::Dense(chars) if chars.len() == 1 => {
                words.insert(chars[0].to_string());
            }
            Run::Dense(chars) => {
                words.extend(chars.windows(2).map(|pair| pair.iter().collect::<String>()));
            }
        }
    }
    words
}

enum Run {
    Word(String),
    Dense(Vec<char>),
}

fn runs(text: &str) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut word = String::new();
    let mut dense = Vec::new();
    // The last space ends whatever run is open.
    for c in vocative::form(text).chars().chain([' ']) {
        let is_dense = is_dense(c);
        if !is_dense && !dense.is_empty() {
            runs.push(Run::Dense(std::mem::take(&mut dense)));
        }
        if (is_dense || !is_of_word(c)) && !word.is_empty() {
            runs.push(Run::Word(word.chars().take(LONGEST).collect()));
            word.clear();
        }
        if is_dense {
            dense.push(c);
        } else if is_of_word(c) {
            word.push(c);
        }
    }
    runs
}

/// Letters, digits, and the marks that follow them.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && c.script() == Script::Inherited)
}

fn is_dense(c: char) -> bool {
    use Script::{Bopomofo, Han, Hiragana, Katakana, Khmer, Lao, Myanmar, Thai, Tibetan};
    !c.is_ascii()
        && c.is_alphanumeric()
        && matches!(c.script(), Bopomofo | Han | Hiragana | Katakana | Khmer | Lao | Myanmar | Thai | Tibetan)
}

#[cfg(test)]
mod tests {
    use super::{indexed, wanted};

    #[test]
    fn words_are_folded_and_split() {
        let table = [
            ("Straße, STRASSE!", vec!["strasse"]),
            ("don't_stop x2", vec!["don", "stop", "t", "x2"]),
            ("東京へ go", vec!["go", "へ", "京", "京へ", "東", "東京"]),
            ("...", vec![]),
        ];
        for (text, expected) in table {
            assert_eq!(indexed(text).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn a_part_of_a_text_without_spaces_is_found() {
        let text = indexed("明日は東京へ行く");
        assert!(wanted("東京").is_subset(&text));
        assert!(wanted("京").is_subset(&text));
        assert!(!wanted("京東").is_subset(&text));
    }
}
