//! Settings that a community has once: its nodes agree on them through the store.

use std::fmt;

/// A value under a name, such as the relay's secret key. The first that is set stays.
#[derive(Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name, chosen by the program.
    pub name: String,
    /// What is kept, as bytes.
    pub value: Vec<u8>,
}

/// Says nothing of the value: it may be a secret, and what is written of it may reach a log.
impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Setting;

    #[test]
    fn a_value_is_not_written_to_logs() {
        let setting = Setting { name: "key".to_owned(), value: b"hidden".to_vec() };
        assert_eq!(format!("{setting:?}"), "Setting { name: \"key\", .. }");
    }
}
