//! Requests to GitHub: bounded in time and size. A redirect is followed by hand, on the same origin only,
//! so that no token goes anywhere else.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Method, RequestBuilder};
use url::Url;

use super::super::error::{BadPeopleSettings, PeopleError};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a request may take in all.
const WHOLE: Duration = Duration::from_secs(10);
/// The longest answer that is read, in bytes.
const LONGEST: usize = 1 << 20;
/// How many redirects of one request are followed.
const HOPS: usize = 3;

/// Makes requests.
pub(super) struct Transport {
    http: reqwest::Client,
}

/// An answer, whole.
pub(super) struct Answer {
    pub(super) status: u16,
    headers: HeaderMap,
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// A header, if it is there and text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.header(name).and_then(|value| value.trim().parse().ok())
    }

    /// GitHub's refusals because too much was asked: 429, or 403 with a header that says so.
    fn rate_limit(&self) -> Option<PeopleError> {
        let retry_after = self.number("retry-after");
        let is_used_up = self.number("x-ratelimit-remaining") == Some(0);
        let is_limit = self.status == 429 || (self.status == 403 && (retry_after.is_some() || is_used_up));
        is_limit.then_some(PeopleError::Unreachable { why: "too much was asked of it", retry_after })
    }
}

impl Transport {
    pub(super) fn new() -> Result<Self, BadPeopleSettings> {
        crate::provide_tls();
        let http = reqwest::Client::builder()
            .user_agent(concat!("vocative/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .timeout(WHOLE)
            .build()
            .map_err(|error| BadPeopleSettings::Client(error.without_url().to_string()))?;
        Ok(Self { http })
    }

    /// Posts a form without any credentials but those in it.
    pub(super) async fn post_form(&self, url: &str, form: &[(&str, &str)]) -> Result<Answer, PeopleError> {
        let request = self.http.post(url).header(ACCEPT, "application/json").form(form);
        send(request).await
    }

    /// Asks the API with a token. A redirect is an answer.
    pub(super) async fn get(&self, url: &str, token: &str) -> Result<Answer, PeopleError> {
        let request = self.http.request(Method::GET, url).bearer_auth(token);
        send(request.header(ACCEPT, "application/vnd.github+json")).await
    }

    /// The same, following redirects on the same origin.
    pub(super) async fn get_following(&self, url: &str, token: &str) -> Result<Answer, PeopleError> {
        let mut url = Url::parse(url).map_err(|_| elsewhere())?;
        for _ in 0..=HOPS {
            let answer = self.get(url.as_str(), token).await?;
            if !matches!(answer.status, 301 | 302 | 307 | 308) {
                return Ok(answer);
            }
            let to = answer.headers.get(LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| url.join(to).ok());
            // Names and passwords in an address would be sent too.
            let is_here = |to: &Url| to.origin() == url.origin() && to.username().is_empty();
            url = to.filter(is_here).ok_or_else(elsewhere)?;
        }
        Err(elsewhere())
    }

    /// Asks the API as the app itself to delete something.
    pub(super) async fn delete(
        &self,
        url: &str,
        user: &str,
        password: &str,
        body: String,
    ) -> Result<Answer, PeopleError> {
        let request = self.http.request(Method::DELETE, url).basic_auth(user, Some(password)).body(body);
        let request = request.header(CONTENT_TYPE, "application/json");
        send(request.header(ACCEPT, "application/vnd.github+json")).await
    }
}

fn elsewhere() -> PeopleError {
    PeopleError::Unreachable { why: "it redirects to another address", retry_after: None }
}

async fn send(request: RequestBuilder) -> Result<Answer, PeopleError> {
    let mut response = request.send().await.map_err(|error| failed(&error))?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| failed(&error))? {
        if body.len() + piece.len() > LONGEST {
            return Err(PeopleError::Unreachable { why: "its answer is too long", retry_after: None });
        }
        body.extend_from_slice(&piece);
    }
    let answer = Answer { status, headers, body };
    match answer.rate_limit() {
        Some(limit) => Err(limit),
        None => Ok(answer),
    }
}

fn failed(error: &reqwest::Error) -> PeopleError {
    let why = match error {
        error if error.is_timeout() => "it takes too long",
        error if error.is_connect() => "there is no connection",
        _ => "the connection broke",
    };
    tracing::warn!(why, "a request to GitHub failed");
    PeopleError::Unreachable { why, retry_after: None }
}
