//! Someone as a server describes them, on a terminal.

use serde::{Deserialize, Serialize};

use crate::terminal;

/// Someone, as a person would tell them from others.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Person {
    pub(crate) key: String,
    pub(crate) npub: String,
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) is_agent: bool,
    pub(crate) owner: Option<String>,
    #[serde(default)]
    pub(crate) is_member: bool,
}

impl Person {
    /// Name and key on one line. The whole key: an abbreviation could be anybody's.
    pub(crate) fn shown(&self) -> String {
        let name = self.name.as_deref().unwrap_or("(no name)");
        let kind = match (self.is_agent, &self.owner) {
            (true, Some(owner)) => format!(", agent of {owner}"),
            (true, None) => ", agent".to_owned(),
            (false, _) => String::new(),
        };
        let outside = if self.is_member { "" } else { ", no member of the channel" };
        terminal::line(&format!("{name} ({}{kind}{outside})", self.npub))
    }
}
