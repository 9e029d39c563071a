//! `vocative inbox --classify`: asks a model whether a message holds a task, a question or a
//! decision for the person it names.
//!
//! The message is data: it goes to the model as one JSON string, and what comes back is believed
//! only as far as it can be checked. The quote must stand in the text; the reason is shown as the
//! model's words. The model may ask for entries next to the message in the tree, and for nothing
//! else. Nothing here runs unless the user has named a model.

mod answers;
mod conversation;
mod endpoint;
mod verdict;

use std::path::PathBuf;

use vocative_pi::tree::EntryIndex;
use vocative_pi::{Opened, Page, ReferenceKey};

use self::answers::Answers;
use self::conversation::Conversation;
pub(crate) use self::endpoint::Settings;
use self::endpoint::{Endpoint, Unreachable};
use self::verdict::Reply;
pub(crate) use self::verdict::Verdict;

/// The version of the instructions. Another one makes earlier answers void.
const PROMPT_VERSION: u32 = 1;
/// How often the model may ask for entries next to the message.
const ROUNDS: usize = 3;
/// How many entries it is given each time.
const ENTRIES: usize = 3;

/// Classifies one message after another.
pub(crate) struct Classifier {
    endpoint: Endpoint,
    answers: Answers,
    /// Why the endpoint was not reached, after which it is not tried again.
    unreachable: Option<String>,
}

/// Where a message stands, for what the model may ask about it.
pub(crate) struct Message<'a> {
    pub(crate) key: &'a ReferenceKey,
    pub(crate) actor: String,
    pub(crate) text: &'a str,
    pub(crate) opened: &'a Opened,
    pub(crate) index: EntryIndex,
}

/// The pages of entries next to the message that the model has not seen yet.
struct Around<'a> {
    message: &'a Message<'a>,
    /// Where the next page begins; an inner `None` is its first entry.
    parents: Option<Option<String>>,
    children: Option<Option<String>>,
}

impl Around<'_> {
    /// The next page of one kind, or nothing if there is none.
    fn page(&mut self, parents: bool) -> Option<Page> {
        let Message { opened, index, .. } = self.message;
        let cursor = if parents { &mut self.parents } else { &mut self.children };
        let from = cursor.take()?;
        let page = if parents {
            opened.parents(*index, from.as_deref(), ENTRIES, true)
        } else {
            opened.children(*index, from.as_deref(), ENTRIES, true)
        };
        let page = page.ok()??;
        *cursor = page.next.clone().map(Some);
        Some(page)
    }
}

impl Classifier {
    /// A classifier that keeps its answers in this file.
    pub(crate) fn new(settings: Settings, answers: Option<PathBuf>) -> Self {
        let answers = Answers::load(answers, &settings.model);
        Self { endpoint: Endpoint::new(settings), answers, unreachable: None }
    }

    /// What the model says of the message, or why it says nothing that can be used.
    pub(crate) fn classify(&mut self, message: &Message<'_>) -> Result<Verdict, String> {
        if let Some(known) = self.answers.find(message.key, message.text) {
            return Ok(known);
        }
        if let Some(why) = &self.unreachable {
            return Err(why.clone());
        }
        match self.ask(message) {
            Ok(Ok(verdict)) => {
                self.answers.keep(message.key, &verdict);
                Ok(verdict)
            }
            Ok(Err(why)) => Err(why),
            Err(Unreachable(why)) => {
                self.unreachable = Some(why.clone());
                Err(why)
            }
        }
    }

    fn ask(&self, message: &Message<'_>) -> Result<Result<Verdict, String>, Unreachable> {
        let mut talk = Conversation::begin(message);
        let mut around = Around { message, parents: Some(None), children: Some(None) };
        let (mut rounds, mut repaired) = (0, false);
        loop {
            let said = self.endpoint.complete(&talk)?;
            let problem = match Reply::read(&said, message.text) {
                Ok(Reply::Verdict(verdict)) => return Ok(Ok(verdict)),
                Ok(Reply::More { parents }) if rounds < ROUNDS => {
                    rounds += 1;
                    let page = around.page(parents);
                    talk.give(&said, page.as_ref(), ROUNDS - rounds);
                    continue;
                }
                Ok(Reply::More { .. }) => "no more entries are given".to_owned(),
                Err(problem) => problem,
            };
            if repaired {
                return Ok(Err(problem));
            }
            repaired = true;
            talk.repair(&said, &problem);
        }
    }
}

/// Where answers are kept.
pub(crate) fn answers_path(context: &crate::context::Context) -> Option<PathBuf> {
    Some(context.environment.agent_dir()?.join("chi").join("classified.jsonl"))
}
