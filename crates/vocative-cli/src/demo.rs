//! `vocative serve --demo`: a community that is there for a while, with people, agents and a history.
//!
//! Everything in it was said through the server's own doors: logins at a double of GitHub, channels by
//! events over the relay's socket, messages composed and published over HTTP. All of it is gone when the
//! server stops.

use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use nostr::event::{EventBuilder, FinalizeEvent, Kind, Tag, UnsignedEvent};
use nostr::key::Keys;
use nostr::nips::nip19::ToBech32;
use nostr::types::Timestamp;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;
use ureq::http::Method;
use vocative_github_double::{App, Double};
use vocative_pi::artifact::Artifact;
use vocative_pi::{Options, Purpose, Reader, Reduction};
use vocative_server::settings::{Secret, Settings};

use crate::config;
use crate::context::{Context, Style};
use crate::outcome::{Failure, Outcome};
use crate::remote::{Credentials, Remote};

mod cast;

use cast::{HISTORY, MEMBERS, RECORDER, REPOSITORY, ROOMS, SESSIONS, SHARED, Said, What, Who};

/// What the demonstration needs before its server starts.
pub(crate) struct Demo {
    folder: tempfile::TempDir,
    github: Double,
    keys: HashMap<&'static str, Keys>,
}

impl Demo {
    /// Makes a temporary folder, keys for everyone, and a GitHub that knows the people.
    ///
    /// # Errors
    /// When the folder or the port cannot be had.
    pub(crate) async fn prepare() -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("vocative-demo-").tempdir()?;
        let github = Double::start(App::github_app()).await?;
        github.add_public(REPOSITORY);
        let mut keys = HashMap::new();
        for member in &MEMBERS {
            let own = Keys::generate();
            let secret = own.secret_key().to_bech32().expect("every key has its text");
            config::create_secret(&key_file(folder.path(), member.id), &format!("{secret}\n"))?;
            keys.insert(member.id, own);
            if let Who::Human { login } = member.who {
                github.add_person(login);
            }
        }
        let sessions = folder.path().join("sessions");
        std::fs::create_dir(&sessions)?;
        for (name, text) in SESSIONS {
            std::fs::write(sessions.join(name), text)?;
        }
        Ok(Self { folder, github, keys })
    }

    /// The settings of its server, beside where it listens.
    pub(crate) fn settings(&self, listen: SocketAddr) -> Settings {
        let mut settings = Settings { listen, ..Settings::in_folder(self.folder.path().join("data")) };
        settings.name = "Vocative demonstration".to_owned();
        settings.owner = self.keys.get(MEMBERS[0].id).map(|keys| key(keys));
        settings.limits.events_per_second = 1000;
        settings.limits.requests_per_second = 1000;
        let app = App::github_app();
        settings.github.web = self.github.web();
        settings.github.api = self.github.api();
        settings.github.client_id = Some(app.client_id);
        settings.github.client_secret = Some(Secret::new(app.client_secret));
        let logins = MEMBERS.iter().filter_map(|member| match member.who {
            Who::Human { login } => Some(login),
            Who::Agent { .. } => None,
        });
        settings.allow = logins.map(|login| login.parse().expect("a login")).collect();
        settings.repositories = vec![REPOSITORY.parse().expect("a repository")];
        settings
    }

    /// Lets everything happen that has happened, in a server that serves there.
    ///
    /// # Errors
    /// What the server refuses.
    pub(crate) async fn play(self: &Arc<Self>, address: SocketAddr) -> Result<(), Failure> {
        self.found(address).await?;
        let demo = Arc::clone(self);
        let said = tokio::task::spawn_blocking(move || demo.say(address)).await;
        said.unwrap_or_else(|failure| std::panic::resume_unwind(failure.into_panic()))
    }

    fn keys(&self, id: &str) -> &Keys {
        &self.keys[id]
    }

    /// Publishes profiles and makes the channels, as any client of the relay would.
    async fn found(&self, address: SocketAddr) -> Result<(), Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(Outcome::Problems, "demo_failed", format!("the relay did not answer: {error}"))
        };
        let connecting = tokio_tungstenite::connect_async(format!("ws://{address}"));
        let (mut socket, _) = connecting.await.map_err(|error| failed(&error))?;
        for event in self.foundations() {
            let message = Message::text(json!(["EVENT", event]).to_string());
            socket.send(message).await.map_err(|error| failed(&error))?;
            let id = event.id.to_hex();
            loop {
                let answer = socket.next().await.ok_or_else(|| failed(&"it hung up"))?;
                let answer = answer.map_err(|error| failed(&error))?;
                let Ok(answer) = serde_json::from_str::<Value>(answer.to_text().unwrap_or_default()) else {
                    continue;
                };
                if answer[0] == "OK" && answer[1] == id.as_str() {
                    if answer[2] != true {
                        return Err(failed(&answer[3]));
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    /// Profiles, then channels with their members.
    fn foundations(&self) -> Vec<nostr::event::Event> {
        let founder = self.keys(MEMBERS[0].id);
        let mut events = Vec::new();
        for member in &MEMBERS {
            let keys = self.keys(member.id);
            let mut profile = json!({ "name": member.id, "display_name": member.name });
            if let Who::Agent { owner, about } = member.who {
                profile["about"] = json!(about);
                let owner = self.keys(owner).public_key().to_hex();
                events.push(signed(keys, 10_100, &[&["p", &owner]], ""));
            }
            events.push(signed(keys, 0, &[], &profile.to_string()));
        }
        for room in &ROOMS {
            let members: Vec<_> = room.members.iter().map(|id| self.keys(id).public_key().to_hex()).collect();
            let mut tags: Vec<Vec<&str>> =
                vec![vec!["h", room.id], vec!["name", room.name], vec!["about", room.about]];
            tags.extend(room.flags.iter().map(|flag| flag.to_vec()));
            tags.extend(members.iter().map(|member| vec!["p", member.as_str()]));
            let tags: Vec<&[&str]> = tags.iter().map(Vec::as_slice).collect();
            events.push(signed(founder, 9007, &tags, ""));
        }
        events
    }

    /// Logs the people in, links their keys, says what was said, and pushes the recorded sessions.
    fn say(&self, address: SocketAddr) -> Result<(), Failure> {
        let base = format!("http://{address}");
        let mut recorder = None;
        for member in &MEMBERS {
            let Who::Human { login } = member.who else { continue };
            let token = self.log_in(&base, login)?;
            config::create_secret(&token_file(self.folder.path(), member.id), &format!("{token}\n"))?;
            let account = remote(&base, Credentials::Token(token))?;
            self.link(&base, &account, self.keys(member.id))?;
            if member.id == RECORDER {
                recorder = Some(account);
            }
        }
        let mut known = HashMap::new();
        for said in &HISTORY {
            self.publish(&base, said, &mut known)?;
        }
        match recorder {
            Some(account) => self.push(&account),
            None => Ok(()),
        }
    }

    /// A session token of somebody who logs in with a browser and consents at once.
    fn log_in(&self, base: &str, login: &str) -> Result<String, Failure> {
        let failed = |what: &str| Failure::new(Outcome::Problems, "demo_failed", format!("{login}: {what}"));
        let agent =
            ureq::Agent::config_builder().max_redirects(0).http_status_as_error(false).build().new_agent();
        let unreached = |error: ureq::Error| failed(&error.to_string());
        let begun = agent.get(format!("{base}/v1/login/web")).call().map_err(unreached)?;
        let header = |answer: &ureq::http::Response<ureq::Body>, name: &str, wanted: &str| {
            let all = answer.headers().get_all(name).iter().filter_map(|value| value.to_str().ok());
            all.into_iter().find(|value| value.starts_with(wanted)).map(str::to_owned)
        };
        let location = header(&begun, "location", "").ok_or_else(|| failed("the login does not begin"))?;
        let cookie = header(&begun, "set-cookie", "vocative-login=").ok_or_else(|| failed("no cookie"))?;
        let back = self.github.consent(&location, login).map_err(|why| failed(&why))?;
        let cookie = cookie.split(';').next().unwrap_or_default();
        let done = agent.get(back).header("cookie", cookie).call().map_err(unreached)?;
        let session =
            header(&done, "set-cookie", "vocative=").ok_or_else(|| failed("the login does not end"))?;
        let token = session.split(';').next().and_then(|pair| pair.split_once('='));
        token.map(|(_, token)| token.to_owned()).ok_or_else(|| failed("no token"))
    }

    /// Links a key to the account that has logged in.
    fn link(&self, base: &str, account: &Remote, keys: &Keys) -> Result<(), Failure> {
        let challenge: Value = account.send(Method::POST, "/v1/keys/challenge", &[], None)?.json()?;
        let body = json!({ "account": challenge["account"], "nonce": challenge["nonce"] });
        remote(base, Credentials::Key(keys.clone()))?.post("/v1/keys", &body).map(drop)
    }

    /// Composes, signs and publishes what somebody said.
    fn publish(
        &self,
        base: &str,
        said: &Said,
        known: &mut HashMap<&'static str, String>,
    ) -> Result<(), Failure> {
        let id = |name: &str| known.get(name).cloned().unwrap_or_default();
        let (name, mut request) = match said.what {
            What::Message { name, channel, text } => {
                (Some(name), json!({ "action": "message", "channel": channel, "text": text }))
            }
            What::Post { name, channel, text } => {
                (Some(name), json!({ "action": "post", "channel": channel, "text": text }))
            }
            What::Comment { on, channel, text } => {
                (None, json!({ "action": "comment", "channel": channel, "text": text, "reply_to": id(on) }))
            }
            What::Edit { of, text } => (None, json!({ "action": "edit", "message": id(of), "text": text })),
            What::Forward { of, channel } => {
                (None, json!({ "action": "forward", "message": id(of), "channel": channel }))
            }
        };
        let key_of = |id: &str| self.keys(id).public_key().to_hex();
        let to: Vec<_> =
            said.to.iter().map(|(label, id)| json!({ "label": label, "key": key_of(id) })).collect();
        request["to"] = json!(to);
        let keys = self.keys(said.by);
        let author = remote(base, Credentials::Key(keys.clone()))?;
        let composed: Value = author.post("/v1/messages/compose", &request)?.json()?;
        let mut event: UnsignedEvent = serde_json::from_value(composed["event"].clone())
            .map_err(|error| Failure::new(Outcome::Problems, "demo_failed", error.to_string()))?;
        event.created_at = Timestamp::from(Timestamp::now().as_secs() - said.ago * 60);
        event.id = None;
        let event = event.finalize(keys).expect("a local key signs");
        if let Some(name) = name {
            known.insert(name, event.id.to_hex());
        }
        let mut body = json!({ "event": event, "to": to });
        if let What::Forward { of, .. } = said.what {
            body["forwards"] = json!(known[of]);
        }
        author.post("/v1/messages", &body).map(drop)
    }

    /// Pushes what the recorded sessions say of who was named, and shares one of them.
    fn push(&self, account: &Remote) -> Result<(), Failure> {
        let reader = Reader::new(Options::default(), Purpose::Reduction);
        let mut reduction = Reduction::default();
        for (place, (name, _)) in SESSIONS.iter().enumerate() {
            let read = reader.read(place as u32, &self.sessions().join(name));
            reduction.absorb(read.part.expect("the recorded sessions are valid").reduction);
        }
        let mut artifact = Vec::new();
        Artifact::of(&reduction).write(&mut artifact)?;
        let kind = [("content-type", "application/x-ndjson")];
        account.send(Method::POST, "/v1/references", &kind, Some(&artifact))?;
        let (name, text) = SESSIONS[SHARED];
        let header = vocative_pi::fetch::header_of(&self.sessions().join(name), false)?;
        let id = header.expect("a recorded session has a header").id;
        account.send(Method::PUT, &format!("/v1/sessions/{id}"), &kind, Some(text.as_bytes())).map(drop)
    }

    fn sessions(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    /// Says what there is and what to try.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn tell(&self, address: SocketAddr, context: &mut Context) -> Result<(), Failure> {
        let folder = self.folder.path().display();
        let file = |id: &str| key_file(self.folder.path(), id).display().to_string();
        if context.json {
            let members = MEMBERS.iter().map(|member| {
                let npub = self.keys(member.id).public_key().to_bech32().expect("every key has its text");
                let token = matches!(member.who, Who::Human { .. })
                    .then(|| token_file(self.folder.path(), member.id).display().to_string());
                json!({
                    "id": member.id,
                    "name": member.name,
                    "npub": npub,
                    "key": file(member.id),
                    "token": token,
                })
            });
            let told = json!({
                "address": format!("ws://{address}"),
                "github": self.github.web(),
                "folder": folder.to_string(),
                "members": members.collect::<Vec<_>>(),
                "repository": REPOSITORY,
            });
            writeln!(context.out, "{told}")?;
            return Ok(context.out.flush()?);
        }
        let title = |context: &Context, text: &str| context.styled(Style::Bold, text);
        writeln!(
            context.out,
            "{} at ws://{address}, for as long as this runs\n",
            title(context, "A community")
        )?;
        for member in &MEMBERS {
            let what = match member.who {
                Who::Human { login } => format!("github:{}", login.to_lowercase()),
                Who::Agent { owner, .. } => format!("an agent of {owner}"),
            };
            writeln!(context.out, "  {:<11} {:<9} {what}", member.id, member.name)?;
        }
        writeln!(context.out, "\n{}: general, ideas (forum), release (private)", title(context, "Channels"))?;
        writeln!(
            context.out,
            "{}: {} , a double; it believes whoever it is told to be",
            title(context, "GitHub"),
            self.github.web()
        )?;
        writeln!(context.out, "\n{}", title(context, "To try, in another terminal:"))?;
        writeln!(context.out, "  export VOCATIVE_SERVER=ws://{address} VOCATIVE_KEY_FILE={}", file("gszep"))?;
        for (command, why) in [
            ("vocative post --channel general 'Lunch, @Steffen?'", "one Steffen is there: it is sent"),
            (
                "vocative post --channel general 'Lunch, @Alex Kim?'",
                "two are called so: nothing is sent, both are shown",
            ),
            (
                "vocative post --channel general 'Mail a@b.c about @Nobody'",
                "an address is no name; a name of nobody is told",
            ),
        ] {
            writeln!(context.out, "  {command}")?;
            writeln!(context.out, "      {}", context.styled(Style::Dim, why))?;
        }
        writeln!(
            context.out,
            "  VOCATIVE_KEY_FILE={} vocative inbox --server ws://{address}",
            file("steffen")
        )?;
        let why = "who named Steffen: in messages, by an edit, and in Pi sessions";
        writeln!(context.out, "      {}", context.styled(Style::Dim, why))?;
        writeln!(context.out, "  vocative inbox {folder}/sessions --me github:steffenpl --show")?;
        writeln!(
            context.out,
            "      {}",
            context.styled(Style::Dim, "the same sessions on this machine, with their words")
        )?;
        writeln!(context.out, "  vocative login && vocative people --repo {REPOSITORY}")?;
        let why = "confirm in a browser as anyone; then see who can be named in that repository";
        writeln!(context.out, "      {}", context.styled(Style::Dim, why))?;
        writeln!(context.out, "\nCtrl-C ends it, and nothing of it stays.")?;
        Ok(context.out.flush()?)
    }
}

fn remote(base: &str, credentials: Credentials) -> Result<Remote, Failure> {
    let address = base.parse().map_err(|why: String| Failure::usage(why))?;
    Remote::new(address, credentials)
}

fn key_file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.key"))
}

/// The file that holds the session token of a person.
fn token_file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.token"))
}

fn key(keys: &Keys) -> vocative::Key {
    vocative::Key::from_bytes(keys.public_key().to_bytes())
}

/// An event of an hour ago, when all of it began.
fn signed(keys: &Keys, kind: u16, tags: &[&[&str]], content: &str) -> nostr::event::Event {
    let tags = tags.iter().map(|tag| Tag::parse(tag.iter().copied()).expect("a tag has a name"));
    let begun = Timestamp::from(Timestamp::now().as_secs() - 55 * 60);
    let event = EventBuilder::new(Kind::from(kind), content).tags(tags).custom_created_at(begun);
    event.finalize(keys).expect("a local key signs")
}
