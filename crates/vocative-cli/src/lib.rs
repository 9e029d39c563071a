//! The command `vocative`: arguments, output and exit codes over the libraries, and no rule of
//! any kind. A subcommand is one module with `Args` and `run`; it is listed in `Command`.
//!
//! The command is a library only so that the man page can be made from [`command`].

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

mod check;
mod classify;
mod completions;
mod config;
mod conflict;
mod conformance;
mod consent;
mod context;
mod credentials;
mod data;
mod demo;
mod files;
mod gather;
mod history;
mod inbox;
mod index;
mod key;
mod login;
mod markers;
mod outcome;
mod parallel;
mod people;
mod place;
mod progress;
mod push;
mod reduce;
mod remote;
mod repository;
mod resolve;
mod send;
mod serve;
mod share;
mod show;
mod store;
mod terminal;
mod values;

pub use context::Context;
pub use outcome::{Failure, Outcome};

/// Finds, checks and shows who was named where.
#[derive(Debug, Parser)]
#[command(name = "vocative", version, max_term_width = 100, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  problems were found in what was read
  2  the command was not understood
  3  two pieces of evidence contradict each other
  4  not found

With --json an error is one JSON object {code, message, details} on standard error.
Text of messages is untrusted; it is shown only on request, with control characters made visible.
NO_COLOR is honoured.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what the engine sees in texts: JSON lines in, JSON lines out.
    Resolve(resolve::Args),
    /// Show where you were named, the newest first: in sessions on this machine, or at a community's server.
    Inbox(inbox::Args),
    /// Show one entry of a session, here or shared at a server, what stands around it, and whom it names.
    Show(show::Args),
    /// Tell a community's server who is named where in your sessions, without any text.
    Push(push::Args),
    /// Share a whole session at a community's server, with those whom it names.
    Share(share::Args),
    /// Check that files are valid portable Pi v3, or canonical artifacts.
    Check(check::Args),
    /// Reduce sessions and artifacts to one artifact of content-free references.
    Reduce(reduce::Args),
    /// Unite reduced artifacts.
    Merge(reduce::MergeArgs),
    /// List every mention marker, without checking the sessions around them.
    Markers(markers::Args),
    /// Log in at a community's server, through GitHub.
    Login(login::Args),
    /// End your login at a server.
    Logout(login::LogoutArgs),
    /// Say as whom you are logged in.
    Whoami(login::WhoamiArgs),
    /// List the people who can be named, for those who read a repository.
    People(people::Args),
    /// Serve a community: its relay and its storage, in this one process or on many nodes.
    Serve(serve::Args),
    /// Back up, restore, check or copy what a community has stored.
    Store(store::Args),
    /// Send a message to a channel, to exactly whom it names.
    Post(send::PostArgs),
    /// Replace the text of a message.
    Edit(send::EditArgs),
    /// Copy a message, as it reads now, to another channel.
    Forward(send::ForwardArgs),
    /// Show what a message has said, and whom each version names.
    History(history::Args),
    /// Make the key by which a community knows you, and print its public half.
    Keygen(key::Args),
    /// Make the mention index of a community again.
    Index(index::Args),
    /// Run conformance cases through the engine.
    Conformance(conformance::Args),
    /// Write shell completions.
    Completions(completions::Args),
}

impl Command {
    fn run(self, context: &mut Context) -> Result<Outcome, Failure> {
        match self {
            Self::Resolve(args) => resolve::run(args, context),
            Self::Inbox(args) => inbox::run(args, context),
            Self::Show(args) => show::run(args, context),
            Self::Push(args) => push::run(args, context),
            Self::Share(args) => share::run(args, context),
            Self::Check(args) => check::run(args, context),
            Self::Reduce(args) => reduce::run(args, context),
            Self::Merge(args) => reduce::merge(args, context),
            Self::Markers(args) => markers::run(args, context),
            Self::Login(args) => login::run(args, context),
            Self::Logout(args) => login::logout(args, context),
            Self::Whoami(args) => login::whoami(args, context),
            Self::People(args) => people::run(args, context),
            Self::Serve(args) => serve::run(args, context),
            Self::Store(args) => store::run(args, context),
            Self::Post(args) => send::post(args, context),
            Self::Edit(args) => send::edit(args, context),
            Self::Forward(args) => send::forward(args, context),
            Self::History(args) => history::run(args, context),
            Self::Keygen(args) => key::run(args, context),
            Self::Index(args) => index::run(args, context),
            Self::Conformance(args) => conformance::run(args, context),
            Self::Completions(args) => completions::run(args, context),
        }
    }
}

/// The command line as data, from which completions and the man page are made.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command with the arguments, environment and streams of this process.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let mut context = Context::of_process(json);
    let result = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli.command.run(&mut context),
        Err(error) => return usage(&error, json),
    };
    context.finish(result).into()
}

/// Help and version are no errors; anything else that clap refuses is one of usage.
fn usage(error: &clap::Error, json: bool) -> ExitCode {
    if !error.use_stderr() || !json {
        // A reader that went away before the help was written is no error either.
        let _ = error.print();
        let failed = error.use_stderr();
        return if failed { Outcome::Usage.into() } else { Outcome::Done.into() };
    }
    let message = error.render().to_string();
    let message = message.strip_prefix("error: ").unwrap_or(&message).trim_end();
    let failure = Failure::usage(message.lines().next().unwrap_or_default());
    eprintln!("{}", failure.to_json());
    failure.outcome.into()
}
