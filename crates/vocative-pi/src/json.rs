//! A strict reader of one JSON text (RFC 8259), for rule 1 of "valid portable Pi v3".
//!
//! It exists beside `serde_json` because the rule asks what no common reader tells: keys that
//! stand twice after unescaping, at every depth; nesting over a limit; and lone surrogates, which
//! are legal here and must survive. It borrows from the text, allocates nothing per value, and
//! hands the caller the raw span of whatever it asks for. It knows nothing of sessions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::problem::{Code, Fault};

/// Deepest nesting of arrays and objects that is accepted; the outermost object is level 1.
pub(crate) const MAX_DEPTH: u32 = 128;

/// Objects with more keys than this are checked for duplicates by hash.
const FEW_KEYS: usize = 32;

/// Memory that one line after another reuses.
#[derive(Debug, Default)]
pub struct Scratch {
    keys: Vec<Span>,
    hasher: RandomState,
}

/// A key of an object that is being read: where its characters stand in the text.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
    escaped: bool,
}

/// A string of the text, still escaped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonStr<'a> {
    /// The characters between the quotes, as they stand in the text.
    raw: &'a str,
    /// Whether any of them is escaped, which is rare in the strings that are looked at.
    escaped: bool,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind<'a> {
    Object,
    Array,
    String(JsonStr<'a>),
    Number,
    Bool,
    Null,
}

/// A value and the span of the text that holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value<'a> {
    pub(crate) kind: Kind<'a>,
    pub(crate) raw: &'a str,
}

impl<'a> Value<'a> {
    pub(crate) fn string(&self) -> Option<JsonStr<'a>> {
        match self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }
}

impl<'a> JsonStr<'a> {
    /// The string itself, with lone surrogates as the three bytes that UTF-8 would give them, so
    /// that two strings are equal exactly when their bytes are.
    pub(crate) fn bytes(&self) -> Cow<'a, [u8]> {
        if self.escaped { Cow::Owned(unescape(self.raw)) } else { Cow::Borrowed(self.raw.as_bytes()) }
    }

    /// The string, where it holds no lone surrogate.
    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        match self.bytes() {
            Cow::Borrowed(_) => Some(Cow::Borrowed(self.raw)),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        }
    }

    /// The string for a person to read: a lone surrogate becomes U+FFFD.
    pub(crate) fn lossy(&self) -> Cow<'a, str> {
        match self.bytes() {
            Cow::Borrowed(_) => Cow::Borrowed(self.raw),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// Whether the string is this one, however it is escaped.
    pub(crate) fn is(&self, other: &str) -> bool {
        if self.escaped { *self.bytes() == *other.as_bytes() } else { self.raw == other }
    }
}

/// Undoes the escapes of a string that the scanner has accepted.
fn unescape(raw: &str) -> Vec<u8> {
    let raw = raw.as_bytes();
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        if raw[at] != b'\\' {
            out.push(raw[at]);
            at += 1;
            continue;
        }
        let plain = match raw[at + 1] {
            b'b' => 0x08,
            b't' => b'\t',
            b'n' => b'\n',
            b'f' => 0x0c,
            b'r' => b'\r',
            b'u' => {
                let mut unit = u32::from(hex4(&raw[at + 2..]).expect("the scanner has seen it"));
                at += 6;
                if (0xd800..0xdc00).contains(&unit)
                    && raw.get(at) == Some(&b'\\')
                    && raw.get(at + 1) == Some(&b'u')
                    && let Some(low @ 0xdc00..0xe000) = hex4(&raw[at + 2..])
                {
                    unit = 0x10000 + ((unit - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    at += 6;
                }
                push_code_point(&mut out, unit);
                continue;
            }
            other => other,
        };
        out.push(plain);
        at += 2;
    }
    out
}

fn push_code_point(out: &mut Vec<u8>, unit: u32) {
    if let Some(character) = char::from_u32(unit) {
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        let low = |shift: u32| 0x80 | (unit >> shift & 0x3f) as u8;
        out.extend_from_slice(&[0xe0 | (unit >> 12) as u8, low(6), low(0)]);
    }
}

fn hex4(digits: &[u8]) -> Option<u16> {
    let digits = digits.get(..4)?;
    digits.iter().try_fold(0, |value, digit| Some(value << 4 | char::from(*digit).to_digit(16)? as u16))
}

/// Reads one JSON text from its start to its end.
pub(crate) struct Scanner<'a, 's> {
    text: &'a str,
    at: usize,
    /// Whether a control character stands anywhere in the text: a line without one, which is the
    /// common case, needs no look at each character of its strings.
    controls: bool,
    scratch: &'s mut Scratch,
}

impl<'a, 's> Scanner<'a, 's> {
    /// The text must be shorter than 4 GiB, which the line limit guarantees.
    pub(crate) fn new(text: &'a str, scratch: &'s mut Scratch) -> Self {
        scratch.keys.clear();
        let controls = has_controls(text.as_bytes());
        Self { text, at: 0, controls, scratch }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn bad(&self, what: &str) -> Fault {
        Fault::new(Code::BadJson, format!("{what} at byte {}", self.at))
    }

    /// Succeeds where only white space is left.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        self.skip_space();
        if self.at == self.text.len() { Ok(()) } else { Err(self.bad("text after the JSON value")) }
    }

    /// Whether the next value is an object.
    pub(crate) fn at_object(&mut self) -> bool {
        self.skip_space();
        self.peek() == Some(b'{')
    }

    /// Whether the next value is an array.
    pub(crate) fn at_array(&mut self) -> bool {
        self.skip_space();
        self.peek() == Some(b'[')
    }

    /// Reads an object at nesting `depth`; `member` must read the value of the key it is given.
    pub(crate) fn object(
        &mut self,
        depth: u32,
        mut member: impl FnMut(&mut Self, JsonStr<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.enter(depth)?;
        let mut keys = Keys { base: self.scratch.keys.len(), mask: 0, hashes: None };
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return Err(self.bad("expected a key"));
            }
            let start = self.at + 1;
            let key = self.string()?;
            let end = start + key.raw.len();
            let span = Span { start: start as u32, end: end as u32, escaped: key.escaped };
            self.note_key(&mut keys, span)?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.bad("expected `:`"));
            }
            self.at += 1;
            member(self, key)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    self.scratch.keys.truncate(keys.base);
                    return Ok(());
                }
                _ => return Err(self.bad("expected `,` or `}`")),
            }
        }
    }

    /// Reads an array at nesting `depth`; `item` must read the value at hand.
    pub(crate) fn array(
        &mut self,
        depth: u32,
        mut item: impl FnMut(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        self.enter(depth)?;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            item(self)?;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return Err(self.bad("expected `,` or `]`")),
            }
        }
    }

    fn enter(&mut self, depth: u32) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            let detail = format!("nesting over {MAX_DEPTH} at byte {}", self.at);
            return Err(Fault::new(Code::TooDeep, detail));
        }
        self.at += 1;
        Ok(())
    }

    /// Reads any value; `depth` is the nesting it has if it is an array or object.
    pub(crate) fn value(&mut self, depth: u32) -> Result<Value<'a>, Fault> {
        self.skip_space();
        let start = self.at;
        let kind = match self.peek() {
            Some(b'"') => Kind::String(self.string()?),
            Some(b'{') => {
                self.object(depth, |scanner, _| scanner.value(depth + 1).map(drop))?;
                Kind::Object
            }
            Some(b'[') => {
                self.array(depth, |scanner| scanner.value(depth + 1).map(drop))?;
                Kind::Array
            }
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Kind::Number
            }
            Some(b't') => self.word("true", Kind::Bool)?,
            Some(b'f') => self.word("false", Kind::Bool)?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(_) => return Err(self.bad("expected a value")),
            None => return Err(self.bad("the text ends where a value should stand")),
        };
        Ok(Value { kind, raw: &self.text[start..self.at] })
    }

    fn word(&mut self, word: &str, kind: Kind<'a>) -> Result<Kind<'a>, Fault> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(kind)
        } else {
            Err(self.bad("expected a value"))
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.bad("expected a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.bad("expected a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<JsonStr<'a>, Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            let Some(found) = end_or_escape(&bytes[at..]) else {
                return Err(self.bad("a string that does not end"));
            };
            at += found;
            if bytes[at] == b'"' {
                break;
            }
            escaped = true;
            at += match bytes.get(at + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                Some(b'u') if hex4(&bytes[at + 2..]).is_some() => 6,
                _ => {
                    self.at = at;
                    return Err(self.bad("an escape that JSON does not have"));
                }
            };
        }
        let raw = &self.text[start..at];
        if self.controls
            && let Some(control) = raw.bytes().position(|byte| byte < 0x20)
        {
            self.at = start + control;
            return Err(self.bad("a raw control character in a string"));
        }
        self.at = at + 1;
        Ok(JsonStr { raw, escaped })
    }

    fn key_at(&self, span: Span) -> JsonStr<'a> {
        let raw = &self.text[span.start as usize..span.end as usize];
        JsonStr { raw, escaped: span.escaped }
    }

    /// Refuses a key that the object already has.
    fn note_key(&mut self, keys: &mut Keys, span: Span) -> Result<(), Fault> {
        let key = self.key_at(span);
        let bytes = key.bytes();
        let bit = 1 << (quick_hash(&bytes) & 63);
        let seen = &self.scratch.keys[keys.base..];
        let is_key = |other: &Span| self.key_at(*other).bytes() == bytes;
        let duplicate = if let Some(hashes) = &mut keys.hashes {
            let hash = self.scratch.hasher.hash_one(&bytes);
            match hashes.insert(hash, span) {
                None => false,
                // Two keys with one 64-bit hash: either the same key or a rare accident.
                Some(other) => is_key(&other) || seen.iter().any(is_key),
            }
        } else {
            keys.mask & bit != 0 && seen.iter().any(is_key)
        };
        if duplicate {
            let name: String = key.lossy().chars().take(40).collect();
            let detail = format!("key `{name}` stands twice in one object, at byte {}", span.start);
            return Err(Fault::new(Code::DuplicateKey, detail));
        }
        keys.mask |= bit;
        self.scratch.keys.push(span);
        if keys.hashes.is_none() && self.scratch.keys.len() - keys.base > FEW_KEYS {
            let hash = |span: &Span| {
                let hash = self.scratch.hasher.hash_one(self.key_at(*span).bytes());
                (hash, *span)
            };
            keys.hashes = Some(self.scratch.keys[keys.base..].iter().map(hash).collect());
        }
        Ok(())
    }
}

/// Whether any byte is a control character. Without an early end this is a few bytes a cycle.
pub(crate) fn has_controls(bytes: &[u8]) -> bool {
    bytes.iter().fold(false, |seen, byte| seen | (*byte < 0x20))
}

/// The keys of one object that is being read.
struct Keys {
    /// Where they begin in [`Scratch::keys`].
    base: usize,
    /// One bit per [`quick_hash`] that occurred: most keys are new by this alone.
    mask: u64,
    /// From hash to key, once there are many.
    hashes: Option<HashMap<u64, Span>>,
}

/// A hash of a few instructions that tells the usual keys of Pi's entries apart.
fn quick_hash(key: &[u8]) -> u64 {
    let first = key.first().copied().unwrap_or(0);
    let middle = key.get(key.len() / 2).copied().unwrap_or(0);
    let last = key.last().copied().unwrap_or(0);
    let mixed = u64::from(first) | u64::from(middle) << 8 | u64::from(last) << 16;
    ((mixed ^ (key.len() as u64) << 24).wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 58
}

/// The next quote or backslash. Most strings are short or full of escapes, so eight bytes at a
/// time come before the search that is made for long runs.
fn end_or_escape(bytes: &[u8]) -> Option<usize> {
    const SHORT: usize = 64;
    const ONES: u64 = 0x0101_0101_0101_0101;
    const QUOTES: u64 = ONES * b'"' as u64;
    const BACKSLASHES: u64 = ONES * b'\\' as u64;
    // The highest bit of the first byte that is zero, and perhaps of some after it.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let (words, _) = bytes[..bytes.len().min(SHORT)].as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zero(word ^ QUOTES) | zero(word ^ BACKSLASHES);
        if found != 0 {
            return Some(place * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let searched = words.len() * 8;
    memchr::memchr2(b'"', b'\\', &bytes[searched..]).map(|found| found + searched)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(), Code> {
        let mut scratch = Scratch::default();
        let mut scanner = Scanner::new(text, &mut scratch);
        scanner.value(1).and_then(|_| scanner.finish()).map_err(|fault| fault.code)
    }

    #[test]
    fn accepts_exactly_rfc_8259() {
        let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        let many = |twice: bool| {
            let mut keys: Vec<String> = (0..200).map(|n| format!("\"k{n}\":{n}")).collect();
            keys.push(if twice { "\"\\u006b77\":0".into() } else { "\"k200\":0".into() });
            format!("{{{}}}", keys.join(","))
        };
        let cases: &[(&str, Option<Code>)] = &[
            (r#"{"a":[1,-0,2.5e+3,true,false,null,"x"]}"#, None),
            (r#" { "a" : [ ] , "b" : { } } "#, None),
            (r#""\ud83d\ude00 \ud800 \udc00\ud800""#, None),
            ("\"\u{2028}\u{7f}\"", None),
            ("01", Some(Code::BadJson)),
            ("1.", Some(Code::BadJson)),
            ("+1", Some(Code::BadJson)),
            (".5", Some(Code::BadJson)),
            ("1e", Some(Code::BadJson)),
            ("NaN", Some(Code::BadJson)),
            ("nul", Some(Code::BadJson)),
            ("[1,]", Some(Code::BadJson)),
            (r#"{"a":1,}"#, Some(Code::BadJson)),
            (r#"{"a" 1}"#, Some(Code::BadJson)),
            (r#"{a:1}"#, Some(Code::BadJson)),
            (r#""\x41""#, Some(Code::BadJson)),
            (r#""\u00g0""#, Some(Code::BadJson)),
            (r#""\u+041""#, Some(Code::BadJson)),
            (r#""open"#, Some(Code::BadJson)),
            ("\"tab\there\"", Some(Code::BadJson)),
            ("{\"a\":\t1}", None),
            ("1 2", Some(Code::BadJson)),
            ("", Some(Code::BadJson)),
            (r#"{"a":1,"a":2}"#, Some(Code::DuplicateKey)),
            (r#"{"a":1,"\u0061":2}"#, Some(Code::DuplicateKey)),
            (r#"[{"b":{"a":1,"c":2,"a":3}}]"#, Some(Code::DuplicateKey)),
            (r#"{"a":{"a":{"a":1}},"b":1}"#, None),
            (r#"{"\ud800":1,"\ud801":2}"#, None),
            (r#"{"\ud83d\ude00":1,"😀":2}"#, Some(Code::DuplicateKey)),
            (&many(false), None),
            (&many(true), Some(Code::DuplicateKey)),
            (&deep(128), None),
            (&deep(129), Some(Code::TooDeep)),
            (&deep(100_000), Some(Code::TooDeep)),
        ];
        for (text, expected) in cases {
            let shown: String = text.chars().take(60).collect();
            assert_eq!(read(text).err(), *expected, "{shown}");
        }
    }

    #[test]
    fn strings_are_compared_after_unescaping() {
        let value = |raw: &'static str| JsonStr { raw, escaped: raw.contains('\\') };
        assert!(value(r"\u0063hi").is("chi"));
        assert!(!value("ch").is("chi"));
        assert_eq!(&*value(r"\ud83d\ude00\n").text().unwrap(), "😀\n");
        assert_eq!(value(r"\ud800x").text(), None);
        assert_eq!(&*value(r"\ud800x").bytes(), b"\xed\xa0\x80x");
        let expected = [b"\xed\xa0\x80", "😀".as_bytes()].concat();
        assert_eq!(*value(r"\ud800\ud83d\ude00").bytes(), *expected);
    }

    proptest::proptest! {
        /// Whatever `serde_json` writes is read, and whatever is refused as bad JSON is refused there.
        #[test]
        fn agrees_with_serde_json_on_syntax(text in r#"[\[\]{}",:0-9eE+\-.a-c\\ ntrue]{0,24}"#) {
            let ours = read(&text);
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text);
            match ours {
                Ok(()) => proptest::prop_assert!(theirs.is_ok()),
                Err(Code::BadJson) => proptest::prop_assert!(theirs.is_err()),
                Err(_) => {}
            }
        }
    }
}
