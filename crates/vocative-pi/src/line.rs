//! One line of a session file: its JSON, and the shape that rules 1 to 4 of section 1.6 ask of a
//! line by itself. What a line means among others (unique ids, parents, evidence) is the business
//! of [`mod@crate::check`].

use crate::ids::SessionId;
use crate::json::{Kind, Scanner, Scratch, Value};
use crate::problem::{Code, Fault};
use crate::time::Timestamp;

/// The custom type of mention evidence (section 4.1).
pub const MARKER_TYPE: &str = "chi.messaging.mentions";
/// The custom type of a reduction (section 4.2).
pub const REDUCTION_TYPE: &str = "jsonl-reduce.reduction";

/// Whether a line is a header or an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// The first line of a session.
    Header,
    /// Any other line.
    Entry,
}

/// The fields of a line that the rules speak of; everything else is only checked as JSON.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Record<'a> {
    pub(crate) kind: Option<Value<'a>>,
    pub(crate) id: Option<Value<'a>>,
    pub(crate) parent: Option<Value<'a>>,
    pub(crate) timestamp: Option<Value<'a>>,
    pub(crate) custom_type: Option<Value<'a>>,
    pub(crate) data: Option<Value<'a>>,
    pub(crate) version: Option<Value<'a>>,
    pub(crate) cwd: Option<Value<'a>>,
    pub(crate) parent_session: Option<Value<'a>>,
    message: Option<Message<'a>>,
}

/// What the rules ask about `message`, which may be no object at all.
#[derive(Clone, Copy, Debug, Default)]
struct Message<'a> {
    is_object: bool,
    role: Option<Value<'a>>,
    content: Option<Value<'a>>,
    usage: Option<Usage>,
    /// stopReason, api, provider and model, as far as they are strings.
    strings: Found,
}

/// The numbers of `usage` that are there, and of the `cost` within, if that is an object.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    numbers: Found,
    cost: Option<Found>,
}

const USAGE: &[&str] = &["input", "output", "cacheRead", "cacheWrite", "totalTokens"];
const COST: &[&str] = &["input", "output", "cacheRead", "cacheWrite", "total"];
const STRINGS: &[&str] = &["stopReason", "api", "provider", "model"];

/// Which of a list of names were found: one bit each.
#[derive(Clone, Copy, Debug, Default)]
struct Found(u8);

impl Found {
    fn note(&mut self, names: &[&str], key: crate::json::JsonStr<'_>, fits: bool) {
        if let Some(place) = names.iter().position(|name| fits && key.is(name)) {
            self.0 |= 1 << place;
        }
    }

    fn first_missing(self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().enumerate().find(|(place, _)| self.0 >> place & 1 == 0).map(|(_, name)| *name)
    }
}

/// Splits off what can be wrong with the bytes of a line before it is JSON (rule 1).
pub(crate) fn as_text(line: &[u8]) -> Result<&str, Fault> {
    if line.trim_ascii().is_empty() {
        return Err(Fault::new(Code::BlankLine, "a blank line"));
    }
    if let Some(at) = memchr::memchr(b'\r', line) {
        return Err(Fault::new(Code::CarriageReturn, format!("a carriage return at byte {at}")));
    }
    let text = simdutf8::compat::from_utf8(line).map_err(|error| {
        let detail = format!("bytes that are not UTF-8 at byte {}", error.valid_up_to());
        Fault::new(Code::NotUtf8, detail)
    })?;
    if line[0] != b'{' {
        return Err(Fault::new(Code::NotAnObject, "the line does not begin with `{`"));
    }
    if line[line.len() - 1] != b'}' {
        return Err(Fault::new(Code::NotAnObject, "the line does not end with `}`"));
    }
    Ok(text)
}

impl<'a> Record<'a> {
    /// Reads the JSON of a line.
    pub(crate) fn read(line: &'a [u8], scratch: &mut Scratch) -> Result<Self, Fault> {
        let mut scanner = Scanner::new(as_text(line)?, scratch);
        let mut record = Self::default();
        scanner.object(1, |scanner, key| {
            if key.is("message") {
                record.message = Some(Message::read(scanner)?);
                return Ok(());
            }
            let value = scanner.value(2)?;
            let field = match &*key.bytes() {
                b"type" => &mut record.kind,
                b"id" => &mut record.id,
                b"parentId" => &mut record.parent,
                b"timestamp" => &mut record.timestamp,
                b"customType" => &mut record.custom_type,
                b"data" => &mut record.data,
                b"version" => &mut record.version,
                b"cwd" => &mut record.cwd,
                b"parentSession" => &mut record.parent_session,
                _ => return Ok(()),
            };
            *field = Some(value);
            Ok(())
        })?;
        scanner.finish()?;
        Ok(record)
    }

    /// Whether `type` is this string.
    pub(crate) fn is(&self, kind: &str) -> bool {
        string_is(self.kind, kind)
    }

    /// Whether this is a custom entry of the type.
    pub(crate) fn is_custom(&self, custom_type: &str) -> bool {
        self.is("custom") && string_is(self.custom_type, custom_type)
    }

    /// Whether this is a message of the user.
    pub(crate) fn is_user_message(&self) -> bool {
        self.is("message") && self.message.is_some_and(|message| string_is(message.role, "user"))
    }

    /// The role of a message.
    pub(crate) fn role(&self) -> Option<String> {
        Some(self.message?.role?.string()?.lossy().into_owned())
    }

    /// The content of a message.
    pub(crate) fn content(&self) -> Option<Value<'a>> {
        self.message?.content
    }

    /// The time, if it is one.
    pub(crate) fn time(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.timestamp?.string()?.bytes())
    }

    /// The id for a person to read.
    pub(crate) fn shown_id(&self) -> Option<String> {
        let id = self.id?.string()?.lossy();
        Some(id.chars().take(128).collect()).filter(|id: &String| !id.is_empty())
    }

    /// What rule 2 finds wrong with the line as a header.
    pub(crate) fn header_faults(&self, faults: &mut Vec<Fault>) {
        let mut fault = |code, detail: &str| faults.push(Fault::new(code, detail));
        match self.version {
            Some(value) if value.raw == "3" => {}
            Some(value) => {
                let shown: String = value.raw.chars().take(20).collect();
                fault(Code::HeaderVersion, &format!("version {shown} is not 3"));
            }
            None => fault(Code::HeaderVersion, "the header has no version"),
        }
        if self.session_id().is_none() {
            fault(Code::HeaderId, "the header has no id that follows Pi's rule");
        }
        if self.time().is_none() {
            fault(Code::HeaderTimestamp, "the header's timestamp is missing or no instant");
        }
        if self.cwd.is_none_or(|value| value.string().is_none()) {
            fault(Code::HeaderCwd, "the header's cwd is missing or no string");
        }
        if self.parent_session.is_some_and(|value| value.string().is_none()) {
            fault(Code::HeaderParentSession, "the header's parentSession is no string");
        }
    }

    /// The id of a header, if it follows Pi's rule.
    pub(crate) fn session_id(&self) -> Option<SessionId> {
        SessionId::from_header(&self.id?.string()?.text()?)
    }

    /// What rules 3 and 4 find wrong with the line as an entry by itself.
    pub(crate) fn entry_faults(&self, faults: &mut Vec<Fault>) {
        let mut fault = |code, detail: &str| faults.push(Fault::new(code, detail));
        if self.kind.is_none_or(|value| value.string().is_none()) {
            fault(Code::EntryType, "the entry has no type");
        }
        if self.id.and_then(|value| value.string()).is_none_or(|id| id.is("")) {
            fault(Code::EntryId, "the entry has no id");
        }
        match self.parent.map(|value| value.kind) {
            Some(Kind::Null | Kind::String(_)) => {}
            Some(_) => fault(Code::ParentId, "parentId is neither null nor a string"),
            None => fault(Code::ParentId, "the entry has no parentId"),
        }
        if self.time().is_none() {
            fault(Code::EntryTimestamp, "the entry's timestamp is missing or no instant");
        }
        if self.is("custom") && self.custom_type.is_none_or(|value| value.string().is_none()) {
            fault(Code::CustomType, "the custom entry has no customType");
        }
        if self.is("message") {
            match self.message.filter(|message| message.is_object) {
                Some(message) => message.faults(faults),
                None => fault(Code::MessageMissing, "the message entry holds no message"),
            }
        }
    }
}

fn string_is(value: Option<Value<'_>>, text: &str) -> bool {
    value.and_then(|value| value.string()).is_some_and(|string| string.is(text))
}

impl<'a> Message<'a> {
    fn read<'s>(scanner: &mut Scanner<'a, 's>) -> Result<Self, Fault> {
        let mut message = Self::default();
        if !scanner.at_object() {
            scanner.value(2)?;
            return Ok(message);
        }
        message.is_object = true;
        scanner.object(2, |scanner, key| {
            if key.is("usage") {
                message.usage = Usage::read(scanner)?;
                return Ok(());
            }
            let value = scanner.value(3)?;
            if key.is("role") {
                message.role = Some(value);
            } else if key.is("content") {
                message.content = Some(value);
            } else {
                message.strings.note(STRINGS, key, value.string().is_some());
            }
            Ok(())
        })?;
        Ok(message)
    }

    fn faults(&self, faults: &mut Vec<Fault>) {
        let mut fault = |code, detail: String| faults.push(Fault::new(code, detail));
        if self.role.is_none_or(|role| role.string().is_none()) {
            fault(Code::MessageRole, "the message has no role".into());
        }
        if !string_is(self.role, "assistant") {
            return;
        }
        if !self.content.is_some_and(|content| matches!(content.kind, Kind::Array)) {
            fault(Code::AssistantContent, "the assistant message has no content array".into());
        }
        if let Some(name) = self.strings.first_missing(STRINGS) {
            fault(Code::AssistantField, format!("the assistant message has no {name}"));
        }
        let Some(usage) = self.usage else {
            fault(Code::AssistantUsage, "the assistant message has no usage".into());
            return;
        };
        if let Some(name) = usage.numbers.first_missing(USAGE) {
            fault(Code::AssistantUsage, format!("usage has no number {name}"));
        }
        match usage.cost {
            None => fault(Code::AssistantCost, "usage has no cost".into()),
            Some(cost) => {
                if let Some(name) = cost.first_missing(COST) {
                    fault(Code::AssistantCost, format!("usage.cost has no number {name}"));
                }
            }
        }
    }
}

impl Usage {
    fn read(scanner: &mut Scanner<'_, '_>) -> Result<Option<Self>, Fault> {
        if !scanner.at_object() {
            return scanner.value(3).map(|_| None);
        }
        let mut usage = Self::default();
        scanner.object(3, |scanner, key| {
            if key.is("cost") && scanner.at_object() {
                let mut cost = Found::default();
                scanner.object(4, |scanner, key| {
                    let value = scanner.value(5)?;
                    cost.note(COST, key, matches!(value.kind, Kind::Number));
                    Ok(())
                })?;
                usage.cost = Some(cost);
                return Ok(());
            }
            let value = scanner.value(4)?;
            usage.numbers.note(USAGE, key, matches!(value.kind, Kind::Number));
            Ok(())
        })?;
        Ok(Some(usage))
    }
}

/// Checks one line, without its line feed, by itself: rules 1 to 4 of section 1.6 as far as they
/// concern a single line. A line whose `type` is `session` is judged as a header.
///
/// The function is pure, so a fuzzer may call it with anything.
///
/// # Errors
/// Everything that is wrong with the line.
pub fn check_line(line: &[u8], scratch: &mut Scratch) -> Result<LineKind, Vec<Fault>> {
    let record = Record::read(line, scratch).map_err(|fault| vec![fault])?;
    let mut faults = Vec::new();
    let kind = if record.is("session") {
        record.header_faults(&mut faults);
        LineKind::Header
    } else {
        record.entry_faults(&mut faults);
        if record.is_custom(MARKER_TYPE)
            && let Err(fault) = crate::marker::Marker::read(record.data, scratch)
        {
            faults.push(fault);
        }
        LineKind::Entry
    };
    if faults.is_empty() { Ok(kind) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: &str = r#""timestamp":"2026-11-30T17:28:07.858Z""#;
    const NUMBERS: &str = r#""input":1,"output":2,"cacheRead":0,"cacheWrite":0"#;

    fn codes(line: &[u8]) -> Vec<&'static str> {
        match check_line(line, &mut Scratch::default()) {
            Ok(_) => Vec::new(),
            Err(faults) => faults.iter().map(|fault| fault.code.as_str()).collect(),
        }
    }

    #[test]
    fn headers() {
        let header = |fields: &str| format!(r#"{{"type":"session",{fields}}}"#);
        let cases: &[(String, &[&str])] = &[
            (header(&format!(r#""version":3,"id":"s1",{T},"cwd":"""#)), &[]),
            (header(&format!(r#""version":3,"id":"s1",{T},"cwd":"/x","parentSession":"p","more":[]"#)), &[]),
            (header(&format!(r#""version":3.0,"id":"s1",{T},"cwd":"""#)), &["header_version"]),
            (header(&format!(r#""version":"3","id":"s1",{T},"cwd":"""#)), &["header_version"]),
            (header(&format!(r#""id":"s1",{T},"cwd":"""#)), &["header_version"]),
            (header(&format!(r#""version":3,"id":"a/b",{T},"cwd":"""#)), &["header_id"]),
            (header(&format!(r#""version":3,"id":"",{T},"cwd":"""#)), &["header_id"]),
            (header(&format!(r#""version":3,"id":7,{T},"cwd":"""#)), &["header_id"]),
            (header(r#""version":3,"id":"s1","timestamp":"now","cwd":"""#), &["header_timestamp"]),
            (header(&format!(r#""version":3,"id":"s1",{T}"#)), &["header_cwd"]),
            (
                header(&format!(r#""version":3,"id":"s1",{T},"cwd":"","parentSession":null"#)),
                &["header_parent_session"],
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(codes(line.as_bytes()), *expected, "{line}");
        }
    }

    #[test]
    fn entries() {
        let entry = |fields: &str| format!(r#"{{"id":"a","parentId":null,{T},{fields}}}"#);
        let assistant =
            |fields: &str| entry(&format!(r#""type":"message","message":{{"role":"assistant",{fields}}}"#));
        let names = r#""content":[],"api":"a","provider":"p","model":"m","stopReason":"stop""#;
        let cost = format!(r#""cost":{{{NUMBERS},"total":0,"totalFromProvider":false}}"#);
        let usage = format!(r#""usage":{{{NUMBERS},"totalTokens":3,{cost}}}"#);
        let cases: &[(String, &[&str])] = &[
            (entry(r#""type":"label","targetId":"x""#), &[]),
            (entry(r#""type":"from_the_future","message":7,"customType":7"#), &[]),
            (entry(r#""type":7"#), &["entry_type"]),
            (entry(r#""more":7"#), &["entry_type"]),
            (format!(r#"{{"type":"x","id":"","parentId":null,{T}}}"#), &["entry_id"]),
            (format!(r#"{{"type":"x","id":9,"parentId":null,{T}}}"#), &["entry_id"]),
            (format!(r#"{{"type":"x","parentId":7,{T}}}"#), &["entry_id", "parent_id"]),
            (format!(r#"{{"type":"x","id":"a",{T}}}"#), &["parent_id"]),
            (r#"{"type":"x","id":"a","parentId":null}"#.into(), &["entry_timestamp"]),
            (entry(r#""type":"custom""#), &["custom_type"]),
            (entry(r#""type":"custom","customType":"x""#), &[]),
            (entry(r#""type":"message""#), &["message_missing"]),
            (entry(r#""type":"message","message":null"#), &["message_missing"]),
            (entry(r#""type":"message","message":{"content":"x"}"#), &["message_role"]),
            (entry(r#""type":"message","message":{"role":"fileMention"}"#), &[]),
            (assistant(&format!("{names},{usage}")), &[]),
            (assistant(names), &["assistant_usage"]),
            (assistant(&format!(r#"{names},"usage":{{{NUMBERS},{cost}}}"#)), &["assistant_usage"]),
            (assistant(&format!(r#"{names},"usage":{{{NUMBERS},"totalTokens":3}}"#)), &["assistant_cost"]),
            (
                assistant(&format!(r#"{names},"usage":{{{NUMBERS},"totalTokens":3,"cost":{{{NUMBERS}}}}}"#)),
                &["assistant_cost"],
            ),
            (
                assistant(&format!(r#"{names},"usage":{{{NUMBERS},"totalTokens":"3",{cost}}}"#)),
                &["assistant_usage"],
            ),
            (
                assistant(&format!(
                    r#""content":"x","api":"a","provider":"p","model":"m","stopReason":"stop",{usage}"#
                )),
                &["assistant_content"],
            ),
            (
                assistant(&format!(r#""content":[],"api":"a","provider":"p","model":"m",{usage}"#)),
                &["assistant_field"],
            ),
            (
                assistant(&format!(
                    r#""content":[],"api":"a","provider":null,"model":"m","stopReason":"stop",{usage}"#
                )),
                &["assistant_field"],
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(codes(line.as_bytes()), *expected, "{line}");
        }
    }

    #[test]
    fn bytes_before_json() {
        let cases: &[(&[u8], &str)] = &[
            (b"", "blank_line"),
            (b"  \t", "blank_line"),
            (b"{}\r", "carriage_return"),
            (b" {}", "not_an_object"),
            (b"{} ", "not_an_object"),
            (b"42", "not_an_object"),
            (b"[]", "not_an_object"),
            (b"{\"a\":\"\xff\"}", "not_utf8"),
            (b"{\"a\":NaN}", "bad_json"),
            (b"{}{}", "bad_json"),
        ];
        for (line, expected) in cases {
            assert_eq!(codes(line), [*expected], "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn nul_and_lone_surrogates_are_legal_while_escaped() {
        let line = format!(r#"{{"type":"x","id":"\ud800\u0000","parentId":null,{T}}}"#);
        assert_eq!(codes(line.as_bytes()), [""; 0]);
    }
}
