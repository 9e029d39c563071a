//! `vocative login`, `logout` and `whoami`: the user's session at a community's server.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::http::Method;

use crate::context::{Context, Style};
use crate::credentials::{self, Session, Sessions};
use crate::outcome::{Failure, Outcome};
use crate::remote::{Address, Credentials, Remote, ServerArgs};
use crate::terminal;

/// The longest that is waited between two questions, in seconds.
const SLOWEST: u64 = 300;
/// The longest that a login may take, in seconds.
const LONGEST: u64 = 15 * 60;

/// Arguments of `vocative login`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Let the server see your private repositories too, where its app asks for that separately.
    #[arg(long)]
    private_repositories: bool,
    /// Say what to do, and what was done, as JSON lines.
    #[arg(long)]
    json: bool,
}

/// Arguments of `vocative logout`.
#[derive(Debug, clap::Args)]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// End your logins on other machines too.
    #[arg(long)]
    all: bool,
    /// Say what was done as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `vocative whoami`.
#[derive(Debug, clap::Args)]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Say it as JSON.
    #[arg(long)]
    json: bool,
}

/// A login that the server has begun.
#[derive(Deserialize)]
struct Begun {
    flow: String,
    user_code: String,
    verification_uri: String,
    server: String,
    scopes: Vec<String>,
    expires_in: u64,
    interval: u64,
}

#[derive(Deserialize)]
struct LoggedIn {
    token: String,
    expires_at: u64,
    login: String,
    handle: String,
}

#[derive(Deserialize)]
struct Pending {
    interval: u64,
}

#[derive(Deserialize)]
struct Me {
    id: Option<String>,
    handle: String,
    keys: Vec<String>,
    github: Option<String>,
}

/// Logs in through GitHub, with a code that the person enters there.
pub(crate) fn run(args: Args, context: &mut Context) -> Result<Outcome, Failure> {
    let address = args.server.address()?;
    if !address.is_confidential() {
        let message = "a login would go over http:// to another machine; use https://";
        return Err(Failure { code: "token_in_the_clear".into(), ..Failure::usage(message) });
    }
    // Before anything is begun, so that a file that cannot be used is told at once.
    let mut sessions = Sessions::read()?;
    let remote = Remote::new(address.clone(), Credentials::Nobody)?;
    let begin = json!({
        "client": format!("vocative on {}", std::env::consts::OS),
        "private_repositories": args.private_repositories,
    });
    let begun: Begun = remote.post("/v1/login/device", &begin)?.json()?;
    tell(&address, &begun, context)?;
    let logged_in = wait(&remote, &begun)?;
    let LoggedIn { token, expires_at, login, handle } = logged_in;
    let mut session = Session::new(token, login, handle, expires_at);
    let remote = Remote::new(address.clone(), session.credentials())?;
    let me: Me = remote.get("/v1/me")?.json()?;
    session.github = me.github;
    let former = sessions.keep(&address, session)?;
    if let Some(former) = former {
        // The session that this one replaces is of no use to anybody; where it has ended, all is well.
        let _ = end(&Remote::new(address.clone(), former.credentials())?, Some(&former.login));
    }
    let id = me.id.unwrap_or_default();
    if context.json {
        let done = json!({ "server": address.of(""), "id": id, "handle": me.handle });
        writeln!(context.out, "{}", terminal::json(&done))?;
    } else {
        let line = format!("Logged in at {} as @{} ({id}).", address.of(""), me.handle);
        writeln!(context.out, "{}", terminal::line(&line))?;
    }
    Ok(Outcome::Done)
}

/// Tells the person who asks, what for, and what to do.
fn tell(address: &Address, begun: &Begun, context: &mut Context) -> Result<(), Failure> {
    let Begun { user_code, verification_uri, server, scopes, expires_in, .. } = begun;
    if context.json {
        let asks = json!({
            "server": address.of(""),
            "verification_uri": verification_uri,
            "user_code": user_code,
            "scopes": scopes,
            "expires_in": expires_in,
        });
        writeln!(context.out, "{}", terminal::json(&asks))?;
    } else {
        let code = context.styled(Style::Bold, &terminal::line(user_code));
        let wants = match scopes.as_slice() {
            [] => "to know who you are".to_owned(),
            scopes => format!("to know who you are, and for {}", scopes.join(", ")),
        };
        let asks = format!("The server {} asks GitHub {wants}.", address.of(""));
        writeln!(context.out, "{}", terminal::line(&asks))?;
        if *server != address.of("") {
            let called = format!("It calls itself {server}.");
            writeln!(context.out, "{}", terminal::line(&called))?;
        }
        writeln!(context.out, "Open  {}", terminal::line(verification_uri))?;
        writeln!(context.out, "Enter {code}")?;
        writeln!(context.out, "Enter no code that somebody else gave you: it would log them in as you.")?;
    }
    context.out.flush()?;
    Ok(())
}

/// Waits for the person's consent, at the pace that the server wants.
fn wait(remote: &Remote, begun: &Begun) -> Result<LoggedIn, Failure> {
    let ends = Instant::now() + Duration::from_secs(begun.expires_in.min(LONGEST));
    let mut interval = begun.interval;
    while Instant::now() < ends {
        thread::sleep(Duration::from_secs(interval.clamp(1, SLOWEST)));
        match remote.post("/v1/login/device/poll", &json!({ "flow": begun.flow })) {
            Ok(answer) if answer.status == 202 => interval = answer.json::<Pending>()?.interval,
            Ok(answer) => return answer.json(),
            // These pass.
            Err(failure)
                if matches!(&*failure.code, "github_unreachable" | "server_not_reached" | "busy") => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::new(Outcome::Problems, "login_expired", "the login was not confirmed in time: begin again"))
}

/// Ends a login of the user's, or all of them.
fn end(remote: &Remote, login: Option<&str>) -> Result<(), Failure> {
    let path = match login {
        Some(login) => format!("/v1/logins/{}", login.replace(|c: char| !c.is_ascii_alphanumeric(), "")),
        None => "/v1/logins".to_owned(),
    };
    remote.send(Method::DELETE, &path, &[], None).map(drop)
}

/// Ends the session, at the server and here.
pub(crate) fn logout(args: LogoutArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let mut sessions = Sessions::read()?;
    let (address, session) = sessions.at(&args.server)?;
    let remote = Remote::new(address.clone(), session.credentials())?;
    let ended = end(&remote, (!args.all).then_some(&*session.login));
    // Here it ends in any case.
    sessions.forget(&address)?;
    match ended {
        Ok(()) => {}
        Err(failure) if matches!(&*failure.code, "not_logged_in" | "not_found") => {}
        Err(failure) => {
            let message = format!(
                "this machine has forgotten the login, but the server has not ended it: {}",
                failure.message
            );
            return Err(Failure { message, ..failure });
        }
    }
    if context.json {
        writeln!(context.out, "{}", json!({ "server": address.of("") }))?;
    } else {
        writeln!(context.out, "Logged out at {}.", address.of(""))?;
    }
    Ok(Outcome::Done)
}

/// Says as whom the user is logged in.
pub(crate) fn whoami(args: WhoamiArgs, context: &mut Context) -> Result<Outcome, Failure> {
    let (remote, _) = credentials::remote(&args.server)?;
    let answer = remote.get("/v1/me")?;
    if context.json {
        let me: Value = answer.json()?;
        writeln!(context.out, "{}", terminal::json(&me))?;
        return Ok(Outcome::Done);
    }
    let me: Me = answer.json()?;
    let id = me.id.as_deref().unwrap_or("not addressed: the name was released");
    writeln!(context.out, "@{} ({})", terminal::line(&me.handle), terminal::line(id))?;
    for key in me.keys {
        writeln!(context.out, "key {}", terminal::line(&key))?;
    }
    Ok(Outcome::Done)
}
