//! Which repository a command is about: the one that is named, or that of the current folder's git remote.
//! Where remotes name several, it is said which was taken and how to take another.

use std::process::{Command, Stdio};

use serde_json::json;
use url::Url;

use crate::outcome::{Failure, Outcome};

/// Which repository is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct RepositoryArgs {
    /// The repository: owner/name [default: that of the git remote of the current folder].
    #[arg(long, value_name = "OWNER/NAME", conflicts_with = "remote")]
    repo: Option<String>,
    /// The git remote whose repository it is [default: upstream before origin].
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
}

/// The repository, and what the user should know about how it was chosen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// `owner/name`.
    pub(crate) name: String,
    /// That others could have been meant.
    pub(crate) note: Option<String>,
}

/// The repository that is meant. `github` is the address of the GitHub that counts.
///
/// # Errors
/// `bad_repository`, `no_repository`, `no_git`, `no_remote`, and `ambiguous_repository` with all of them.
pub(crate) fn choose(args: &RepositoryArgs, github: Option<&str>) -> Result<Chosen, Failure> {
    if let Some(name) = &args.repo {
        let is_whole = is_repository(name);
        let message = "a repository is owner/name";
        return match is_whole {
            true => Ok(Chosen { name: name.clone(), note: None }),
            false => Err(Failure { code: "bad_repository".into(), ..Failure::usage(message) }),
        };
    }
    let host = github.and_then(|github| Url::parse(github).ok()?.host_str().map(str::to_owned));
    let host = host.unwrap_or_else(|| "github.com".to_owned());
    among(&remotes(&listed()?, &host), args.remote.as_deref(), &host)
}

/// A git remote and the repository that it names.
type Remote = (String, String);

/// What git says about the remotes of the current folder.
fn listed() -> Result<String, Failure> {
    let advice = "name the repository with --repo owner/name";
    let git = Command::new("git").args(["remote", "--verbose"]).stdin(Stdio::null()).output();
    match git {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(_) => {
            let message = format!("the current folder is in no git repository: {advice}");
            Err(Failure::new(Outcome::NotFound, "no_repository", message))
        }
        Err(error) => {
            Err(Failure::new(Outcome::NotFound, "no_git", format!("git was not run: {error}; {advice}")))
        }
    }
}

/// The remotes that name repositories of this host, in git's order.
fn remotes(listed: &str, host: &str) -> Vec<Remote> {
    let fetched = listed.lines().filter_map(|line| line.strip_suffix(" (fetch)")?.split_once('\t'));
    fetched.filter_map(|(name, url)| Some((name.to_owned(), named_by(url, host)?))).collect()
}

/// The repository that a remote's address names, if it is one of this host.
fn named_by(address: &str, host: &str) -> Option<String> {
    let is_host = |other: &str| {
        let other = other.strip_prefix("www.").unwrap_or(other);
        // GitHub takes ssh on the port of https under this name.
        other.eq_ignore_ascii_case(host) || other.strip_prefix("ssh.").is_some_and(|other| other == host)
    };
    let path = match Url::parse(address) {
        Ok(url) if matches!(url.scheme(), "https" | "http" | "ssh" | "git") => {
            is_host(url.host_str()?).then(|| url.path().to_owned())?
        }
        // As scp writes it: user@host:path.
        _ => {
            let (authority, path) = address.split_once(':')?;
            let other = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            is_host(other).then(|| path.to_owned())?
        }
    };
    let path = path.trim_matches('/');
    let name = path.strip_suffix(".git").unwrap_or(path);
    is_repository(name).then(|| name.to_owned())
}

fn is_repository(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        (1..=100).contains(&part.len()) && part.bytes().all(is_plain) && !matches!(part, "." | "..")
    };
    text.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
}

/// The one among the remotes that is meant.
fn among(remotes: &[Remote], named: Option<&str>, host: &str) -> Result<Chosen, Failure> {
    let list =
        || remotes.iter().map(|(name, repository)| format!("{name} ({repository})")).collect::<Vec<_>>();
    let find = |wanted: &str| remotes.iter().find(|(name, _)| name == wanted).map(|(_, name)| name.clone());
    if let Some(named) = named {
        let message = format!("no git remote `{named}` names a repository of {host}");
        let none = Failure::new(Outcome::NotFound, "no_remote", message).with(json!({ "remotes": list() }));
        return find(named).map(|name| Chosen { name, note: None }).ok_or(none);
    }
    let Some((_, first)) = remotes.first() else {
        let message = format!("no git remote names a repository of {host}: use --repo owner/name");
        return Err(Failure::new(Outcome::NotFound, "no_remote", message));
    };
    if remotes.iter().all(|(_, name)| name.eq_ignore_ascii_case(first)) {
        return Ok(Chosen { name: first.clone(), note: None });
    }
    // Whoever works on a fork calls what it was made from upstream, by custom; people are found there.
    match find("upstream")
        .map(|name| ("upstream", name))
        .or_else(|| find("origin").map(|name| ("origin", name)))
    {
        Some((remote, name)) => {
            let all = list().join(", ");
            let note =
                format!("the remotes are {all}; asking about {name}, of {remote}; --remote takes another");
            Ok(Chosen { name, note: Some(note) })
        }
        None => {
            let message =
                format!("several repositories could be meant: {}; use --remote or --repo", list().join(", "));
            let failure = Failure { code: "ambiguous_repository".into(), ..Failure::usage(message) };
            Err(failure.with(json!({ "remotes": list() })))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_remote_names() {
        for (address, expected) in [
            ("https://github.com/Acme/app.git", Some("Acme/app")),
            ("https://github.com/Acme/app", Some("Acme/app")),
            ("https://ann@www.github.com/Acme/app/", Some("Acme/app")),
            ("git@github.com:Acme/app.git", Some("Acme/app")),
            ("github.com:Acme/app", Some("Acme/app")),
            ("ssh://git@github.com/Acme/app.git", Some("Acme/app")),
            ("ssh://git@ssh.github.com:443/Acme/app.git", Some("Acme/app")),
            ("git://github.com/Acme/a.b.git", Some("Acme/a.b")),
            ("https://gitlab.com/Acme/app", None),
            ("https://github.com.evil.net/Acme/app", None),
            ("https://evil.net/github.com/Acme/app", None),
            ("git@evil.net:github.com/Acme/app", None),
            ("/home/ann/github.com/Acme/app", None),
            ("https://github.com/Acme", None),
            ("https://github.com/Acme/app/tree", None),
            ("git@github.com:../app", None),
            ("", None),
        ] {
            assert_eq!(named_by(address, "github.com").as_deref(), expected, "{address}");
        }
        assert_eq!(named_by("git@git.corp.example:a/b", "git.corp.example").as_deref(), Some("a/b"));
    }

    #[test]
    fn several_remotes_are_told_apart_and_it_is_said() {
        let listed = |remotes: &[(&str, &str)]| {
            let lines = remotes.iter().flat_map(|(name, repository)| {
                let url = format!("{name}\thttps://github.com/{repository}");
                [format!("{url} (fetch)\n"), format!("{url} (push)\n")]
            });
            lines.collect::<String>()
        };
        type Pairs<'a> = &'a [(&'a str, &'a str)];
        let table: [(Pairs<'_>, Option<&str>, Result<(&str, bool), &str>); 8] = [
            (&[("origin", "a/x")], None, Ok(("a/x", false))),
            (&[("origin", "a/x"), ("mirror", "A/X")], None, Ok(("a/x", false))),
            (&[("origin", "me/x"), ("upstream", "a/x")], None, Ok(("a/x", true))),
            (&[("fork", "me/x"), ("origin", "a/x")], None, Ok(("a/x", true))),
            (&[("one", "a/x"), ("two", "b/x")], None, Err("ambiguous_repository")),
            (&[("origin", "me/x"), ("upstream", "a/x")], Some("origin"), Ok(("me/x", false))),
            (&[("origin", "a/x")], Some("none"), Err("no_remote")),
            (&[], None, Err("no_remote")),
        ];
        for (given, named, expected) in table {
            let chosen = among(&remotes(&listed(given), "github.com"), named, "github.com");
            let chosen = chosen.map(|chosen| (chosen.name, chosen.note.is_some()));
            let chosen = chosen.as_ref().map(|(name, noted)| (name.as_str(), *noted));
            assert_eq!(chosen.map_err(|failure| &*failure.code), expected, "{given:?} {named:?}");
        }
    }
}
