//! Constants (N).

/// N-1: how long a send waits for pending paste checks, in milliseconds.
pub const PENDING_MENTION_BINDING_TIMEOUT_MS: u64 = 10_000;
/// N-2: claims kept.
pub const CLAIMS: usize = 200;
/// N-3: ranges tracked for one paste.
pub const RANGES_PER_PASTE: usize = 50;
/// N-4: records read from a clipboard.
pub const CLIPBOARD_RECORDS: usize = 50;
/// N-5: the longest label of a clipboard record, in UTF-16 units.
pub const RECORD_LABEL_UTF16: usize = 200;
/// N-6: entries of the selected map, of the persona map, audience scopes, provenance.
pub const BINDINGS: usize = 200;
/// N-7: drafts kept; the least recently updated goes.
pub const DRAFTS: usize = 100;
/// N-8: how long the picker waits for more keys, in milliseconds.
pub const PICKER_DEBOUNCE_MS: u64 = 120;
/// N-9: suggestions shown, and the size of a page of user search.
pub const SUGGESTIONS: usize = 50;
/// N-10: how far S-2 looks back, in code points, the sign included.
pub const LOOK_BACK: usize = 80;
/// N-11: how long a cached profile is fresh, in milliseconds.
pub const FRESH_PROFILE_MS: u64 = 10 * 60 * 1000;
/// N-12: leading and trailing digits of an abbreviated key.
pub const KEY_ABBREVIATION: (usize, usize) = (8, 4);
/// N-13: the longest label shown whole on a chip, in code points.
pub const CHIP: usize = 48;
/// N-14: `p` tags of one event, counted before duplicates are removed.
pub const RECIPIENTS: usize = 50;
/// N-14: references of one event.
pub const REFERENCES: usize = 200;
/// N-15: the largest body, in bytes.
pub const BODY: usize = 64 * 1024;
/// N-16: hex digits of a query before keys match.
pub const KEY_QUERY: usize = 4;
/// N-17: the longest label that matches, in code points after trimming.
pub const LABEL: usize = 512;
