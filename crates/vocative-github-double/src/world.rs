//! Who exists, who has consented to what, and what fails: plain values, without I/O.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use sha2::{Digest, Sha256};

use crate::control::{Asked, Outage, Repository};
use crate::{App, AppKind};

/// How long a device code lives, in seconds.
pub(crate) const DEVICE: u64 = 900;
/// How long a code of the web flow lives, in seconds.
const CODE: u64 = 600;
/// How long a token of a GitHub App lives, in seconds.
pub(crate) const TOKEN: u64 = 8 * 60 * 60;
/// How long its refresh token does, in seconds.
pub(crate) const REFRESH: u64 = 15_897_600;
/// How often a device may ask, in seconds, unless it is set.
const INTERVAL: u64 = 5;

/// Everything that the double knows.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) app: App,
    /// The instant at which time stands; the machine's if absent.
    clock: Option<u64>,
    made: u64,
    seed: [u8; 32],
    /// Logins as they are spelled, by account.
    pub(crate) people: BTreeMap<u64, String>,
    /// Members of organizations, and whether they show it.
    pub(crate) organizations: BTreeMap<String, BTreeMap<u64, bool>>,
    pub(crate) repositories: BTreeMap<u64, Repository>,
    /// Former names of repositories.
    pub(crate) moved: BTreeMap<String, u64>,
    /// Paths of the API that redirect to elsewhere.
    pub(crate) redirects: BTreeMap<String, String>,
    /// How long new devices have to wait between questions, in seconds.
    pub(crate) interval: u64,
    pub(crate) devices: BTreeMap<String, Device>,
    codes: BTreeMap<String, Code>,
    pub(crate) tokens: BTreeMap<String, Token>,
    refresh_tokens: BTreeMap<String, Refresh>,
    pub(crate) outages: Vec<(String, Outage)>,
    pub(crate) asked: Vec<Asked>,
}

/// A device that waits for consent.
#[derive(Clone, Debug)]
pub(crate) struct Device {
    pub(crate) user_code: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) expires_at: u64,
    /// How long it has to wait between questions, in seconds.
    pub(crate) interval: u64,
    pub(crate) asked_at: Option<u64>,
    /// The next question is answered with `slow_down`, with or without the new interval.
    pub(crate) slow_down: Option<bool>,
    pub(crate) consent: Consent,
}

/// What the person says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    Pending,
    Denied,
    Given(u64),
}

/// A consent of the web flow that is to be exchanged.
#[derive(Debug)]
struct Code {
    person: u64,
    scopes: Vec<String>,
    redirect: String,
    challenge: Option<String>,
    expires_at: u64,
}

/// What the web flow asks consent to.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) redirect: String,
    pub(crate) state: Option<String>,
    pub(crate) challenge: Option<String>,
    pub(crate) scopes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) person: u64,
    pub(crate) scopes: Vec<String>,
    pub(crate) expires_at: Option<u64>,
}

#[derive(Debug)]
struct Refresh {
    person: u64,
    /// The token that it renews.
    token: String,
    expires_at: u64,
}

/// What an exchange gives.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) token: String,
    pub(crate) refresh: Option<String>,
    pub(crate) scopes: Vec<String>,
}

impl World {
    pub(crate) fn new(app: App) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            app,
            clock: None,
            made: 0,
            seed: Sha256::digest(started.as_nanos().to_le_bytes()).into(),
            people: BTreeMap::new(),
            organizations: BTreeMap::new(),
            repositories: BTreeMap::new(),
            moved: BTreeMap::new(),
            redirects: BTreeMap::new(),
            interval: INTERVAL,
            devices: BTreeMap::new(),
            codes: BTreeMap::new(),
            tokens: BTreeMap::new(),
            refresh_tokens: BTreeMap::new(),
            outages: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Seconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        let machine = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.clock.unwrap_or_else(machine)
    }

    pub(crate) fn set_now(&mut self, now: u64) {
        self.clock = Some(now);
    }

    /// A text that was never made before.
    fn fresh(&mut self, prefix: &str) -> String {
        self.made += 1;
        let digest = Sha256::new().chain_update(self.seed).chain_update(self.made.to_le_bytes()).finalize();
        format!("{prefix}{}", HEXLOWER.encode(&digest[..20]))
    }

    /// A number that no person and no repository has.
    pub(crate) fn next_id(&mut self) -> u64 {
        self.made += 1;
        1000 + self.made
    }

    /// The account that has this login now.
    pub(crate) fn person(&self, login: &str) -> Option<u64> {
        self.people.iter().find(|(_, known)| known.eq_ignore_ascii_case(login)).map(|(id, _)| *id)
    }

    pub(crate) fn note(&mut self, method: &str, path: &str, authorization: Option<&str>) {
        let token = authorization.and_then(bearer).map(str::to_owned);
        let by = token.as_ref().and_then(|token| self.tokens.get(token));
        let by = by.and_then(|token| self.people.get(&token.person)).cloned();
        self.asked.push(Asked { method: method.to_owned(), path: path.to_owned(), token, by });
    }

    pub(crate) fn failing(&self, path: &str) -> Option<Outage> {
        self.outages.iter().find(|(prefix, _)| path.starts_with(prefix)).map(|(_, outage)| outage.clone())
    }

    /// A device code for an app that asks for scopes.
    pub(crate) fn device(&mut self, scopes: Vec<String>) -> (String, Device) {
        let (code, user) = (self.fresh(""), self.fresh("").to_uppercase());
        let device = Device {
            user_code: format!("{}-{}", &user[..4], &user[4..8]),
            scopes,
            expires_at: self.now() + DEVICE,
            interval: self.interval,
            asked_at: None,
            slow_down: None,
            consent: Consent::Pending,
        };
        self.devices.insert(code.clone(), device.clone());
        (code, device)
    }

    pub(crate) fn device_of(&mut self, user_code: &str) -> Option<&mut Device> {
        self.devices.values_mut().find(|device| device.user_code.eq_ignore_ascii_case(user_code))
    }

    /// A consent of the web flow.
    pub(crate) fn consent(&mut self, request: &Request, person: u64) -> String {
        let code = self.fresh("");
        let kept = Code {
            person,
            scopes: request.scopes.clone(),
            redirect: request.redirect.clone(),
            challenge: request.challenge.clone(),
            expires_at: self.now() + CODE,
        };
        self.codes.insert(code.clone(), kept);
        code
    }

    /// Exchanges a code of the web flow, once.
    pub(crate) fn exchange(
        &mut self,
        code: &str,
        redirect: &str,
        verifier: Option<&str>,
    ) -> Result<Issued, &'static str> {
        let kept = self.codes.remove(code).filter(|kept| kept.expires_at > self.now());
        let kept = kept.ok_or("bad_verification_code")?;
        if kept.redirect != redirect {
            return Err("redirect_uri_mismatch");
        }
        let digest = verifier.map(|verifier| BASE64URL_NOPAD.encode(&Sha256::digest(verifier)));
        if kept.challenge.is_some() && kept.challenge != digest {
            return Err("bad_verification_code");
        }
        Ok(self.issue(kept.person, kept.scopes))
    }

    /// Exchanges a refresh token, once; the token that it renews ends.
    pub(crate) fn refresh(&mut self, refresh: &str) -> Result<Issued, &'static str> {
        let kept = self.refresh_tokens.remove(refresh).filter(|kept| kept.expires_at > self.now());
        let kept = kept.ok_or("bad_refresh_token")?;
        self.tokens.remove(&kept.token);
        Ok(self.issue(kept.person, Vec::new()))
    }

    pub(crate) fn issue(&mut self, person: u64, scopes: Vec<String>) -> Issued {
        let expires = self.app.kind == AppKind::App;
        let token = self.fresh(if expires { "ghu_" } else { "gho_" });
        let scopes = if expires { Vec::new() } else { scopes };
        let expires_at = expires.then(|| self.now() + TOKEN);
        self.tokens.insert(token.clone(), Token { person, scopes: scopes.clone(), expires_at });
        let refresh = expires.then(|| self.fresh("ghr_"));
        if let Some(refresh) = &refresh {
            let kept = Refresh { person, token: token.clone(), expires_at: self.now() + REFRESH };
            self.refresh_tokens.insert(refresh.clone(), kept);
        }
        Issued { token, refresh, scopes }
    }

    /// Ends a token and what would renew it.
    pub(crate) fn revoke(&mut self, token: &str) -> bool {
        self.refresh_tokens.retain(|_, refresh| refresh.token != token);
        self.tokens.remove(token).is_some()
    }

    /// Whose token a request carries.
    pub(crate) fn bearer(&self, authorization: Option<&str>) -> Option<Token> {
        let token = self.tokens.get(authorization.and_then(bearer)?)?;
        let is_live = token.expires_at.is_none_or(|end| end > self.now());
        is_live.then(|| token.clone())
    }

    /// The repository that has this name now.
    pub(crate) fn repository(&self, name: &str) -> Option<&Repository> {
        self.repositories.values().find(|repository| repository.name.eq_ignore_ascii_case(name))
    }

    /// Whether a token reads a repository.
    pub(crate) fn reads(&self, token: &Token, repository: &Repository) -> bool {
        let is_reader = || {
            let readers: BTreeSet<u64> =
                repository.readers.iter().filter_map(|login| self.person(login)).collect();
            let is_granted = match self.app.kind {
                AppKind::App => repository.is_installed,
                AppKind::OAuth => token.scopes.iter().any(|scope| scope == "repo"),
            };
            is_granted && readers.contains(&token.person)
        };
        !repository.is_private || is_reader()
    }
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    (scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token")).then_some(token)
}
