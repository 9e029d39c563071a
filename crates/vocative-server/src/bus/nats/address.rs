//! The address of a bus, taken apart: what a client may see and log, and what only the server may.

use std::fs::File;
use std::future::ready;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use percent_encoding::percent_decode_str;

use super::error::BusError;

/// Where the servers are, and how a node proves who it is. There is no `Debug`: it holds secrets.
#[derive(Clone, Default)]
pub(super) struct Address {
    /// Without user, password, token and parameters.
    servers: Vec<ServerAddr>,
    is_encrypted: bool,
    login: Option<Login>,
    credentials: Option<PathBuf>,
    trusted: Option<PathBuf>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
}

#[derive(Clone, PartialEq, Eq)]
enum Login {
    Token(String),
    Password { user: String, password: String },
}

impl Address {
    /// Reads an address without touching anything outside.
    ///
    /// # Errors
    /// [`BusError::Address`], which repeats nothing of it.
    pub(super) fn parse(text: &str) -> Result<Self, BusError> {
        let mut address = Self::default();
        if !text.contains("://") {
            return Err(BusError::Address("has no scheme"));
        }
        for part in text.split(',') {
            address.add(part.trim())?;
        }
        if address.credentials.is_some() && address.login.is_some() {
            return Err(BusError::Address("has both a login and creds"));
        }
        if address.certificate.is_some() != address.key.is_some() {
            return Err(BusError::Address("has one of tlscert and tlskey; they go together"));
        }
        Ok(address)
    }

    fn add(&mut self, part: &str) -> Result<(), BusError> {
        let invalid = |_| BusError::Address("is not a valid URL of a NATS server");
        let mut url = part.parse::<ServerAddr>().map_err(invalid)?.into_inner();
        if !matches!(url.scheme(), "nats" | "tls") {
            return Err(BusError::Address("has a scheme other than nats and tls"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(BusError::Address("has no host"));
        }
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(BusError::Address("has a path; percent-encode what is special in a password"));
        }
        self.is_encrypted |= url.scheme() == "tls";
        let login = login(url.username(), url.password())?;
        if login.is_some() && self.login.is_some() && login != self.login {
            return Err(BusError::Address("has different logins"));
        }
        self.login = login.or(self.login.take());
        for (name, value) in url.query_pairs() {
            let parameter = match name.as_ref() {
                "creds" => &mut self.credentials,
                "tlsca" => &mut self.trusted,
                "tlscert" => &mut self.certificate,
                "tlskey" => &mut self.key,
                _ => return Err(BusError::Address("has an unknown parameter")),
            };
            *parameter = Some(PathBuf::from(value.as_ref()));
        }
        let is_clean = url.set_username("").is_ok() && url.set_password(None).is_ok();
        url.set_query(None);
        if !is_clean {
            return Err(BusError::Address("has no host"));
        }
        self.servers.push(ServerAddr::from_url(url).map_err(invalid)?);
        Ok(())
    }

    /// Connects once, to the first server that answers. The client ends soon after its connection does.
    ///
    /// Files are read anew each time, so that credentials can be renewed under a running node.
    pub(super) async fn connect<F>(&self, patience: Duration, heard: F) -> Result<Client, BusError>
    where
        F: Fn(Event) + Send + Sync + 'static,
    {
        let files = [
            ("creds", &self.credentials),
            ("tlsca", &self.trusted),
            ("tlscert", &self.certificate),
            ("tlskey", &self.key),
        ];
        for (parameter, path) in files {
            if let Some(path) = path {
                File::open(path).map_err(|error| unusable(parameter, path, &error))?;
            }
        }
        let mut options = ConnectOptions::new()
            .name("vocative")
            .connection_timeout(patience)
            .request_timeout(Some(patience))
            .require_tls(self.is_encrypted || self.trusted.is_some() || self.certificate.is_some())
            .ignore_discovered_servers()
            // A client that reconnects by itself outlives whoever has dropped it meanwhile, for as long as
            // the server is away. Whoever holds it makes a new one instead; 1 is the least it can be told.
            .max_reconnects(1)
            .reconnect_delay_callback(|_| Duration::ZERO)
            .event_callback(move |event| {
                heard(event);
                ready(())
            });
        options = match &self.login {
            None => options,
            Some(Login::Token(token)) => options.token(token.clone()),
            Some(Login::Password { user, password }) => {
                options.user_and_password(user.clone(), password.clone())
            }
        };
        if let Some(path) = &self.credentials {
            let read = options.credentials_file(path).await;
            options = read.map_err(|error| unusable("creds", path, &error))?;
        }
        if let Some(path) = &self.trusted {
            options = options.add_root_certificates(path.clone());
        }
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        options.connect(self.servers.as_slice()).await.map_err(|error| BusError::from_connect(&error))
    }
}

fn login(user: &str, password: Option<&str>) -> Result<Option<Login>, BusError> {
    let plain = |text: &str| {
        let decoded = percent_decode_str(text).decode_utf8();
        decoded.map(String::from).map_err(|_| BusError::Address("has a login that is not UTF-8"))
    };
    Ok(match (user, password) {
        ("", None) => None,
        ("", Some(_)) => return Err(BusError::Address("has a password and no user")),
        (token, None) => Some(Login::Token(plain(token)?)),
        (user, Some(password)) => Some(Login::Password { user: plain(user)?, password: plain(password)? }),
    })
}

fn unusable(parameter: &'static str, path: &std::path::Path, error: &std::io::Error) -> BusError {
    BusError::File { parameter, path: path.to_owned(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(address: &Address) -> Vec<&str> {
        address.servers.iter().map(ServerAddr::as_url_str).collect()
    }

    #[test]
    fn reads_addresses() {
        let cases = [
            ("nats://a", "nats://a", None),
            ("tls://a:1", "tls://a:1", None),
            ("nats://[::1]:1/", "nats://[::1]:1/", None),
            ("nats://to%40ken@a", "nats://a", Some(Login::Token("to@ken".into()))),
            (
                "nats://me:a%2Cb%2F%3F@a:1,b:2",
                "nats://a:1 nats://b:2",
                Some(Login::Password { user: "me".into(), password: "a,b/?".into() }),
            ),
            (
                "nats://me:pw@a, nats://me:pw@b",
                "nats://a nats://b",
                Some(Login::Password { user: "me".into(), password: "pw".into() }),
            ),
        ];
        for (text, expected, login) in cases {
            let address = Address::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(servers(&address).join(" "), expected, "{text}");
            assert!(address.login == login, "{text}");
        }
        let address = Address::parse("nats://a,tls://b?creds=%2Fx.creds&tlsca=ca.pem").expect("it is one");
        assert_eq!(address.credentials, Some("/x.creds".into()));
        assert_eq!(address.trusted, Some("ca.pem".into()));
        assert!(address.is_encrypted, "one encrypted server makes all so");
    }

    #[test]
    fn refuses_what_is_none_without_repeating_it() {
        let cases = [
            "",
            "hunter2",
            "hunter2:4222",
            "postgres://hunter2@a",
            "ws://hunter2@a",
            "nats://",
            "nats://hunter2@",
            "nats://:hunter2@a",
            "nats://me:hunter2/x@a",
            "nats://me:hunter2?x@a",
            "nats://me:12?hunter2@a",
            "nats://me:12#hunter2@a",
            "nats://me:12/hunter2@a",
            "nats://me:%ffhunter2@a",
            "nats://me:hunter2@a:99999",
            "nats://me:hunter2@a,nats://you:hunter2@b",
            "nats://me:hunter2@a,",
            "nats://me:hunter2@a?creds=x",
            "nats://me:hunter2@a?tlscert=x",
            "nats://me:hunter2@a?hunter2=x",
        ];
        for text in cases {
            let error = Address::parse(text).err().unwrap_or_else(|| panic!("{text}"));
            assert_eq!(error.code(), "bus_address", "{text}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("hunter2"), "{text}: {shown}");
        }
    }
}
