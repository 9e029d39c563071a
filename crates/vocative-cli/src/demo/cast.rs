//! Who is in the demonstration, and what they have said before it begins.

/// Someone who has a key of their own.
pub(super) struct Member {
    /// What the demonstration calls them; their key file is named so.
    pub(super) id: &'static str,
    /// What the community calls them.
    pub(super) name: &'static str,
    /// The login of a person at GitHub; of an agent the person who owns it.
    pub(super) who: Who,
}

pub(super) enum Who {
    Human { login: &'static str },
    Agent { owner: &'static str, about: &'static str },
}

/// Four people, two of one name, and two agents. The first founds the community.
pub(super) const MEMBERS: [Member; 6] = [
    Member { id: "gszep", name: "gszep", who: Who::Human { login: "gszep" } },
    Member { id: "steffen", name: "Steffen", who: Who::Human { login: "SteffenPL" } },
    Member { id: "alex", name: "Alex Kim", who: Who::Human { login: "alexkim" } },
    Member { id: "other-alex", name: "Alex Kim", who: Who::Human { login: "alex-kim_corp" } },
    Member {
        id: "scout",
        name: "Scout",
        who: Who::Agent { owner: "steffen", about: "Collects open questions." },
    },
    Member { id: "scribe", name: "Scribe", who: Who::Agent { owner: "gszep", about: "Writes minutes." } },
];

/// A channel and who is in it beside who made it.
pub(super) struct Room {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// Its tags beside its names.
    pub(super) flags: &'static [&'static [&'static str]],
    pub(super) members: &'static [&'static str],
}

pub(super) const ROOMS: [Room; 3] = [
    Room {
        id: "general",
        name: "General",
        about: "Everything, for everyone.",
        flags: &[],
        members: &["steffen", "alex", "other-alex", "scout", "scribe"],
    },
    Room {
        id: "ideas",
        name: "Ideas",
        about: "Posts and comments.",
        flags: &[&["type", "forum"]],
        members: &["steffen", "alex", "other-alex"],
    },
    Room {
        id: "release",
        name: "Release",
        about: "For those who release.",
        flags: &[&["private"], &["hidden"], &["restricted"], &["closed"]],
        members: &["steffen", "alex"],
    },
];

/// Something that was said, by whom and how many minutes ago.
pub(super) struct Said {
    pub(super) by: &'static str,
    pub(super) ago: u64,
    pub(super) what: What,
    /// Exact recipients: the label in the text, and who is meant.
    pub(super) to: &'static [(&'static str, &'static str)],
}

pub(super) enum What {
    /// A message to a channel, remembered under a name.
    Message { name: &'static str, channel: &'static str, text: &'static str },
    /// A forum post.
    Post { name: &'static str, channel: &'static str, text: &'static str },
    /// A comment on a post.
    Comment { on: &'static str, channel: &'static str, text: &'static str },
    /// A new text of a message.
    Edit { of: &'static str, text: &'static str },
    /// A copy of a message to another channel.
    Forward { of: &'static str, channel: &'static str },
}

const fn said(by: &'static str, ago: u64, what: What) -> Said {
    Said { by, ago, what, to: &[] }
}

pub(super) const HISTORY: [Said; 12] = [
    said(
        "gszep",
        50,
        What::Message {
            name: "welcome",
            channel: "general",
            text: "Welcome. Names are exact here: @Steffen gets this, and nobody else does.",
        },
    ),
    said(
        "steffen",
        48,
        What::Message {
            name: "draft",
            channel: "general",
            text: "Thank you, @gszep. Is the draft ready on Friday?",
        },
    ),
    Said {
        by: "steffen",
        ago: 45,
        what: What::Message {
            name: "figures",
            channel: "general",
            text: "@Alex Kim, are the figures of the second run yours?",
        },
        to: &[("Alex Kim", "other-alex")],
    },
    said(
        "alex",
        40,
        What::Message {
            name: "review",
            channel: "general",
            text: "I can review it. @Scout please collect what is open.",
        },
    ),
    Said {
        by: "scout",
        ago: 39,
        what: What::Message {
            name: "open",
            channel: "general",
            text: "Two questions are open: who owns the figures, and when do we release? @Alex Kim asked me to collect them.",
        },
        to: &[("Alex Kim", "alex")],
    },
    said(
        "gszep",
        35,
        What::Message { name: "minutes", channel: "general", text: "@Steffen writes the minutes today." },
    ),
    said("gszep", 34, What::Edit { of: "minutes", text: "@Scribe writes the minutes today." }),
    said(
        "gszep",
        30,
        What::Message { name: "friday", channel: "general", text: "We meet on Friday at ten." },
    ),
    said(
        "gszep",
        29,
        What::Edit { of: "friday", text: "We meet on Friday at ten. @Steffen brings the draft." },
    ),
    said(
        "steffen",
        20,
        What::Post {
            name: "thread",
            channel: "ideas",
            text: "# Show who was named in a thread\n\n@gszep, would a list beside the thread do?",
        },
    ),
    said("gszep", 18, What::Comment { on: "thread", channel: "ideas", text: "A list is enough, @Steffen." }),
    said("gszep", 10, What::Forward { of: "welcome", channel: "release" }),
];

/// The recorded Pi sessions: the name of the file, and what it holds.
pub(super) const SESSIONS: [(&str, &str); 4] = [
    ("tree.jsonl", include_str!("../../../../testdata/pi/tree-steer-followup.jsonl")),
    ("compaction.jsonl", include_str!("../../../../testdata/pi/compaction.jsonl")),
    ("bash.jsonl", include_str!("../../../../testdata/pi/error-abort-unicode-bash.jsonl")),
    ("fork.jsonl", include_str!("../../../../testdata/pi/fork-of-tree.jsonl")),
];

/// The session that is shared from the start, so that whom it names can read on.
pub(super) const SHARED: usize = 0;
/// Who recorded the sessions.
pub(super) const RECORDER: &str = "gszep";
/// The repository that the community serves.
pub(super) const REPOSITORY: &str = "acme/app";
