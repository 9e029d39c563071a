//! Keeps what must be read again and must not lie open: GitHub's tokens, device codes, PKCE verifiers.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::BadPeopleSettings;
use super::secret;
use crate::settings::Settings;

/// The file in the data folder that holds the key, where none is given.
const FILE: &str = "github-tokens.key";
const NONCE: usize = 24;

/// Seals values under one key (XChaCha20-Poly1305). Each is bound to its place: moved to another, it does
/// not open.
pub(super) struct Vault {
    cipher: XChaCha20Poly1305,
}

impl Vault {
    /// The vault of a deployment. Without a key in the settings one is made in the data folder, unless
    /// the store is a database, whose other nodes would not have it.
    pub(super) fn open(settings: &Settings) -> Result<Self, BadPeopleSettings> {
        let github = &settings.github;
        let key = match (&github.token_key, &github.token_key_file) {
            (Some(key), _) => read("github.token_key", key.reveal())?,
            (None, Some(file)) => of_file(file)?,
            (None, None) if settings.database.is_some() => return Err(BadPeopleSettings::NoKey),
            (None, None) => {
                let file = settings.data.join(FILE);
                match make(&file) {
                    Ok(key) => key,
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => of_file(&file)?,
                    Err(error) => {
                        return Err(BadPeopleSettings::Unreadable {
                            setting: "github.token_key_file",
                            error,
                        });
                    }
                }
            }
        };
        Ok(Self { cipher: XChaCha20Poly1305::new(&key.into()) })
    }

    /// Seals a value for a place.
    pub(super) fn seal(&self, place: &str, value: &impl Serialize) -> String {
        let plain = serde_json::to_vec(value).expect("values have string keys");
        let nonce: [u8; NONCE] = secret::random();
        let payload = Payload { msg: &plain, aad: place.as_bytes() };
        let sealed = self.cipher.encrypt(XNonce::from_slice(&nonce), payload).expect("it is short");
        BASE64.encode(&[&nonce[..], &sealed].concat())
    }

    /// Opens what was sealed for this place; nothing if it was not, or under another key.
    pub(super) fn open_sealed<T: DeserializeOwned>(&self, place: &str, sealed: &str) -> Option<T> {
        let bytes = BASE64.decode(sealed.as_bytes()).ok()?;
        let (nonce, msg) = bytes.split_at_checked(NONCE)?;
        let payload = Payload { msg, aad: place.as_bytes() };
        let plain = self.cipher.decrypt(XNonce::from_slice(nonce), payload).ok()?;
        serde_json::from_slice(&plain).ok()
    }
}

fn read(setting: &'static str, text: &str) -> Result<[u8; 32], BadPeopleSettings> {
    let key = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).ok();
    key.and_then(|key| key.try_into().ok()).ok_or(BadPeopleSettings::BadKey { setting })
}

fn of_file(file: &Path) -> Result<[u8; 32], BadPeopleSettings> {
    let setting = "github.token_key_file";
    let text = fs::read_to_string(file).map_err(|error| BadPeopleSettings::Unreadable { setting, error })?;
    read(setting, &text)
}

/// Makes a key in a file that only its owner reads, if there is no file.
fn make(file: &Path) -> io::Result<[u8; 32]> {
    let key = secret::random();
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(file)?;
    writeln!(out, "{}", HEXLOWER.encode(&key))?;
    out.sync_all()?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::Vault;
    use crate::settings::{Secret, Settings};

    #[test]
    fn what_is_sealed_opens_at_its_place_and_with_its_key() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let mut settings = Settings::in_folder(folder.path().to_owned());
        let vault = Vault::open(&settings).expect("a key is made");
        let sealed = vault.seal("a", &"token");
        assert!(!sealed.contains("token"));
        assert_ne!(sealed, vault.seal("a", &"token"), "no two look alike");
        let again = Vault::open(&settings).expect("the key is there");
        assert_eq!(again.open_sealed("a", &sealed), Some("token".to_owned()));
        assert_eq!(again.open_sealed::<String>("b", &sealed), None, "another place");
        assert_eq!(again.open_sealed::<String>("a", &sealed[4..]), None, "cut");
        settings.github.token_key = Some(Secret::new("ab".repeat(32)));
        let other = Vault::open(&settings).expect("a key is given");
        assert_eq!(other.open_sealed::<String>("a", &sealed), None, "another key");
        settings.github.token_key = Some(Secret::new("ab".repeat(31)));
        assert_eq!(Vault::open(&settings).err().map(|error| error.code()), Some("bad_token_key"));
        settings.github.token_key = None;
        settings.database = Some(Secret::new("postgres://h/db".to_owned()));
        assert_eq!(Vault::open(&settings).err().map(|error| error.code()), Some("no_token_key"));
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_is_made_is_read_by_its_owner_only() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::TempDir::new().expect("a folder");
        let settings = Settings::in_folder(folder.path().to_owned());
        Vault::open(&settings).expect("a key is made");
        let file = std::fs::metadata(folder.path().join(super::FILE)).expect("it is there");
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
}
