//! A group as one call of the function that appends.

use super::batch::Batch;
use super::call::{self, Failure};
use super::connections::{ANSWER, Connections};
use super::failure::{failed, is_of_event};
use crate::error::{Outcome, Refusal, StoreError};
use crate::facts::Facts;
use crate::group::{Apply, Fault};
use crate::store::Entry;

/// What the node's writer appends through.
pub(super) struct Appender(pub(super) Connections);

impl Apply for Appender {
    async fn apply(&mut self, entries: &[&Entry]) -> Result<Vec<Outcome>, Fault> {
        let mut batch = Batch::default();
        // What is refused here is not sent; the others keep their order.
        let mut refused: Vec<Option<Refusal>> = Vec::with_capacity(entries.len());
        for entry in entries {
            refused.push(match Facts::of(&entry.event) {
                Ok(facts) => {
                    batch.push(&entry.event, facts);
                    entry.conditions.iter().for_each(|condition| batch.condition(condition));
                    entry.changes.iter().for_each(|change| batch.change(change));
                    None
                }
                Err(refusal) => Some(refusal),
            });
        }
        let answers = self.0.ask(ANSWER, |db| Box::pin(async move { call::append(db, &batch).await })).await;
        let mut answers = answers.map_err(fault)?.into_iter();
        let outcomes =
            refused.into_iter().map(|refusal| refusal.map(Outcome::Refused).or_else(|| answers.next()));
        let missing = || Fault::OfStore(StoreError::Database("an answer is missing".to_owned()));
        outcomes.map(|outcome| outcome.ok_or_else(missing)).collect()
    }
}

fn fault(failure: Failure) -> Fault {
    match failure {
        Failure::Said(error) if is_of_event(&error) => Fault::OfEvent(error.to_string()),
        Failure::Said(error) => Fault::OfStore(failed(&error)),
        Failure::OfStore(error) => Fault::OfStore(error),
    }
}
