//! Secrets that are given out once and kept as digests.

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use sha2::{Digest, Sha256};

/// What begins a session token, so that scanners of leaked secrets know it.
pub(super) const SESSION: &str = "voc_";
/// Bytes of every secret: 256 bits.
const BYTES: usize = 32;

/// A new secret of 256 bits behind a prefix.
pub(super) fn new(prefix: &str) -> String {
    format!("{prefix}{}", BASE64URL_NOPAD.encode(&random::<BYTES>()))
}

/// A new id, which is no secret.
pub(super) fn id() -> String {
    HEXLOWER.encode(&random::<8>())
}

/// Bytes that nobody can guess.
pub(super) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

/// What is kept of a secret. A document is found by it, so that finding takes no comparison whose time
/// tells how much of a guess was right.
pub(super) fn digest(secret: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(secret))
}

/// Whether a text has the form of a secret with this prefix.
pub(super) fn is_secret(text: &str, prefix: &str) -> bool {
    let rest = text.strip_prefix(prefix);
    rest.is_some_and(|rest| BASE64URL_NOPAD.decode(rest.as_bytes()).is_ok_and(|bytes| bytes.len() == BYTES))
}

/// The challenge of a verifier (PKCE, S256).
pub(super) fn pkce(verifier: &str) -> String {
    BASE64URL_NOPAD.encode(&Sha256::digest(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_256_bits_and_one_form() {
        let secret = new(SESSION);
        assert!(is_secret(&secret, SESSION) && secret.len() == SESSION.len() + 43);
        assert_ne!(secret, new(SESSION));
        for other in ["", "voc_", &secret[4..], &format!("{secret}A"), &format!("{secret}="), "voc_../x"] {
            assert!(!is_secret(other, SESSION), "{other}");
        }
    }

    #[test]
    fn a_challenge_is_that_of_the_standard() {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(pkce(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
