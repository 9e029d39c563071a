//! Documents by what their names begin with.

use super::{Arg, DOCUMENT, Dialect, Sql};

/// The documents whose names begin with `prefix` and come after `after`, in the order of their bytes.
pub(crate) fn documents(dialect: Dialect, prefix: &str, after: Option<&str>, limit: usize) -> Sql {
    let mut sql = Sql::new(dialect);
    sql.push(&format!("SELECT {DOCUMENT} FROM documents d WHERE d.name >= ")).bind(prefix);
    if let Some(end) = after_all(prefix) {
        sql.push(" AND d.name < ").bind(&*end);
    }
    if let Some(after) = after {
        sql.push(" AND d.name > ").bind(after);
    }
    sql.push(" ORDER BY d.name LIMIT ").bind(Arg::Int(limit.min(i64::MAX as usize) as i64));
    sql
}

/// The least text greater than every text that begins with this one; nothing where there is none.
fn after_all(prefix: &str) -> Option<String> {
    let mut end = prefix.to_owned();
    while let Some(last) = end.pop() {
        // The order of characters is that of their bytes. The step leaves the surrogates out.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::after_all;

    #[test]
    fn the_end_of_a_prefix_is_the_next_text_of_its_length_or_shorter() {
        let table = [
            ("a/", Some("a0")),
            ("é", Some("ê")),
            ("\u{d7ff}", Some("\u{e000}")),
            ("a\u{10ffff}", Some("b")),
            ("\u{10ffff}", None),
            ("", None),
        ];
        for (prefix, end) in table {
            assert_eq!(after_all(prefix).as_deref(), end, "{prefix:?}");
        }
    }
}
