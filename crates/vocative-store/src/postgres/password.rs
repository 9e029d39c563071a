//! Passwords for databases, from where PostgreSQL's own programs take them.

use std::fmt;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Passwords that stand beside the address of a database, so that the address can be shown.
#[derive(Clone, Default)]
pub struct Passwords {
    /// One for every database (`PGPASSWORD`).
    pub password: Option<String>,
    /// The text of a password file (`PGPASSFILE`): lines `host:port:database:user:password`, in which
    /// `*` stands for anything. The first that fits counts.
    pub file: Option<String>,
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Whether the address itself holds a password.
pub fn names_password(url: &str) -> bool {
    // What cannot be read may hold one.
    url.parse::<Config>().map_or(url.contains('@'), |config| config.get_password().is_some())
}

impl Passwords {
    /// Sets the password of a connection that has none.
    pub(super) fn fill(&self, config: &mut Config) {
        if config.get_password().is_some() {
            return;
        }
        if let Some(password) = self.password.clone().or_else(|| self.of_file(config)) {
            config.password(password);
        }
    }

    fn of_file(&self, config: &Config) -> Option<String> {
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host,
            _ => "localhost",
        };
        let port = config.get_ports().first().unwrap_or(&5432).to_string();
        let user = config.get_user().unwrap_or_default();
        let wanted = [host, &port, config.get_dbname().unwrap_or(user), user];
        let lines = self.file.as_deref()?.lines().filter(|line| !line.starts_with('#'));
        let mut lines = lines.map(fields).filter(|fields| fields.len() == 5);
        let fits = |fields: &Vec<String>| {
            fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted)
        };
        lines.find(fits)?.pop()
    }
}

/// The parts between colons; a backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, fields.len(), fields.last_mut()) {
            (':', 1..=4, _) => fields.push(String::new()),
            ('\\', _, Some(last)) => last.extend(chars.next()),
            (_, _, Some(last)) => last.push(c),
            _ => {}
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::{Passwords, names_password};

    #[test]
    fn the_first_line_that_fits_counts() {
        let file = "# no:5432:db:me:comment\nh:1:db:me:one\n*:*:db\\:x:me:t\\:w\\\\o:3\n*:*:*:*:rest";
        let table = [
            ("postgres://me@h:1/db", "one"),
            ("postgres://me@h:2/db:x", "t:w\\o:3"),
            ("postgres://you@h/db", "rest"),
            ("postgres://you:own@h/db", "own"),
        ];
        let passwords = Passwords { password: None, file: Some(file.to_owned()) };
        for (url, expected) in table {
            let mut config = url.parse().expect("an address");
            passwords.fill(&mut config);
            assert_eq!(config.get_password(), Some(expected.as_bytes()), "{url}");
            assert_eq!(names_password(url), expected == "own", "{url}");
        }
        assert_eq!(format!("{passwords:?}"), "(hidden)");
    }
}
