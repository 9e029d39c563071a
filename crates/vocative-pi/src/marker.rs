//! Mention evidence: the data of a `chi.messaging.mentions` entry (section 4.1).
//!
//! What is checked here concerns the data alone; that the target is an ancestor and a message of
//! the user is checked where the tree is known, in [`mod@crate::check`].

use vocative::Login;

use crate::ids::{EntryId, SessionId};
use crate::json::{JsonStr, Kind, Scanner, Scratch, Value};
use crate::problem::{Code, Fault};

/// A person in evidence. The identity is the handle in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// The identity, `github:` and this.
    pub login: Login,
    /// The handle as it was registered when the mention was written.
    pub handle: String,
}

/// The data of one marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Who wrote the message.
    pub actor: Person,
    /// Who was named: at least one, each once.
    pub recipients: Vec<Person>,
    /// The session of the message.
    pub session: SessionId,
    /// The message.
    pub entry: EntryId,
}

/// Reads the members of an object whose keys are exactly `names`, in any order, and hands each
/// value with the place of its name to `take`.
fn exactly<'a>(
    scanner: &mut Scanner<'a, '_>,
    depth: u32,
    what: &str,
    names: &[&str],
    mut take: impl FnMut(&mut Scanner<'a, '_>, usize) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if !scanner.at_object() {
        return Err(shape(format!("{what} is no object")));
    }
    let mut found = 0u8;
    scanner.object(depth, |scanner, key| {
        let Some(place) = names.iter().position(|name| key.is(name)) else {
            let key: String = key.lossy().chars().take(40).collect();
            return Err(shape(format!("{what} has the unknown field `{key}`")));
        };
        found |= 1 << place;
        take(scanner, place)
    })?;
    match names.iter().enumerate().find(|(place, _)| found >> place & 1 == 0) {
        Some((_, name)) => Err(shape(format!("{what} has no field `{name}`"))),
        None => Ok(()),
    }
}

fn shape(detail: String) -> Fault {
    Fault::new(Code::MarkerShape, detail)
}

fn string<'a>(value: Value<'a>, what: &str) -> Result<JsonStr<'a>, Fault> {
    value.string().ok_or_else(|| shape(format!("{what} is no string")))
}

impl Person {
    fn read(scanner: &mut Scanner<'_, '_>, depth: u32, what: &str) -> Result<Self, Fault> {
        let mut fields = [None, None];
        exactly(scanner, depth, what, &["id", "handle"], |scanner, place| {
            let value = scanner.value(depth + 1)?;
            fields[place] = Some(string(value, what)?.lossy().into_owned());
            Ok(())
        })?;
        let [id, handle] = fields.map(|field| field.expect("both fields were found"));
        let refuse = |detail| Err(Fault::new(Code::MarkerIdentity, detail));
        let Ok(login) = handle.parse::<Login>() else {
            return refuse(format!("the handle of {what} is no GitHub handle"));
        };
        if id.strip_prefix("github:") != Some(login.as_str()) {
            return refuse(format!("the id of {what} is not `github:{login}`"));
        }
        Ok(Self { login, handle })
    }
}

impl Marker {
    /// Reads the data of a marker.
    pub(crate) fn read(data: Option<Value<'_>>, scratch: &mut Scratch) -> Result<Self, Fault> {
        let Some(data) = data else {
            return Err(shape("the marker has no data".into()));
        };
        Self::check_version(data, scratch)?;
        let (mut actor, mut recipients, mut target) = (None, Vec::new(), [None, None]);
        let names = ["schemaVersion", "actor", "recipients", "target"];
        let mut scanner = Scanner::new(data.raw, scratch);
        exactly(&mut scanner, 1, "the marker", &names, |scanner, place| {
            match place {
                0 => drop(scanner.value(2)?),
                1 => actor = Some(Person::read(scanner, 2, "the actor")?),
                2 if !scanner.at_array() => return Err(shape("recipients is no array".into())),
                2 => scanner.array(2, |scanner| {
                    recipients.push(Person::read(scanner, 3, "a recipient")?);
                    Ok(())
                })?,
                _ => exactly(scanner, 2, "the target", &["sessionId", "entryId"], |scanner, place| {
                    let value = scanner.value(3)?;
                    target[place] = string(value, "the target")?.text();
                    if target[place].is_none() {
                        return Err(Fault::new(Code::MarkerId, "the target is no id"));
                    }
                    Ok(())
                })?,
            }
            Ok(())
        })?;
        let [session, entry] = target.map(|field| field.expect("both fields were found"));
        let bad_id = |what: &str| Fault::new(Code::MarkerId, format!("the target's {what} is no id"));
        let marker = Self {
            actor: actor.expect("the field was found"),
            session: SessionId::from_evidence(&session).ok_or_else(|| bad_id("sessionId"))?,
            entry: EntryId::from_evidence(&entry).ok_or_else(|| bad_id("entryId"))?,
            recipients,
        };
        marker.check_recipients()?;
        Ok(marker)
    }

    /// A marker of another schema is refused as such, whatever fields it has.
    fn check_version(data: Value<'_>, scratch: &mut Scratch) -> Result<(), Fault> {
        if !matches!(data.kind, Kind::Object) {
            return Err(shape("the marker's data is no object".into()));
        }
        let mut version = None;
        Scanner::new(data.raw, scratch).object(1, |scanner, key| {
            let value = scanner.value(2)?;
            if key.is("schemaVersion") {
                version = Some(value.raw);
            }
            Ok(())
        })?;
        match version {
            Some("1") | None => Ok(()),
            Some(other) => {
                let other: String = other.chars().take(20).collect();
                Err(Fault::new(Code::MarkerSchema, format!("schemaVersion {other} is not 1")))
            }
        }
    }

    fn check_recipients(&self) -> Result<(), Fault> {
        let refuse = |detail: String| Err(Fault::new(Code::MarkerRecipients, detail));
        if self.recipients.is_empty() {
            return refuse("the marker has no recipient".into());
        }
        let mut logins: Vec<&Login> = self.recipients.iter().map(|person| &person.login).collect();
        logins.sort_unstable();
        match logins.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => refuse(format!("github:{} is a recipient twice", pair[0])),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Scanner;

    fn read(data: &str) -> Result<Marker, Code> {
        let mut scratch = Scratch::default();
        let value = Scanner::new(data, &mut scratch).value(1).unwrap();
        Marker::read(Some(value), &mut scratch).map_err(|fault| fault.code)
    }

    const ACTOR: &str = r#"{"id":"github:gszep","handle":"gszep"}"#;
    const STEFFEN: &str = r#"{"id":"github:steffenpl","handle":"SteffenPL"}"#;
    const TARGET: &str = r#"{"sessionId":"s1","entryId":"e1"}"#;

    fn data(version: &str, actor: &str, recipients: &str, target: &str) -> String {
        format!(
            r#"{{"schemaVersion":{version},"actor":{actor},"recipients":[{recipients}],"target":{target}}}"#
        )
    }

    #[test]
    fn a_marker_is_exactly_what_the_contract_shows() {
        let marker = read(&data("1", ACTOR, STEFFEN, TARGET)).unwrap();
        assert_eq!(marker.recipients[0].handle, "SteffenPL");
        assert_eq!(marker.recipients[0].login.as_str(), "steffenpl");
        assert_eq!((marker.session.as_str(), marker.entry.as_str()), ("s1", "e1"));
        // Writers sort; readers take any order of recipients and of keys.
        let both = format!("{STEFFEN},{ACTOR}");
        assert_eq!(read(&data("1", ACTOR, &both, TARGET)).unwrap().recipients.len(), 2);
        let escaped = r#"{"id":"github:\u0067szep","handle":"gszep"}"#;
        assert!(read(&data("1", escaped, STEFFEN, TARGET)).is_ok());
    }

    #[test]
    fn anything_else_is_refused() {
        let long = "x".repeat(129);
        let person = |id: &str, handle: &str| format!(r#"{{"id":"{id}","handle":"{handle}"}}"#);
        let target =
            |session: &str, entry: &str| format!(r#"{{"sessionId":"{session}","entryId":"{entry}"}}"#);
        let cases = [
            (data("2", ACTOR, STEFFEN, TARGET), Code::MarkerSchema),
            (data("1.0", ACTOR, STEFFEN, TARGET), Code::MarkerSchema),
            (data("\"1\"", ACTOR, STEFFEN, TARGET), Code::MarkerSchema),
            ("{\"schemaVersion\":9,\"new\":1}".into(), Code::MarkerSchema),
            ("{}".into(), Code::MarkerShape),
            ("[]".into(), Code::MarkerShape),
            (data("1", "7", STEFFEN, TARGET), Code::MarkerShape),
            (data("1", ACTOR, STEFFEN, "null"), Code::MarkerShape),
            (data("1", ACTOR, STEFFEN, r#"{"sessionId":"s1"}"#), Code::MarkerShape),
            (data("1", ACTOR, STEFFEN, r#"{"sessionId":"s1","entryId":7}"#), Code::MarkerShape),
            (
                data("1", r#"{"id":"github:gszep","handle":"gszep","name":"G"}"#, STEFFEN, TARGET),
                Code::MarkerShape,
            ),
            (data("1,\"note\":\"\"", ACTOR, STEFFEN, TARGET), Code::MarkerShape),
            (data("1", ACTOR, STEFFEN, &target("s/1", "e1")), Code::MarkerId),
            (data("1", ACTOR, STEFFEN, &target("s1", "")), Code::MarkerId),
            (data("1", ACTOR, STEFFEN, &target(&long, "e1")), Code::MarkerId),
            (data("1", ACTOR, STEFFEN, &target("s1", r"\ud800")), Code::MarkerId),
            (data("1", &person("github:GSZEP", "GSZEP"), STEFFEN, TARGET), Code::MarkerIdentity),
            (data("1", &person("gszep", "gszep"), STEFFEN, TARGET), Code::MarkerIdentity),
            (data("1", &person("github:other", "gszep"), STEFFEN, TARGET), Code::MarkerIdentity),
            (data("1", &person("github:é", "é"), STEFFEN, TARGET), Code::MarkerIdentity),
            (data("1", &person("github:", ""), STEFFEN, TARGET), Code::MarkerIdentity),
            (data("1", ACTOR, "", TARGET), Code::MarkerRecipients),
            (data("1", ACTOR, &format!("{STEFFEN},{STEFFEN}"), TARGET), Code::MarkerRecipients),
        ];
        for (data, expected) in cases {
            assert_eq!(read(&data).err(), Some(expected), "{data}");
        }
        assert_eq!(Marker::read(None, &mut Scratch::default()).map_err(|f| f.code), Err(Code::MarkerShape));
    }
}
