//! Reduced artifacts: the one canonical spelling of a reduction (section 4.2).
//!
//! Every string of an artifact is drawn from letters, digits and a few marks, none of which JSON
//! escapes, so writing needs no escapes. Reading rebuilds the set and compares what it would
//! write with what it read: there is one spelling, and nothing else is an artifact.

use std::io::{self, Write};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use vocative::Login;

use crate::findings::{Checked, Header};
use crate::ids::{EntryId, SessionId};
use crate::json::{JsonStr, Scanner, Scratch, Value};
use crate::line::{REDUCTION_TYPE, Record};
use crate::problem::{Code, Fault};
use crate::reduction::{Origin, Reduction, Reference, ReferenceKey};
use crate::time::Timestamp;

/// What the id of every artifact begins with.
pub const ID_PREFIX: &str = "zm1_";
/// The first two lines of an artifact are shorter than this.
const SHORT_LINE: usize = 512;

/// A reduction that is about to be written: its key is known.
#[derive(Debug)]
pub struct Artifact<'a> {
    reduction: &'a Reduction,
    /// Lower-case hex SHA-256 of the core.
    key: String,
}

impl<'a> Artifact<'a> {
    /// The artifact of a reduction, which must have no conflict.
    pub fn of(reduction: &'a Reduction) -> Self {
        let mut digest = Sha256::new();
        write_core(reduction, &mut digest).expect("a digest takes every byte");
        digest.update(b"}");
        let hex =
            |byte: u8| [byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)]));
        let key = digest.finalize().into_iter().flat_map(hex).collect();
        Self { reduction, key }
    }

    /// The session id of the artifact, `outputSessionId`.
    pub fn id(&self) -> String {
        format!("{ID_PREFIX}{}", &self.key[..24])
    }

    /// The name of the file that holds the artifact.
    pub fn file_name(&self) -> String {
        format!("{}.jsonl", self.id())
    }

    /// The reduction key, `reductionKey`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Writes the three lines.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let (id, t) = (self.id(), newest(self.reduction));
        let (info, own) = (&self.key[24..31], &self.key[31..38]);
        writeln!(out, r#"{{"type":"session","version":3,"id":"{id}","timestamp":"{t}","cwd":""}}"#)?;
        writeln!(
            out,
            r#"{{"type":"session_info","id":"i{info}","parentId":null,"timestamp":"{t}","name":"z=-1 mentions"}}"#
        )?;
        write!(out, r#"{{"type":"custom","customType":"{REDUCTION_TYPE}","data":"#)?;
        write_core(self.reduction, out)?;
        write!(out, r#","reductionKey":"{}","outputSessionId":"{id}"}}"#, self.key)?;
        writeln!(out, r#","id":"m{own}","parentId":"i{info}","timestamp":"{t}"}}"#)
    }
}

fn newest(reduction: &Reduction) -> Timestamp {
    let times = reduction.references().map(|(_, reference)| reference.at);
    times.max().unwrap_or(Timestamp::EPOCH)
}

/// Writes the core object without its closing brace, which ends the core or is followed by the key.
fn write_core(reduction: &Reduction, out: &mut impl Write) -> io::Result<()> {
    out.write_all(br#"{"schemaVersion":1,"z":-1,"reducerVersion":"mentions-1","promptVersion":"none","modelId":null,"inputSessionIds":["#)?;
    for (place, input) in reduction.inputs().iter().enumerate() {
        write!(out, r#"{}"{input}""#, comma(place))?;
    }
    out.write_all(br#"],"sources":["#)?;
    for (place, (session, markers)) in reduction.markers().enumerate() {
        write!(out, r#"{}{{"sessionId":"{session}","entryIds":["#, comma(place))?;
        for (place, marker) in markers.iter().enumerate() {
            write!(out, r#"{}"{marker}""#, comma(place))?;
        }
        out.write_all(b"]}")?;
    }
    out.write_all(br#"],"timeRange":"#)?;
    match reduction.references().map(|(_, reference)| reference.at).min() {
        None => out.write_all(b"null")?,
        Some(oldest) => {
            let newest = newest(reduction);
            write!(out, r#"{{"startedAt":"{oldest}","endedAt":"{newest}"}}"#)?;
        }
    }
    out.write_all(br#","mentions":["#)?;
    for (place, (key, reference)) in reduction.references().enumerate() {
        let ReferenceKey { session, entry, recipient } = key;
        let Reference { actor, at, .. } = reference;
        write!(out, r#"{}{{"source":{{"sessionId":"{session}","entryId":"{entry}"}},"#, comma(place))?;
        write!(out, r#""recipientId":"github:{recipient}","actorId":"github:{actor}","timestamp":"{at}"}}"#)?;
    }
    out.write_all(b"]")
}

fn comma(place: usize) -> &'static str {
    if place == 0 { "" } else { "," }
}

/// Compares what is written to it with the parts of what was read, one after another.
struct Same<'a> {
    parts: [&'a [u8]; 3],
}

impl Same<'_> {
    /// Whether all that was read has been written.
    fn is_at_end(&self) -> bool {
        self.parts.iter().all(|part| part.is_empty())
    }
}

impl Write for Same<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let part = self.parts.iter_mut().find(|part| !part.is_empty());
        let Some(part) = part else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let here = bytes.len().min(part.len());
        let (expected, rest) = part.split_at(here);
        if bytes[..here] != *expected {
            return Err(io::ErrorKind::InvalidData.into());
        }
        *part = rest;
        Ok(here)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Follows the first lines of a file, as they are checked, to see whether they are an artifact.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The first two lines with their line feeds, as long as they may be those of an artifact.
    head: Option<Vec<u8>>,
    /// Whether the header's id is of the form that artifacts have.
    named_so: bool,
    is_artifact: bool,
}

impl Watch {
    /// The watch of a file whose lines up to here are known.
    pub(crate) fn resume(so_far: &Checked) -> Self {
        Self { head: None, named_so: so_far.is_artifact, is_artifact: so_far.is_artifact }
    }

    /// Takes a line that was read as JSON. Yields the reduction at the third line of an artifact,
    /// a fault where a file that must be an artifact is none, and a notice where one goes on.
    pub(crate) fn line(
        &mut self,
        number: u64,
        line: &[u8],
        header: &Header,
        record: &Record<'_>,
        scratch: &mut Scratch,
    ) -> Option<Result<Reduction, Fault>> {
        match number {
            1 => {
                self.named_so = is_artifact_id(header.id.as_str()) && !header.has_parent;
                self.head = (line.len() < SHORT_LINE).then(|| [line, b"\n"].concat());
                None
            }
            2 => {
                let head = self.head.take().filter(|_| line.len() < SHORT_LINE);
                self.head = head.map(|head| [&head, line, b"\n"].concat());
                None
            }
            3 if self.named_so || record.is_custom(REDUCTION_TYPE) && !header.has_parent => {
                let head = self.head.take().unwrap_or_default();
                let read = read(&head, line, record, scratch);
                self.is_artifact = read.is_ok();
                Some(read)
            }
            4 if self.is_artifact => {
                let detail = "the artifact was continued as a session";
                Some(Err(Fault::new(Code::ArtifactContinued, detail)))
            }
            _ => None,
        }
    }

    /// Whether the file, of so many lines, is an artifact and nothing more, or the begin of one.
    pub(crate) fn is_bare_artifact(&self, lines: u64) -> bool {
        lines <= 3 && (self.is_artifact || self.named_so)
    }

    /// Whether the file ended within the three lines.
    pub(crate) fn was_cut_short(&self, lines: u64) -> bool {
        lines < 3 && self.named_so
    }
}

fn is_artifact_id(id: &str) -> bool {
    id.strip_prefix(ID_PREFIX).is_some_and(|hex| {
        hex.len() == 24 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Reads the three lines of an artifact.
fn read(head: &[u8], line: &[u8], record: &Record<'_>, scratch: &mut Scratch) -> Result<Reduction, Fault> {
    let not_canonical = |what: &str| Fault::new(Code::ArtifactNotCanonical, what);
    let data = record.data.filter(|_| record.is_custom(REDUCTION_TYPE));
    let Some(data) = data.filter(|data| data.raw.starts_with('{')) else {
        return Err(not_canonical("the third line of the artifact is no reduction"));
    };
    let mut read = Reading::default();
    let mut scanner = Scanner::new(data.raw, scratch);
    scanner.object(1, |scanner, key| read.field(scanner, key))?;
    if let Some(version) = read.version.filter(|version| *version != "1") {
        let version: String = version.chars().take(20).collect();
        return Err(Fault::new(Code::ArtifactSchema, format!("schemaVersion {version} is not 1")));
    }
    if let Some(what) = read.bad {
        return Err(not_canonical(what));
    }
    let reduction = read.reduction;
    let sources = reduction.markers().map(|(session, _)| session);
    let mut targets: Vec<_> = reduction.references().map(|(key, _)| &key.session).collect();
    targets.dedup();
    if !reduction.conflicts().is_empty() || !sources.eq(targets) {
        return Err(not_canonical("the artifact's sources are not those of its mentions"));
    }
    let artifact = Artifact::of(&reduction);
    let is_key = read.key.is_some_and(|key| key.is(artifact.key()));
    let mut same = Same { parts: [head, line, b"\n"] };
    if artifact.write(&mut same).is_ok() && same.is_at_end() {
        return Ok(reduction);
    }
    if is_key {
        Err(not_canonical("the artifact is not spelled in the canonical form"))
    } else {
        Err(Fault::new(Code::ArtifactKey, "the reductionKey is not that of the artifact's content"))
    }
}

/// What was read of the data of an artifact so far.
#[derive(Default)]
struct Reading<'a> {
    reduction: Reduction,
    version: Option<&'a str>,
    key: Option<JsonStr<'a>>,
    /// The first thing that no artifact holds.
    bad: Option<&'static str>,
}

/// The origin of everything in an artifact is its third line.
const THIRD_LINE: Origin = Origin { file: 0, line: 3 };

impl<'a> Reading<'a> {
    fn field(&mut self, scanner: &mut Scanner<'a, '_>, key: JsonStr<'a>) -> Result<(), Fault> {
        match &*key.bytes() {
            b"schemaVersion" => self.version = Some(scanner.value(2)?.raw),
            b"reductionKey" => self.key = scanner.value(2)?.string(),
            b"inputSessionIds" if scanner.at_array() => scanner.array(2, |scanner| {
                let input = scanner.value(3)?;
                match text(input).and_then(|id| SessionId::from_header(&id)) {
                    Some(id) if !is_artifact_id(id.as_str()) => self.reduction.add_input(id),
                    _ => self.bad = Some("an input of the artifact is no session id"),
                }
                Ok(())
            })?,
            b"sources" if scanner.at_array() => {
                scanner.array(2, |scanner| self.source(scanner))?;
            }
            b"mentions" if scanner.at_array() => {
                scanner.array(2, |scanner| self.mention(scanner))?;
            }
            _ => drop(scanner.value(2)?),
        }
        Ok(())
    }

    fn source(&mut self, scanner: &mut Scanner<'a, '_>) -> Result<(), Fault> {
        let (mut session, mut markers) = (None, Vec::new());
        members(scanner, 3, |scanner, key| {
            if key.is("entryIds") && scanner.at_array() {
                return scanner.array(4, |scanner| {
                    markers.push(text(scanner.value(5)?).and_then(|id| EntryId::from_evidence(&id)));
                    Ok(())
                });
            }
            let value = scanner.value(4)?;
            if key.is("sessionId") {
                session = text(value).and_then(|id| SessionId::from_evidence(&id));
            }
            Ok(())
        })?;
        match (session, markers.into_iter().collect::<Option<Vec<_>>>()) {
            (Some(session), Some(markers)) if !markers.is_empty() => {
                for marker in markers {
                    self.reduction.add_marker(session.clone(), marker);
                }
            }
            _ => self.bad = Some("a source of the artifact is no session with its markers"),
        }
        Ok(())
    }

    fn mention(&mut self, scanner: &mut Scanner<'a, '_>) -> Result<(), Fault> {
        let (mut session, mut entry) = (None, None);
        let (mut recipient, mut actor, mut at) = (None, None, None);
        members(scanner, 3, |scanner, key| {
            if key.is("source") {
                return members(scanner, 4, |scanner, key| {
                    let value = text(scanner.value(5)?);
                    if key.is("sessionId") {
                        session = value.and_then(|id| SessionId::from_evidence(&id));
                    } else if key.is("entryId") {
                        entry = value.and_then(|id| EntryId::from_evidence(&id));
                    }
                    Ok(())
                });
            }
            let value = text(scanner.value(4)?);
            if key.is("recipientId") {
                recipient = value.and_then(|id| login(&id));
            } else if key.is("actorId") {
                actor = value.and_then(|id| login(&id));
            } else if key.is("timestamp") {
                at = value.and_then(|at| Timestamp::parse(at.as_bytes()));
            }
            Ok(())
        })?;
        match (session, entry, recipient, actor, at) {
            (Some(session), Some(entry), Some(recipient), Some(actor), Some(at)) => {
                let key = ReferenceKey { session, entry, recipient };
                self.reduction.add(key, Reference { actor, at, origin: THIRD_LINE });
            }
            _ => self.bad = Some("a mention of the artifact is no reference"),
        }
        Ok(())
    }
}

/// Reads the members of an object, or any other value, which then lacks them all.
fn members<'a>(
    scanner: &mut Scanner<'a, '_>,
    depth: u32,
    member: impl FnMut(&mut Scanner<'a, '_>, JsonStr<'a>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if scanner.at_object() { scanner.object(depth, member) } else { scanner.value(depth).map(drop) }
}

fn text(value: Value<'_>) -> Option<std::borrow::Cow<'_, str>> {
    value.string()?.text()
}

/// A login from its identity, which an artifact spells in lower case.
fn login(id: &str) -> Option<Arc<Login>> {
    let login: Login = id.strip_prefix("github:")?.parse().ok()?;
    Some(Arc::new(login))
}
