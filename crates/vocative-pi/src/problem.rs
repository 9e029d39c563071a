//! What can be wrong with a session file or an artifact: one stable code each, with advice.

use std::fmt;

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $advice:literal;)*) => {
        /// What is wrong, as a name that scripts may rely on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)*
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What the owner of the file can do about it.
            pub fn advice(self) -> &'static str {
                match self { $(Self::$name => $advice,)* }
            }
        }
    };
}

codes! {
    /// The file could not be read.
    Io = "io", "check that the file exists and may be read";
    /// No complete line.
    EmptyFile = "empty_file", "a session begins with a header line; remove the file if it holds nothing";
    /// Rule 1: a byte-order mark.
    ByteOrderMark = "byte_order_mark", "remove the first three bytes; Pi refuses the file as well";
    /// Rule 1: a line over the limit.
    LineTooLong = "line_too_long", "raise the limit with --max-line if the line is meant";
    /// Rule 1: an empty line, or one of white space.
    BlankLine = "blank_line", "remove the line";
    /// Rule 1: a carriage return.
    CarriageReturn = "carriage_return", "save the file with LF line ends";
    /// Rule 1: the line does not begin with `{` or does not end with `}`.
    NotAnObject = "not_an_object", "each line is one JSON object without white space around it";
    /// Rule 1: not UTF-8.
    NotUtf8 = "not_utf8", "restore the line from a copy; Pi would replace the bytes when reading";
    /// Rule 1: not JSON.
    BadJson = "bad_json", "restore the line from a copy; Pi skips it silently";
    /// Rule 1: nesting over 128.
    TooDeep = "too_deep", "the line was not written by Pi; remove it or restore it";
    /// Rule 1: a key twice in one object.
    DuplicateKey = "duplicate_key", "readers disagree on which of the two counts; keep one";
    /// Rule 1: the last line of a session does not end with LF. A warning: the line is ignored.
    UnterminatedTail = "unterminated_tail", "the last write was cut short; nothing needs to be done";
    /// Rule 1: the last line of an artifact does not end with LF.
    UnterminatedArtifact = "unterminated_artifact", "reduce again; an artifact ends with a line feed";
    /// Rule 2: the first line is no header.
    HeaderMissing = "header_missing", "the first line must be the session header";
    /// Rule 2: a title line stands before the header.
    TitleLine = "title_line", "the file was written by another agent; read it with --lenient";
    /// Rule 2: a second header.
    SecondHeader = "second_header", "two sessions were joined; split the file at this line";
    /// Rule 2: the version is not the number 3.
    HeaderVersion = "header_version", "open the session once with a current Pi, which migrates it";
    /// Rule 2: the session id does not follow Pi's rule.
    HeaderId = "header_id", "a session id is letters, digits and . _ - between letters or digits";
    /// Rule 2 and 3: the header's time.
    HeaderTimestamp = "header_timestamp", "a time is written as 2026-11-30T17:28:07.858Z";
    /// Rule 2: `cwd` is no string.
    HeaderCwd = "header_cwd", "write the folder as a string; it may be empty";
    /// Rule 2: `parentSession` is no string.
    HeaderParentSession = "header_parent_session", "write the path as a string, or leave it out";
    /// Rule 3: no `type`.
    EntryType = "entry_type", "an entry has a type that is a string";
    /// Rule 3: no `id`.
    EntryId = "entry_id", "an entry has an id that is a non-empty string";
    /// Rule 3: an id that an earlier entry has.
    DuplicateId = "duplicate_id", "two writers or a bad copy; give the later entry and its children another id";
    /// Rule 3: `parentId` is neither null nor a string, or is missing.
    ParentId = "parent_id", "parentId is null at a root and the id of an earlier entry elsewhere";
    /// Rule 3: an entry that is its own parent.
    ParentSelf = "parent_self", "Pi runs out of memory on this file; point the entry at the one before it";
    /// Rule 3: the parent stands later in the file, and its ancestors lead back here.
    ParentCycle = "parent_cycle", "Pi runs out of memory on this file; point one entry of the cycle elsewhere";
    /// Rule 3: the parent stands later in the file.
    ParentForward = "parent_forward", "order the lines so that a parent comes before its children";
    /// Rule 3: no entry has the parent's id.
    ParentMissing = "parent_missing", "restore the missing entry, or point this one at the nearest ancestor left";
    /// Rule 3: the entry's time.
    EntryTimestamp = "entry_timestamp", "a time is written as 2026-11-30T17:28:07.858Z";
    /// Rule 4: a message entry without a message object.
    MessageMissing = "message_missing", "a message entry holds a message object; Pi crashes without it";
    /// Rule 4: no role.
    MessageRole = "message_role", "message.role is a string";
    /// Rule 4: an assistant's content is no array.
    AssistantContent = "assistant_content", "an assistant message has an array as content";
    /// Rule 4: an assistant's usage.
    AssistantUsage = "assistant_usage", "usage needs numbers for input, output, cacheRead, cacheWrite and totalTokens";
    /// Rule 4: the cost within usage.
    AssistantCost = "assistant_cost", "usage.cost needs numbers for input, output, cacheRead, cacheWrite and total";
    /// Rule 4: stopReason, api, provider or model.
    AssistantField = "assistant_field", "an assistant message has stopReason, api, provider and model as strings";
    /// Rule 4: a custom entry without a type.
    CustomType = "custom_type", "a custom entry has a customType that is a string";
    /// More entries than can be numbered.
    TooManyEntries = "too_many_entries", "split the session";
    /// Section 4.1: a marker with another schema version.
    MarkerSchema = "marker_schema", "a newer program wrote this marker; update this one";
    /// Section 4.1: a marker lacks a field or has one that is not known.
    MarkerShape = "marker_shape", "a marker holds schemaVersion, actor, recipients and target, and nothing else";
    /// Section 4.1: an id that evidence cannot use.
    MarkerId = "marker_id", "ids in evidence are 1 to 128 letters, digits and . _ -";
    /// Section 4.1: an identity that is not its handle in lower case.
    MarkerIdentity = "marker_identity", "an id is github: and the handle in lower case";
    /// Section 4.1: no recipient, or one twice.
    MarkerRecipients = "marker_recipients", "recipients are at least one, each once";
    /// Section 4.1: the target belongs to a session that this file does not continue.
    MarkerSession = "marker_session", "the target is this session's, unless the header names a parentSession";
    /// Section 4.1: the target is not in the file.
    MarkerTargetMissing = "marker_target_missing", "the message that the marker points at must stand before it in this file";
    /// Section 4.1: the target is on another branch.
    MarkerTargetNotAncestor = "marker_target_not_ancestor", "the marker must descend from its message";
    /// Section 4.1: the target is no user message.
    MarkerTargetNotUser = "marker_target_not_user", "evidence points at a message of the user";
    /// Section 4.2: an artifact that is not the canonical form of what it says.
    ArtifactNotCanonical = "artifact_not_canonical", "reduce the sessions again; an artifact is never edited";
    /// Section 4.2: the key of an artifact is not that of its content.
    ArtifactKey = "artifact_key", "the artifact was changed; reduce the sessions again";
    /// Section 4.2: a newer artifact.
    ArtifactSchema = "artifact_schema", "a newer program wrote this artifact; update this one";
    /// Section 4.3: Pi continued an artifact. A notice: its later lines count as a session.
    ArtifactContinued = "artifact_continued", "nothing needs to be done; the lines after the third are read as a session";
    /// Section 4.3: one reference with two actors or times.
    Conflict = "conflict", "one of the two was changed; find out which, and leave it out";
}

impl Code {
    /// Whether the file is valid all the same.
    pub fn is_warning(self) -> bool {
        matches!(self, Self::UnterminatedTail | Self::ArtifactContinued)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wrong with one line, by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub code: Code,
    /// The offending item, as a lower-case fragment.
    pub detail: String,
}

impl Fault {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    /// The fault as a problem of a line in a file.
    pub fn at(self, line: u64, entry: Option<String>) -> Problem {
        Problem { code: self.code, line, entry, detail: self.detail }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Fault {}

/// What is wrong with a file, and where. The file itself is known to whoever asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub code: Code,
    /// The line, counted from 1; 0 where the file as a whole is meant.
    pub line: u64,
    /// The id of the entry on that line, where it has one.
    pub entry: Option<String>,
    /// The offending item, as a lower-case fragment.
    pub detail: String,
}

impl Problem {
    /// A problem of the file as a whole.
    pub(crate) fn of_file(code: Code, detail: impl Into<String>) -> Self {
        Fault::new(code, detail).at(0, None)
    }

    /// Whether the file is valid all the same.
    pub fn is_warning(&self) -> bool {
        self.code.is_warning()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if let Some(entry) = &self.entry {
            write!(f, "entry {entry}: ")?;
        }
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_names() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(
            names.iter().all(|name| {
                name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_' || b.is_ascii_digit())
            })
        );
    }
}
