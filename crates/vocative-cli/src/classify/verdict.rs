//! What the model says, checked.

use serde::{Deserialize, Serialize};

/// The longest reason that is shown, in characters.
const LONGEST_REASON: usize = 200;

/// What a message holds for the person it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Task,
    Question,
    Decision,
    Nothing,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Question => "question",
            Self::Decision => "decision",
            Self::Nothing => "nothing",
        }
    }
}

/// A verdict that can be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Verdict {
    pub(crate) kind: Kind,
    /// One line in the model's words.
    pub(crate) reason: String,
    /// The exact words of the message, by bytes of its text. None where it holds nothing.
    pub(crate) quote: Option<Quote>,
}

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quote {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) text: String,
}

impl Quote {
    /// Whether the text holds the quote in its place.
    pub(crate) fn stands_in(&self, text: &str) -> bool {
        text.get(self.start..self.end) == Some(&self.text)
    }
}

/// What the model may say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Verdict(Verdict),
    /// It asks for parents, or else for children.
    More {
        parents: bool,
    },
}

/// The schema of [`Reply`], which the request names and [`Reply::read`] checks.
pub(crate) fn schema() -> serde_json::Value {
    serde_json::json!({
        "type": "object",
        "properties": {
            "kind": { "type": "string", "enum": ["task", "question", "decision", "nothing", "more_parents", "more_children"] },
            "reason": { "type": "string" },
            "quote": { "type": "string" },
        },
        "required": ["kind", "reason", "quote"],
        "additionalProperties": false,
    })
}

/// What the schema allows. Offsets are extra: they are not asked for, but if they are given they
/// must be right.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    kind: String,
    reason: String,
    quote: String,
    start: Option<usize>,
    end: Option<usize>,
}

impl Reply {
    /// Reads a reply about this text.
    ///
    /// # Errors
    /// What is wrong with it, in words that are none of the model's.
    pub(crate) fn read(said: &str, text: &str) -> Result<Self, String> {
        let said: Said = serde_json::from_str(unfenced(said))
            .map_err(|_| "the reply is not the JSON object that was asked for".to_owned())?;
        let kind = match said.kind.as_str() {
            "more_parents" => return Ok(Self::More { parents: true }),
            "more_children" => return Ok(Self::More { parents: false }),
            "task" => Kind::Task,
            "question" => Kind::Question,
            "decision" => Kind::Decision,
            "nothing" => Kind::Nothing,
            _ => return Err("the reply has another kind than those that were given".into()),
        };
        let quote = match said.quote.as_str() {
            "" if kind == Kind::Nothing => None,
            "" => return Err("the reply quotes no words of the message".into()),
            words => {
                let start = said.start.or_else(|| text.find(words));
                let missing = || "the quote is not in the message".to_owned();
                let start = start.ok_or_else(missing)?;
                let end = said.end.unwrap_or(start.saturating_add(words.len()));
                let quote = Quote { start, end, text: words.to_owned() };
                Some(quote).filter(|quote| quote.stands_in(text)).map(Some).ok_or_else(missing)?
            }
        };
        let reason = one_line(&said.reason);
        Ok(Self::Verdict(Verdict { kind, reason, quote }))
    }
}

/// Small models put JSON into a fence, whatever they are told.
fn unfenced(said: &str) -> &str {
    let said = said.trim();
    let inner = said.strip_prefix("```json").or_else(|| said.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(said)
}

/// The reason without control characters, and not too long.
fn one_line(reason: &str) -> String {
    let spaced = reason.chars().map(|c| if c == '\n' || c == '\t' { ' ' } else { c });
    let plain = spaced.filter(|character| !character.is_control());
    plain.take(LONGEST_REASON).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_checked_is_a_verdict() {
        let text = "héllo @B, please fix the build";
        let said = |kind: &str, quote: &str, more: &str| {
            format!(r#"{{"kind":"{kind}","reason":"r","quote":"{quote}"{more}}}"#)
        };
        let cases = [
            (said("task", "fix the build", ""), true),
            (said("task", "fix the build", r#","start":18,"end":31"#), true),
            (said("task", "fix the build", r#","start":17,"end":30"#), false),
            (said("task", "fix the build", r#","start":2,"end":15"#), false),
            (said("task", "fix the tests", ""), false),
            (said("task", "Fix the build", ""), false),
            (said("task", "", ""), false),
            (said("nothing", "", ""), true),
            (said("nothing", "absent", ""), false),
            (said("order", "fix the build", ""), false),
            (said("task", "fix the build", r#","note":1"#), false),
            (said("more_parents", "", ""), true),
            (format!("```json\n{}\n```", said("question", "please", "")), true),
            ("I think it is a task".into(), false),
            (r#"{"kind":"task"}"#.into(), false),
            (String::new(), false),
        ];
        for (said, expected) in cases {
            assert_eq!(Reply::read(&said, text).is_ok(), expected, "{said}");
        }
        let Ok(Reply::Verdict(verdict)) = Reply::read(&said("task", "fix the build", ""), text) else {
            panic!("it is a verdict");
        };
        assert_eq!(verdict.quote, Some(Quote { start: 18, end: 31, text: "fix the build".into() }));
    }

    #[test]
    fn the_reason_is_one_short_line() {
        let long = format!("a\u{1b}[31m\nb{}", "é".repeat(300));
        let reason = one_line(&long);
        assert!(reason.starts_with("a[31m béé"));
        assert_eq!(reason.chars().count(), LONGEST_REASON);
    }
}
