//! The web flow, for browsers: bound to the browser that began it, with PKCE and one exact address to
//! return to.

use serde::{Deserialize, Serialize};
use vocative_store::{Expected, Write};

use super::People;
use super::documents::{after, as_found, set};
use super::error::PeopleError;
use super::github::verifier;
use super::logins::NewLogin;
use super::secret;

/// How long a login may take, in seconds.
pub(crate) const LASTS: u64 = 15 * 60;
/// The longest path to return to, in bytes.
const LONGEST: usize = 2048;

/// A login that has begun.
pub struct WebLogin {
    /// Where the browser goes.
    pub location: String,
    /// What the browser keeps in a cookie, to show that it is the one.
    pub browser: String,
}

/// A login that has succeeded.
#[derive(Debug)]
pub struct Returned {
    /// The login.
    pub login: NewLogin,
    /// The path of this server where the browser goes on.
    pub to: String,
}

/// What is kept of it.
#[derive(Serialize, Deserialize)]
struct Waiting {
    /// The digest of what the browser keeps.
    browser: String,
    /// The PKCE verifier, sealed.
    verifier: String,
    redirect: String,
    to: String,
    client: String,
    expires_at: u64,
}

fn document(state: &str) -> String {
    format!("web/{}", secret::digest(state))
}

/// A path of this server, which nothing reads as an address of another.
fn is_own_path(to: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'\\';
    to.len() <= LONGEST && to.starts_with('/') && !to.starts_with("//") && to.bytes().all(is_plain)
}

impl People {
    /// Begins a login for a browser that calls itself `client`, returns to `redirect`, the callback of
    /// this server, and then goes on to the path `to`.
    ///
    /// # Errors
    /// When browsers cannot log in, or the path is not one of this server.
    pub async fn begin_web(
        &self,
        client: &str,
        redirect: &str,
        to: &str,
        private_repositories: bool,
    ) -> Result<WebLogin, PeopleError> {
        let github = self.github()?;
        if !is_own_path(to) {
            return Err(PeopleError::BadReturn);
        }
        let (state, browser, verifier) = (secret::new(""), secret::new(""), verifier());
        let scope = github.scope(private_repositories);
        let location = github.client.authorize(redirect, &state, &secret::pkce(&verifier), scope)?;
        let name = document(&state);
        let expires_at = after(self.now(), LASTS);
        let waiting = Waiting {
            browser: secret::digest(&browser),
            verifier: github.vault.seal(&name, &verifier),
            redirect: redirect.to_owned(),
            to: to.to_owned(),
            client: client.to_owned(),
            expires_at: expires_at.as_secs(),
        };
        if !self.documents.write(vec![set(name, Expected::Absent, &waiting).until(expires_at)]).await? {
            return Err(PeopleError::Busy);
        }
        Ok(WebLogin { location, browser })
    }

    /// Ends a login with the code that the browser brought back, or without one if the person said no.
    /// A state is good for once, and only in the browser that it was made for.
    ///
    /// # Errors
    /// `OtherBrowser` for any state that is not this browser's; otherwise why nobody is logged in.
    pub async fn finish_web(
        &self,
        state: &str,
        browser: Option<&str>,
        code: Option<&str>,
    ) -> Result<Returned, PeopleError> {
        let github = self.github()?;
        let browser = browser.filter(|browser| secret::is_secret(browser, ""));
        let (Some(browser), true) = (browser, secret::is_secret(state, "")) else {
            return Err(PeopleError::OtherBrowser);
        };
        let name = document(state);
        let found = self.documents.get::<Waiting>(&name).await?.ok_or(PeopleError::OtherBrowser)?;
        if found.value.browser != secret::digest(browser) {
            return Err(PeopleError::OtherBrowser);
        }
        // Whoever deletes it is the one to use it.
        let once = Write::delete(name.as_str(), as_found(Some(&found)));
        if !self.documents.write(vec![once]).await? {
            return Err(PeopleError::OtherBrowser);
        }
        let waiting = found.value;
        if waiting.expires_at <= self.now().as_secs() {
            return Err(PeopleError::Expired);
        }
        let code = code.ok_or(PeopleError::Denied)?;
        let verifier: String =
            github.vault.open_sealed(&name, &waiting.verifier).ok_or(PeopleError::Expired)?;
        let token = github.client.exchange(code, &waiting.redirect, &verifier, self.now()).await?;
        let login = self.take_in(token, &waiting.client, &[]).await?;
        Ok(Returned { login, to: waiting.to })
    }
}

#[cfg(test)]
mod tests {
    use super::is_own_path;

    #[test]
    fn only_a_path_of_this_server_is_returned_to() {
        let table = [
            ("/", true),
            ("/channels/open?x=1#y", true),
            ("/%5c%5cevil.net", true),
            ("", false),
            ("//evil.net", false),
            ("/\\evil.net", false),
            ("\\\\evil.net", false),
            ("https://evil.net", false),
            ("javascript:alert(1)", false),
            ("/\t/evil.net", false),
            ("/\r\nset-cookie: x", false),
            (" /", false),
            ("evil.net", false),
        ];
        for (to, expected) in table {
            assert_eq!(is_own_path(to), expected, "{to:?}");
        }
        assert!(!is_own_path(&format!("/{}", "a".repeat(2048))));
    }
}
