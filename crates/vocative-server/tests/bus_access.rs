//! Who may use the bus, and what is said where it is refused.

mod nats;

use std::path::Path;
use std::sync::Arc;

use nkeys::KeyPair;
use serde_json::{Value, json};
use vocative_server::bus::{Bus, BusError, Nats};
use vocative_server::settings::Secret;

use nats::Server;

async fn connect(url: &str) -> Result<Arc<Nats>, BusError> {
    Nats::connect(&Secret::new(url.to_owned()), "test").await
}

/// The code of the error, or `connected` or `away`.
async fn outcome(url: &str) -> &'static str {
    match connect(url).await {
        Ok(bus) if bus.is_connected() => "connected",
        Ok(_) => "away",
        Err(error) => error.code(),
    }
}

#[tokio::test]
async fn a_password_or_a_token_is_asked_for() {
    let password = Server::with(&["--jetstream", "--user", "me", "--pass", "a,b/c"], "");
    let token = Server::with(&["--jetstream", "--auth", "to@ken"], "");
    let cases = [
        (&password, "me:a%2Cb%2Fc@", "connected"),
        (&password, "me:wrong@", "bus_refused"),
        (&password, "me@", "bus_refused"),
        (&password, "", "bus_refused"),
        (&token, "to%40ken@", "connected"),
        (&token, "wrong@", "bus_refused"),
        (&token, "", "bus_refused"),
    ];
    for (server, login, expected) in cases {
        let url = format!("nats://{login}127.0.0.1:{}", server.port);
        assert_eq!(outcome(&url).await, expected, "{login}");
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_said() {
    let plain = Server::with(&[], "");
    assert_eq!(outcome(&plain.url()).await, "bus_no_jetstream");

    let server = Server::start();
    for (parameters, expected) in [
        ("?creds=missing.creds", "bus_file"),
        ("?tlsca=missing.pem", "bus_file"),
        ("?creds=/dev/null", "bus_file"),
        ("/stream", "bus_address"),
    ] {
        assert_eq!(outcome(&format!("{}{parameters}", server.url())).await, expected, "{parameters}");
    }
    let long = Secret::new(server.url());
    assert_eq!(Nats::connect(&long, "").await.err().map(|error| error.code()), Some("bus_community"));

    // Whoever has the stream or the subject keeps it.
    let client = async_nats::connect(server.url()).await.expect("it answers");
    let context = async_nats::jetstream::new(client);
    for (name, subject) in [("vocative-test", "other"), ("other", "vocative.test.wake")] {
        let config = async_nats::jetstream::stream::Config {
            name: name.to_owned(),
            subjects: vec![subject.to_owned()],
            ..Default::default()
        };
        context.create_stream(config).await.expect("it may");
        assert_eq!(outcome(&server.url()).await, "bus_stream", "{name}");
        context.delete_stream(name).await.expect("it is there");
    }
    assert_eq!(outcome(&server.url()).await, "connected");
}

#[tokio::test]
async fn missing_permissions_are_a_refusal() {
    let permissions = |publish: &str| {
        format!(
            "authorization {{ users: [{{ user: me, password: pw, permissions: {{ \
             publish: {publish}, subscribe: [\"_INBOX.>\"] }} }}] }}"
        )
    };
    for (publish, expected) in [
        ("[\"$JS.API.>\", \"vocative.*.wake\"]", "connected"),
        ("[\"$JS.API.STREAM.>\"]", "bus_refused"),
        ("[\"vocative.>\"]", "bus_refused"),
    ] {
        let server = Server::with(&["--jetstream"], &permissions(publish));
        let url = format!("nats://me:pw@127.0.0.1:{}", server.port);
        assert_eq!(outcome(&url).await, expected, "{publish}");
    }
}

#[tokio::test]
async fn a_credentials_file_is_a_login() {
    let (operator, account, system) =
        (KeyPair::new_operator(), KeyPair::new_account(), KeyPair::new_account());
    let limits = json!({
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": true, "conn": -1,
        "leaf": -1, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1
    });
    let account_claim = |limits| json!({ "type": "account", "version": 2, "limits": limits });
    let configuration = format!(
        "operator: {}\nsystem_account: {}\nresolver: MEMORY\nresolver_preload: {{ {}: {}, {}: {} }}",
        jwt(
            &operator,
            &operator,
            &json!({ "type": "operator", "version": 2, "system_account": system.public_key() })
        ),
        system.public_key(),
        account.public_key(),
        jwt(&operator, &account, &account_claim(limits)),
        system.public_key(),
        jwt(
            &operator,
            &system,
            &account_claim(json!({ "subs": -1, "data": -1, "payload": -1, "conn": -1,
            "imports": -1, "exports": -1, "wildcards": true, "leaf": -1 }))
        ),
    );
    let server = Server::with(&["--jetstream"], &configuration);
    let user = KeyPair::new_user();
    for (name, issuer, expected) in
        [("right.creds", &account, "connected"), ("wrong.creds", &KeyPair::new_account(), "bus_refused")]
    {
        let claim = json!({ "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1 });
        let text = format!(
            "-----BEGIN NATS USER JWT-----\n{}\n------END NATS USER JWT------\n\n\
             -----BEGIN USER NKEY SEED-----\n{}\n------END USER NKEY SEED------\n",
            jwt(issuer, &user, &claim),
            user.seed().expect("it has one"),
        );
        let path = server.folder().join(name);
        std::fs::write(&path, text).expect("a temporary folder");
        assert_eq!(outcome(&format!("{}?creds={}", server.url(), path.display())).await, expected, "{name}");
    }
}

/// A token of the NATS kind. The server does not check its `jti`.
fn jwt(issuer: &KeyPair, subject: &KeyPair, claim: &Value) -> String {
    use data_encoding::BASE64URL_NOPAD;
    let header = json!({ "typ": "JWT", "alg": "ed25519-nkey" }).to_string();
    let body = json!({ "jti": "TEST", "iat": 1_700_000_000, "iss": issuer.public_key(),
        "sub": subject.public_key(), "name": "test", "nats": claim });
    let (header, body) =
        (BASE64URL_NOPAD.encode(header.as_bytes()), BASE64URL_NOPAD.encode(body.to_string().as_bytes()));
    let signed = format!("{header}.{body}");
    let signature = issuer.sign(signed.as_bytes()).expect("it has a seed");
    format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
}

#[tokio::test]
async fn tls_trusts_whom_it_is_told_to() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (ours, other) = (Authority::new(folder.path(), "ours"), Authority::new(folder.path(), "other"));
    ours.issue("server");
    ours.issue("client");
    other.issue("stranger");
    let (certificate, key, ca) = (at("server.pem"), at("server.key"), at("ours.pem"));
    let files = ["--jetstream", "--tlscert", &certificate, "--tlskey", &key];
    let open = Server::with(&[&files[..], &["--tls"]].concat(), "");
    let mutual = Server::with(&[&files[..], &["--tlsverify", "--tlscacert", &ca]].concat(), "");
    let plain = Server::start();
    let mine = format!("&tlscert={}&tlskey={}", at("client.pem"), at("client.key"));
    let strange = format!("&tlscert={}&tlskey={}", at("stranger.pem"), at("stranger.key"));
    let trusting = format!("?tlsca={ca}");
    let cases = [
        (&open, "tls", trusting.clone(), "connected"),
        // Such a server asks for TLS itself.
        (&open, "nats", trusting.clone(), "connected"),
        (&open, "tls", format!("?tlsca={}", at("other.pem")), "bus_tls"),
        (&open, "tls", format!("?tlsca={}", at("server.key")), "bus_tls"),
        (&mutual, "tls", format!("{trusting}{mine}"), "connected"),
        (&mutual, "tls", format!("{trusting}{strange}"), "bus_tls"),
        // A server without TLS gets nothing: what comes is no handshake.
        (&plain, "tls", trusting.clone(), "bus_tls"),
    ];
    for (server, scheme, parameters, expected) in cases {
        let url = format!("{scheme}://localhost:{}{parameters}", server.port);
        assert_eq!(outcome(&url).await, expected, "{scheme} {parameters}");
    }
}

/// A certificate authority that writes what it issues into a folder.
struct Authority<'a> {
    folder: &'a Path,
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
}

impl<'a> Authority<'a> {
    fn new(folder: &'a Path, name: &str) -> Self {
        let key = rcgen::KeyPair::generate().expect("a key");
        let mut parameters = rcgen::CertificateParams::default();
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let certificate = parameters.self_signed(&key).expect("it is signed");
        std::fs::write(folder.join(format!("{name}.pem")), certificate.pem()).expect("a temporary folder");
        Self { folder, issuer: rcgen::Issuer::new(parameters, key) }
    }

    /// Writes NAME.pem and NAME.key, for `localhost`.
    fn issue(&self, name: &str) {
        let key = rcgen::KeyPair::generate().expect("a key");
        let parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("it is a name");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("it is signed");
        let write = |extension: &str, text: String| {
            std::fs::write(self.folder.join(format!("{name}.{extension}")), text)
                .expect("a temporary folder");
        };
        write("pem", certificate.pem());
        write("key", key.serialize_pem());
    }
}
