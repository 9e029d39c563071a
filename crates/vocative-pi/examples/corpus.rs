//! Writes a folder of synthetic Pi sessions for benchmarks: `corpus FOLDER [MIB] [SEED]`.
//!
//! Line sizes follow those measured on real stores: a median of 670 bytes, 46 kB at the 99th
//! percentile, a few of several megabytes. Every hundredth line is a marker. One session in ten
//! is a fork that begins with the lines of an earlier one. Some markers spell their type with
//! escapes, and some messages hold the type in their text. The same arguments give the same bytes.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use vocative_pi::Timestamp;

const MEDIAN: f64 = 670.0;
/// ln(46,000 / 670) divided by the 99th percentile of the normal distribution.
const SIGMA: f64 = 1.818;
const LONGEST: f64 = 7e6;
const LINES_PER_SESSION: u64 = 180;
const LINES_PER_MARKER: u64 = 100;
/// 2026-11-30T00:00:00.000Z.
const START: i64 = 1_795_996_800_000;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn line_size(&mut self) -> usize {
        let normal = (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos();
        let size = MEDIAN * (SIGMA * normal).exp();
        // The tail of real stores is heavier than that: now and then a file or an image is inlined.
        let size = if self.below(40_000) == 0 { LONGEST * self.unit() } else { size };
        size.min(LONGEST) as usize
    }
}

/// Words of prose and code: a line feed every forty bytes or so, now and then a quote, and few
/// characters beyond ASCII.
const WORDS: &[&str] = &[
    "the",
    "session",
    "fn main() {\\n",
    "let value = 42;",
    "return",
    "ok",
    "file",
    "function",
    "\\\"text\\\"",
    "error:",
    "0x7f",
    "compile",
    "tests passed\\n",
    "@README.md",
    "result",
    "while",
    "src/lib.rs:42",
    "and then",
    "because",
    "assert_eq!(a, b);\\n",
    "chi.messaging",
    "of",
    "to",
    "in",
    "module",
    "}\\n\\n",
    "argument",
    "naïve",
    "branch",
    "commit",
    "日本語",
    "status",
    "    if",
    "else",
    "path/to/file",
    "- item\\n",
    "see",
    "README",
    "build",
    "warning",
    "\\t",
    "value",
    "message",
];

/// Text of about so many bytes as it stands in JSON.
fn text(random: &mut Random, size: usize) -> String {
    let mut out = String::with_capacity(size + 32);
    while out.len() < size {
        out.push_str(WORDS[random.below(WORDS.len() as u64) as usize]);
        out.push(' ');
    }
    if random.below(2000) == 0 {
        out.push_str("chi.messaging.mentions");
    }
    out
}

struct Session {
    id: String,
    lines: Vec<String>,
    leaf: String,
    user: Option<String>,
    at: i64,
}

impl Session {
    fn id(random: &mut Random) -> String {
        let (high, low) = (random.next(), random.next());
        format!(
            "01a2{:04x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
            high >> 48,
            high >> 32 & 0xffff,
            high & 0xfff,
            low >> 52,
            low & 0xffff_ffff_ffff
        )
    }

    fn entry(&mut self, random: &mut Random) -> (String, String, String) {
        let id = format!("{:08x}", random.next() >> 32);
        let parent = if self.leaf.is_empty() { "null".into() } else { format!("\"{}\"", self.leaf) };
        self.at += 1 + random.below(5000) as i64;
        self.leaf.clone_from(&id);
        (id, parent, Timestamp::from_millis(self.at).expect("a time of this century").to_string())
    }

    fn message(&mut self, random: &mut Random) {
        let (id, parent, at) = self.entry(random);
        let size = random.line_size();
        let body = match random.below(4) {
            0 => {
                self.user = Some(id.clone());
                let text = text(random, size.min(4000));
                format!(
                    r#"{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"timestamp":{}}}"#,
                    self.at
                )
            }
            1 => {
                let text = text(random, size.saturating_sub(300));
                format!(
                    r#"{{"role":"toolResult","toolCallId":"call_1","toolName":"bash","content":[{{"type":"text","text":"{text}"}}],"isError":false,"timestamp":{}}}"#,
                    self.at
                )
            }
            _ => {
                let text = text(random, size.saturating_sub(600));
                format!(
                    r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"api":"openai-completions","provider":"stub","model":"stub-1","usage":{{"input":96,"output":20,"cacheRead":0,"cacheWrite":0,"totalTokens":116,"cost":{{"input":0.25,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}}}},"stopReason":"stop","timestamp":{}}}"#,
                    self.at
                )
            }
        };
        self.lines.push(format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{at}","message":{body}}}"#
        ));
    }

    fn marker(&mut self, random: &mut Random) {
        let Some(user) = self.user.clone() else {
            return self.message(random);
        };
        let (id, parent, at) = self.entry(random);
        let kind = match random.below(500) {
            0 => r"chi\u002emessaging.mentions",
            1 => r"chi.messaging.\u006dentions",
            _ => "chi.messaging.mentions",
        };
        let first = random.below(50);
        let mut recipients = format!(r#"{{"id":"github:user{first}","handle":"User{first}"}}"#);
        for more in 1..=random.below(3) {
            let other = first + 50 * more;
            let _ = write!(recipients, r#",{{"id":"github:user{other}","handle":"User{other}"}}"#);
        }
        self.lines.push(format!(
            r#"{{"type":"custom","customType":"{kind}","data":{{"schemaVersion":1,"actor":{{"id":"github:gszep","handle":"gszep"}},"recipients":[{recipients}],"target":{{"sessionId":"{}","entryId":"{user}"}}}},"id":"{id}","parentId":{parent},"timestamp":"{at}"}}"#,
            self.id
        ));
    }

    fn write(&self, folder: &Path, parent: Option<&str>) -> io::Result<u64> {
        let at = Timestamp::from_millis(self.at).expect("a time of this century").to_string();
        let name = format!("{}_{}.jsonl", at.replace([':', '.'], "-"), self.id);
        let mut out = BufWriter::new(File::create(folder.join(name))?);
        let fork = parent.map_or(String::new(), |id| format!(r#","parentSession":"/sessions/{id}.jsonl""#));
        let mut bytes = format!(
            r#"{{"type":"session","version":3,"id":"{}","timestamp":"{at}","cwd":"/tmp/p"{fork}}}"#,
            self.id
        )
        .into_bytes();
        bytes.push(b'\n');
        let mut total = bytes.len() as u64;
        out.write_all(&bytes)?;
        for line in &self.lines {
            total += line.len() as u64 + 1;
            out.write_all(line.as_bytes())?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(total)
    }
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: corpus FOLDER [MIB] [SEED]";
    let folder = arguments.next().expect(usage);
    let mib: u64 = arguments.next().map_or(1024, |number| number.parse().expect(usage));
    let mut random = Random(arguments.next().map_or(1, |number| number.parse().expect(usage)));
    let folder = Path::new(&folder);
    let (mut total, mut files, mut lines) = (0, 0u64, 0u64);
    let mut earlier: Option<Session> = None;
    while total < mib << 20 {
        let place = folder.join(format!("--project-{}--", files % 7));
        fs::create_dir_all(&place)?;
        let mut session = Session {
            id: Session::id(&mut random),
            lines: Vec::new(),
            leaf: String::new(),
            user: None,
            at: START + files as i64 * 600_000,
        };
        let mut parent = None;
        if let Some(old) = earlier.as_ref().filter(|_| files % 10 == 9) {
            // A fork keeps the lines before a point, markers and their targets included.
            let kept = random.below(old.lines.len() as u64 / 2) as usize + 1;
            session.lines.extend_from_slice(&old.lines[..kept]);
            // The entry's own id is the first that is eight digits long.
            let own = old.lines[kept - 1].split(r#""id":""#).skip(1);
            let own = own.into_iter().find(|part| part.as_bytes().get(8) == Some(&b'"'));
            session.leaf = own.expect("every line has an id")[..8].to_owned();
            session.at = old.at;
            parent = Some(old.id.clone());
        }
        let count = LINES_PER_SESSION / 2 + random.below(LINES_PER_SESSION);
        for _ in 0..count {
            lines += 1;
            if lines.is_multiple_of(LINES_PER_MARKER) {
                session.marker(&mut random);
            } else {
                session.message(&mut random);
            }
        }
        total += session.write(&place, parent.as_deref())?;
        files += 1;
        if parent.is_none() {
            earlier = Some(session);
        }
    }
    println!("{files} files, {total} bytes");
    Ok(())
}
