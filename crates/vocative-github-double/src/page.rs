//! The pages on which a person of a demonstration chooses whom to be.

use std::fmt::Write;

/// A page that asks the people of the double for consent. `hidden` goes back with the answer.
pub(crate) fn choose(title: &str, hidden: &[(&str, &str)], code_field: bool, people: &[String]) -> String {
    let mut inputs = String::new();
    for (name, value) in hidden {
        let _ = write!(inputs, "<input type=hidden name=\"{}\" value=\"{}\">", escaped(name), escaped(value));
    }
    if code_field {
        inputs.push_str("<p><label>Code <input name=user_code autocomplete=off required></label></p>");
    }
    let mut buttons = String::new();
    for login in people {
        let login = escaped(login);
        let _ = write!(buttons, "<p><button name=login value=\"{login}\">Continue as {login}</button></p>");
    }
    page(
        title,
        &format!(
            "<form method=post>{inputs}{buttons}<p><button name=deny value=1 formnovalidate>Deny</button></p></form>"
        ),
    )
}

/// A page that says one thing.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><body><h1>{title}</h1><p>This is a double of GitHub, for tests and \
         demonstrations.</p>{body}"
    )
}

pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}
