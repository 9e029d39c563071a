//! The model's endpoint, as OpenAI and local servers such as Ollama or llama.cpp speak it.

use std::env;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::conversation::Conversation;
use super::verdict::schema;
use crate::outcome::Failure;

/// The longest reply that is read.
const LONGEST_REPLY: u64 = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(120);

/// Which model is asked, and how it is reached.
pub(crate) struct Settings {
    url: String,
    pub(crate) model: String,
    key: Option<String>,
}

/// The endpoint could not be reached, or does not speak as expected.
#[derive(Debug)]
pub(crate) struct Unreachable(pub(crate) String);

impl Settings {
    /// The settings of the environment: `VOCATIVE_MODEL_URL`, `VOCATIVE_MODEL`, and a key in
    /// `VOCATIVE_MODEL_KEY` or in the file that `VOCATIVE_MODEL_KEY_FILE` names, if one is needed.
    pub(crate) fn from_environment() -> Result<Self, Failure> {
        let get = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let refuse =
            |message: &str| Err(Failure { code: "model_settings".into(), ..Failure::usage(message) });
        let (Some(url), Some(model)) = (get("VOCATIVE_MODEL_URL"), get("VOCATIVE_MODEL")) else {
            return refuse("--classify needs VOCATIVE_MODEL_URL and VOCATIVE_MODEL to be set");
        };
        let key = match (get("VOCATIVE_MODEL_KEY"), get("VOCATIVE_MODEL_KEY_FILE")) {
            (Some(key), _) => Some(key),
            (None, None) => None,
            (None, Some(file)) => match std::fs::read_to_string(file) {
                Ok(key) => Some(key.trim().to_owned()),
                Err(_) => return refuse("the file of VOCATIVE_MODEL_KEY_FILE cannot be read"),
            },
        };
        let url = url.trim_end_matches('/').to_owned();
        let plain = url.strip_prefix("http://");
        if plain.is_none() && !url.starts_with("https://") {
            return refuse("VOCATIVE_MODEL_URL begins with http:// or https://");
        }
        if key.is_some() && plain.is_some_and(|rest| !is_loopback(rest)) {
            return refuse("a key is not sent over http:// to another machine; use https://");
        }
        Ok(Self { url, model, key })
    }
}

/// Whether the rest of an `http://` address names this machine.
fn is_loopback(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.contains('@') {
        return false;
    }
    match host.strip_prefix('[') {
        Some(address) => address.starts_with("::1]"),
        None => {
            let host = host.split(':').next().unwrap_or_default();
            let address = host.parse::<std::net::Ipv4Addr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
    }
}

/// What is read of a completion.
#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Content,
}

#[derive(Deserialize)]
struct Content {
    content: Option<String>,
}

/// The endpoint.
pub(crate) struct Endpoint {
    settings: Settings,
    agent: ureq::Agent,
}

impl Endpoint {
    pub(crate) fn new(settings: Settings) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            // A message must not follow a redirection to where the user did not send it.
            .max_redirects(0)
            .http_status_as_error(false)
            .build();
        Self { settings, agent: config.into() }
    }

    /// What the model says next.
    pub(crate) fn complete(&self, talk: &Conversation) -> Result<String, Unreachable> {
        let Settings { url, model, key } = &self.settings;
        let body = json!({
            "model": model,
            "messages": talk.turns(),
            "temperature": 0,
            "stream": false,
            "response_format": {
                "type": "json_schema",
                "json_schema": { "name": "verdict", "strict": true, "schema": schema() },
            },
        });
        let mut request =
            self.agent.post(format!("{url}/chat/completions")).header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let fail = |error: ureq::Error| Unreachable(format!("the model was not reached: {error}"));
        let mut response = request.send(body.to_string()).map_err(fail)?;
        let status = response.status().as_u16();
        if status != 200 {
            return Err(Unreachable(format!("the model's server answered with status {status}")));
        }
        let text = response.body_mut().with_config().limit(LONGEST_REPLY).read_to_string();
        let completion: Completion = serde_json::from_str(&text.map_err(fail)?)
            .map_err(|_| Unreachable("the model's server answered with no completion".into()))?;
        let said = completion.choices.into_iter().next().and_then(|choice| choice.message.content);
        Ok(said.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stays_on_this_machine_without_tls() {
        for (rest, expected) in [
            ("localhost:1/v1", true),
            ("127.0.0.1", true),
            ("127.9.9.9:80/v1", true),
            ("[::1]:80/v1", true),
            ("localhost.example/v1", false),
            ("127.0.0.1.example", false),
            ("10.0.0.1", false),
            ("127.0.0.1@example/v1", false),
            ("example?127.0.0.1", false),
            ("[::2]", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(rest), expected, "{rest}");
        }
    }
}
