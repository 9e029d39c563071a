//! The sessions of this user at servers: one file in the user's configuration folder, which nobody else
//! reads. A token is in no argument, no environment and no output.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::config;
use crate::outcome::{Failure, Outcome};
use crate::remote::{Address, Credentials, Remote, ServerArgs};

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Every session, by server.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Sessions {
    servers: BTreeMap<String, Session>,
}

/// A session at a server.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The session token, a secret.
    token: String,
    /// Which of the account's logins it is.
    pub(crate) login: String,
    /// As GitHub spells the account's login.
    pub(crate) handle: String,
    /// When it ends, in seconds since 1970.
    pub(crate) expires_at: u64,
    /// The GitHub of the server.
    pub(crate) github: Option<String>,
}

/// Says nothing of the token.
impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("login", &self.login).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(token: String, login: String, handle: String, expires_at: u64) -> Self {
        Self { token, login, handle, expires_at, github: None }
    }

    /// By what the server knows the user.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::Token(self.token.clone())
    }
}

fn path() -> PathBuf {
    config::folder().join("credentials.json")
}

impl Sessions {
    /// What is kept; nothing where there is no file.
    ///
    /// # Errors
    /// Why the file cannot be used, such as `secret_file_is_open`.
    pub(crate) fn read() -> Result<Self, Failure> {
        let path = path();
        let text = match config::read_secret(&path, LONGEST) {
            Ok(text) => text,
            Err(failure) if &*failure.code == "no_secret_file" => return Ok(Self::default()),
            Err(failure) => return Err(failure),
        };
        // What is wrong is not said: the words might hold some of a token.
        serde_json::from_str(&text).map_err(|_| {
            let message = format!("{}: it is not what `vocative login` writes; remove it", path.display());
            Failure::new(Outcome::Problems, "bad_credentials", message)
        })
    }

    /// Replaces the file, at once: whoever reads meanwhile finds the former or the new one, whole.
    fn write(&self) -> Result<(), Failure> {
        let path = path();
        let beside = path.with_extension(format!("json.{}", std::process::id()));
        let text = serde_json::to_string_pretty(self).expect("it has string keys");
        let written = config::create_secret(&beside, &text).or_else(|error| match error.kind() {
            // A process of the same number was stopped while it wrote.
            io::ErrorKind::AlreadyExists => {
                std::fs::remove_file(&beside)?;
                config::create_secret(&beside, &text)
            }
            _ => Err(error),
        });
        written
            .and_then(|()| std::fs::rename(&beside, &path))
            .map_err(|error| Failure::new(Outcome::Problems, "io", format!("{}: {error}", path.display())))
    }

    /// Keeps a session; the one that it replaces.
    pub(crate) fn keep(&mut self, address: &Address, session: Session) -> Result<Option<Session>, Failure> {
        let former = self.servers.insert(address.of(""), session);
        self.write()?;
        Ok(former)
    }

    /// Forgets the session at a server.
    pub(crate) fn forget(&mut self, address: &Address) -> Result<(), Failure> {
        if self.servers.remove(&address.of("")).is_some() {
            self.write()?;
        }
        Ok(())
    }

    /// The server that is meant, and the session there: that which is named, or the only one there is.
    ///
    /// # Errors
    /// `no_server`, `not_logged_in`.
    pub(crate) fn at(&self, server: &ServerArgs) -> Result<(Address, Session), Failure> {
        let address = match server.address() {
            Err(failure) if &*failure.code == "no_server" && self.servers.len() == 1 => {
                let only = self.servers.keys().next().expect("there is one");
                only.parse::<Address>().map_err(|_| failure)?
            }
            address => address?,
        };
        match self.servers.get(&address.of("")) {
            Some(session) => Ok((address, session.clone())),
            None => {
                let message =
                    format!("you are not logged in at {0}: `vocative login --server {0}`", address.of(""));
                Err(Failure::new(Outcome::Problems, "not_logged_in", message))
            }
        }
    }
}

/// The server that is meant, asked by the user's session there.
///
/// # Errors
/// `no_server`, `not_logged_in`, and why the session cannot be used.
pub(crate) fn remote(server: &ServerArgs) -> Result<(Remote, Session), Failure> {
    let (address, session) = Sessions::read()?.at(server)?;
    Ok((Remote::new(address, session.credentials())?, session))
}
