//! What whoever started the double decides.

use crate::Double;
use crate::web::Authorize;
use crate::world::Consent;

/// A repository of the double.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Its number, which stays when it moves.
    pub id: u64,
    /// `owner/name`.
    pub name: String,
    /// Whether it looks like none to others.
    pub is_private: bool,
    /// The logins that read it, where it is private.
    pub readers: Vec<String>,
    /// Whether the app is installed on it.
    pub is_installed: bool,
    /// A rule of its organization that keeps the app out.
    pub rule: Option<Rule>,
}

/// Rules of organizations that answer with 403.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The token is not authorised for single sign-on.
    SingleSignOn,
    /// The organization does not let the app in.
    AppNotAllowed,
}

/// What happens instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outage {
    /// This status and no body.
    Status(u16),
    /// Nothing, ever.
    Hang,
    /// The connection ends within the answer.
    CutOff,
    /// Every request of the hour was made: 403 until this instant, in seconds since 1970.
    PrimaryLimit {
        /// When it is over.
        reset: u64,
    },
    /// Too many at once: 429.
    SecondaryLimit {
        /// Seconds to wait.
        retry_after: u64,
    },
    /// Status 200 with this body, said to be JSON.
    Body(String),
}

/// A request that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its method.
    pub method: String,
    /// Its path, without the query.
    pub path: String,
    /// The token that it carried.
    pub token: Option<String>,
    /// Whose token that was then.
    pub by: Option<String>,
}

impl Double {
    /// The instant, in seconds since 1970.
    pub fn now(&self) -> u64 {
        self.world.world().now()
    }

    /// Time stands at this instant, in seconds since 1970, until it is set again.
    pub fn set_now(&self, now: u64) {
        self.world.world().set_now(now);
    }

    /// Time stands so many seconds later than it was.
    pub fn advance(&self, seconds: u64) {
        let mut world = self.world.world();
        let now = world.now() + seconds;
        world.set_now(now);
    }

    /// New devices have to wait so many seconds between questions.
    pub fn set_interval(&self, seconds: u64) {
        self.world.world().interval = seconds;
    }

    /// Changes what is registered of the app.
    pub fn change_app(&self, change: impl FnOnce(&mut crate::App)) {
        change(&mut self.world.world().app);
    }

    /// A new account with this login; its number.
    pub fn add_person(&self, login: &str) -> u64 {
        let mut world = self.world.world();
        let id = world.next_id();
        world.people.insert(id, login.to_owned());
        id
    }

    /// An account takes another login; its number stays. The former login is free for others.
    pub fn rename(&self, login: &str, to: &str) {
        let mut world = self.world.world();
        let id = world.person(login).expect("the account exists");
        world.people.insert(id, to.to_owned());
    }

    /// Someone is a member of an organization, and shows it or not.
    pub fn add_member(&self, organization: &str, login: &str, is_public: bool) {
        let mut world = self.world.world();
        let id = world.person(login).expect("the account exists");
        let members = world.organizations.entry(organization.to_ascii_lowercase()).or_default();
        members.insert(id, is_public);
    }

    /// A public repository; its number.
    pub fn add_public(&self, name: &str) -> u64 {
        self.add(name, false, &[])
    }

    /// A private repository that these read, with the app installed; its number.
    pub fn add_private(&self, name: &str, readers: &[&str]) -> u64 {
        self.add(name, true, readers)
    }

    fn add(&self, name: &str, is_private: bool, readers: &[&str]) -> u64 {
        let mut world = self.world.world();
        let id = world.next_id();
        let readers = readers.iter().map(|login| (*login).to_owned()).collect();
        let name = name.to_owned();
        let repository = Repository { id, name, is_private, readers, is_installed: true, rule: None };
        world.repositories.insert(id, repository);
        id
    }

    /// Changes a repository.
    pub fn change_repository(&self, id: u64, change: impl FnOnce(&mut Repository)) {
        change(self.world.world().repositories.get_mut(&id).expect("the repository exists"));
    }

    /// A repository takes another name, under the same or another owner. The former name redirects until
    /// another repository has it.
    pub fn move_repository(&self, id: u64, to: &str) {
        let mut world = self.world.world();
        let repository = world.repositories.get_mut(&id).expect("the repository exists");
        let former = std::mem::replace(&mut repository.name, to.to_owned());
        world.moved.insert(former.to_ascii_lowercase(), id);
    }

    /// A path of the API, such as `/repos/acme/app`, redirects to this address, wherever it is.
    pub fn redirect(&self, path: &str, to: &str) {
        self.world.world().redirects.insert(path.to_owned(), to.to_owned());
    }

    /// A person enters the code of a device and consents to all that is asked for.
    pub fn approve(&self, user_code: &str, login: &str) {
        let mut world = self.world.world();
        let id = world.person(login).expect("the account exists");
        world.device_of(user_code).expect("the code was given out").consent = Consent::Given(id);
    }

    /// The same, but the person grants these scopes only.
    pub fn approve_scopes(&self, user_code: &str, login: &str, scopes: &[&str]) {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        self.world.world().device_of(user_code).expect("the code was given out").scopes = scopes;
        self.approve(user_code, login);
    }

    /// A person enters the code of a device and says no.
    pub fn deny(&self, user_code: &str) {
        self.world.world().device_of(user_code).expect("the code was given out").consent = Consent::Denied;
    }

    /// A device's time is over.
    pub fn expire(&self, user_code: &str) {
        let mut world = self.world.world();
        let now = world.now();
        world.device_of(user_code).expect("the code was given out").expires_at = now;
    }

    /// GitHub forgets a device's code.
    pub fn forget(&self, user_code: &str) {
        self.world.world().devices.retain(|_, device| device.user_code != user_code);
    }

    /// The device's next question is answered with `slow_down`; with the new interval or without.
    pub fn slow_down(&self, user_code: &str, with_interval: bool) {
        self.world.world().device_of(user_code).expect("the code was given out").slow_down =
            Some(with_interval);
    }

    /// A person's browser is sent to this address by the web flow, and the person consents: the address
    /// that the browser is sent on to.
    ///
    /// # Errors
    /// What the page says instead of asking for consent.
    pub fn consent(&self, address: &str, login: &str) -> Result<String, String> {
        let (_, query) = address.split_once('?').ok_or("the address has no query")?;
        let mut world = self.world.world();
        let person = world.person(login).ok_or("there is no such account")?;
        let request = Authorize::read(query, &world.app)?;
        let code = world.consent(&request, person);
        Ok(crate::web::back(&request, &[("code", &code)]))
    }

    /// What begins with this path is not answered as it should be. The first of several holds.
    pub fn outage(&self, path: &str, outage: Outage) {
        self.world.world().outages.push((path.to_owned(), outage));
    }

    /// Everything is answered again.
    pub fn recover(&self) {
        self.world.world().outages.clear();
    }

    /// Everything that was asked so far, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.world.world().asked.clone()
    }

    /// How many tokens of an account are valid.
    pub fn tokens(&self, login: &str) -> usize {
        let world = self.world.world();
        let id = world.person(login);
        world.tokens.values().filter(|token| Some(token.person) == id).count()
    }

    /// A person withdraws the app's access: all of the account's tokens end.
    pub fn withdraw(&self, login: &str) {
        let mut world = self.world.world();
        let id = world.person(login);
        let of = |token: &crate::world::Token| Some(token.person) == id;
        let tokens: Vec<String> =
            world.tokens.iter().filter(|(_, token)| of(token)).map(|(token, _)| token.clone()).collect();
        for token in tokens {
            world.revoke(&token);
        }
    }

    /// The logins of all accounts.
    pub fn people(&self) -> Vec<String> {
        self.world.world().people.values().cloned().collect()
    }
}
