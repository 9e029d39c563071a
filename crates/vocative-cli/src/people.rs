//! `vocative people`: who can be named, for those who read a repository.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::json;
use ureq::http::Method;
use url::form_urlencoded::byte_serialize;

use crate::context::Context;
use crate::credentials;
use crate::outcome::{Failure, Outcome};
use crate::remote::ServerArgs;
use crate::repository::{self, RepositoryArgs};
use crate::terminal;

/// Arguments of `vocative people`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the handle begins with or holds; everyone if absent.
    query: Option<String>,
    #[command(flatten)]
    repository: RepositoryArgs,
    #[command(flatten)]
    server: ServerArgs,
    /// List them as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Deserialize)]
struct Answer {
    participants: Vec<Participant>,
}

#[derive(Serialize, Deserialize)]
struct Participant {
    id: String,
    handle: String,
}

/// Lists the people of the community.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let (remote, session) = credentials::remote(&args.server)?;
    let chosen = repository::choose(&args.repository, session.github.as_deref())?;
    if let Some(note) = &chosen.note {
        context.note(note);
    }
    let query = args.query.as_deref().map(|query| query.trim_start_matches('@'));
    let path = match query {
        Some(query) => format!("/v1/participants?q={}", byte_serialize(query.as_bytes()).collect::<String>()),
        None => "/v1/participants".to_owned(),
    };
    let headers = [("x-chi-repo", chosen.name.as_str())];
    let answer: Answer = remote.send(Method::GET, &path, &headers, None)?.json()?;
    if context.json {
        let found = json!({ "repository": chosen.name, "participants": answer.participants });
        writeln!(context.out, "{}", terminal::json(&found))?;
    } else {
        for participant in &answer.participants {
            let line = format!("@{}  {}", participant.handle, participant.id);
            writeln!(context.out, "{}", terminal::line(&line))?;
        }
    }
    match query {
        Some(query) if answer.participants.is_empty() => {
            Err(Failure::new(Outcome::NotFound, "nobody_found", format!("nobody's handle holds `{query}`")))
        }
        _ => Ok(Outcome::Done),
    }
}
