//! What is asked of a relay, and what has to be answered.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::client::Client;
use crate::relay::Implementation;

/// A file of steps.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Scenario {
    /// What it is about.
    pub(crate) about: String,
    /// Arguments of rust-nostr's relay.
    #[serde(default)]
    pub(crate) local_relay: Vec<String>,
    people: Value,
    events: Value,
    steps: Vec<Step>,
}

/// One question.
#[derive(serde::Deserialize)]
struct Step {
    /// What has to be answered.
    answer: Value,
    /// What rust-nostr's relay answers instead.
    peer: Option<Exception>,
    /// Why only our relay is asked.
    only: Option<String>,
    /// What the scripts read.
    #[serde(flatten)]
    asked: serde_json::Map<String, Value>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    answer: Value,
    because: String,
}

/// What a relay answered a client, in the order of the steps that it was asked.
pub(crate) struct Run {
    pub(crate) implementation: Implementation,
    pub(crate) client: Client,
    pub(crate) answers: Vec<Value>,
}

impl Scenario {
    pub(crate) fn read(name: &str) -> Self {
        let path = format!("{}/tests/interop/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario: Self = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
        for step in &scenario.steps {
            let asked = Value::from(step.asked.clone());
            let is_reason = |reason: &String| reason.ends_with('.');
            assert!(step.only.iter().all(is_reason), "{asked}: say why only ours is asked");
            if let Some(exception) = &step.peer {
                assert!(is_reason(&exception.because), "{asked}: say why it answers otherwise");
                assert_ne!(exception.answer, step.answer, "{asked}: this is no exception");
            }
        }
        scenario
    }

    /// What the scripts read: no answer, and nothing that only the other relay is asked.
    pub(crate) fn asked_of(&self, implementation: Implementation) -> Value {
        let steps: Vec<_> = self.steps_of(implementation).map(|step| &step.asked).collect();
        json!({ "people": self.people, "events": self.events, "steps": steps })
    }

    fn steps_of(&self, implementation: Implementation) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(move |step| step.is_for(implementation))
    }

    /// The steps that some run was answered otherwise than it should, each with everything that was answered.
    pub(crate) fn differences(&self, runs: &[Run]) -> Vec<String> {
        let mut answers: Vec<_> = runs.iter().map(|run| run.answers.iter()).collect();
        let mut differences = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let mut told = format!("step {}: {}", number + 1, Value::from(step.asked.clone()));
            let mut differs = false;
            for (run, answers) in runs.iter().zip(&mut answers) {
                if !step.is_for(run.implementation) {
                    continue;
                }
                let expected = step.expected(run.implementation);
                let answered = answers.next();
                let is_expected = answered == Some(expected);
                differs |= !is_expected;
                let (relay, client) = (run.implementation.name(), run.client.name());
                let answered = answered.map_or("(the script ended before)".to_owned(), Value::to_string);
                let verdict = if is_expected { String::new() } else { format!("   instead of {expected}") };
                write!(told, "\n    {relay} to {client}: {answered}{verdict}").unwrap();
            }
            differences.extend(differs.then_some(told));
        }
        differences
    }
}

impl Step {
    fn is_for(&self, implementation: Implementation) -> bool {
        implementation == Implementation::Vocative || self.only.is_none()
    }

    fn expected(&self, implementation: Implementation) -> &Value {
        match &self.peer {
            Some(exception) if implementation == Implementation::RustNostr => &exception.answer,
            _ => &self.answer,
        }
    }
}
