//! What the model said before, by reference, instructions and model, so that it is asked once.
//!
//! The file holds words of messages, so only its owner may read it. It can be deleted at any time.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use vocative_pi::ReferenceKey;

use super::PROMPT_VERSION;
use super::verdict::Verdict;

/// One answer as a line of the file.
#[derive(Serialize, Deserialize)]
struct Answer {
    session: String,
    entry: String,
    recipient: String,
    prompt: u32,
    model: String,
    verdict: Verdict,
}

/// The answers of one model.
pub(crate) struct Answers {
    path: Option<PathBuf>,
    model: String,
    known: HashMap<[String; 3], Verdict>,
}

fn name(key: &ReferenceKey) -> [String; 3] {
    [key.session.to_string(), key.entry.to_string(), key.recipient.to_string()]
}

impl Answers {
    /// Reads the file; lines that cannot be read are passed over.
    pub(crate) fn load(path: Option<PathBuf>, model: &str) -> Self {
        let text = path.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
        let known = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Answer>(line).ok())
            .filter(|answer| answer.prompt == PROMPT_VERSION && answer.model == model)
            .map(|answer| ([answer.session, answer.entry, answer.recipient], answer.verdict))
            .collect();
        Self { path, model: model.to_owned(), known }
    }

    /// What was said of the reference, if it still fits the text.
    pub(crate) fn find(&self, key: &ReferenceKey, text: &str) -> Option<Verdict> {
        let verdict = self.known.get(&name(key))?;
        let fits = verdict.quote.as_ref().is_none_or(|quote| quote.stands_in(text));
        fits.then(|| verdict.clone())
    }

    /// Notes an answer. Without the file the model is asked again, and nothing else is lost.
    pub(crate) fn keep(&mut self, key: &ReferenceKey, verdict: &Verdict) {
        let [session, entry, recipient] = name(key);
        let (prompt, model) = (PROMPT_VERSION, self.model.clone());
        let answer = Answer { session, entry, recipient, prompt, model, verdict: verdict.clone() };
        self.known.insert(name(key), verdict.clone());
        let Some(path) = &self.path else {
            return;
        };
        let append = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let mut options = OpenOptions::new();
            options.append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            // A line feed before the line as well: the last write may have been cut short.
            let line = format!("\n{}\n", serde_json::to_string(&answer)?);
            options.open(path)?.write_all(line.as_bytes())
        };
        let _ = append();
    }
}
