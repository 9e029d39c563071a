//! How long `GET /v1/participants` takes, warm, over one connection and over eight:
//! `cargo run --release -p vocative-server --example participants [PEOPLE]`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Client;
use reqwest::header::{LOCATION, SET_COOKIE};
use serde_json::json;
use tempfile::TempDir;
use vocative_github_double::{App, Double};
use vocative_server::Server;
use vocative_server::bus::Local;
use vocative_server::settings::{Secret, Settings};
use vocative_store::sqlite::Sqlite;
use vocative_store::{Expected, Store, Write};

const REQUESTS: usize = 2000;

#[tokio::main]
async fn main() {
    let people = std::env::args().nth(1).and_then(|number| number.parse().ok()).unwrap_or(1000);
    let folder = TempDir::new().expect("a folder");
    let double = Double::start(App::github_app()).await.expect("it starts");
    double.add_person("ann");
    double.add_public("acme/app");
    let mut settings = Settings::in_folder(folder.path().to_owned());
    settings.listen.set_port(0);
    settings.allow = vec!["ann".parse().expect("a login")];
    settings.repositories = vec!["acme/*".parse().expect("a name")];
    let app = App::github_app();
    settings.github.web = double.web();
    settings.github.api = double.api();
    settings.github.client_id = Some(app.client_id);
    settings.github.client_secret = Some(Secret::new(app.client_secret));
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(folder.path().join("store.db")).expect("a store"));
    populate(&*store, people).await;
    let server = Server::start(settings, store, Local::new()).await.expect("it starts");
    let base = format!("http://{}", server.address());
    tokio::spawn(server.run(std::future::pending()));

    let http = Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    let http = http.build().expect("a client");
    let token = log_in(&http, &double, &base).await;
    println!("{people} people, load {}", load());
    for connections in [1, 8] {
        for query in ["?q=person12", "?q=zzz", ""] {
            let (mut times, whole) = measure(&http, &base, &token, query, connections).await;
            times.sort_unstable();
            let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize].as_micros();
            println!(
                "{connections} connections, {:12} p50 {:6} us, p99 {:6} us, {:7.0} requests/s",
                if query.is_empty() { "everyone" } else { query },
                at(0.5),
                at(0.99),
                times.len() as f64 / whole.as_secs_f64()
            );
        }
    }
}

/// Accounts as logins leave them.
async fn populate(store: &dyn Store, people: usize) {
    for first in (0..people).step_by(500) {
        let writes = (first..people.min(first + 500)).flat_map(|number| {
            let (id, login) = (1_000_000 + number, format!("person{number}"));
            let account = json!({
                "id": id, "handle": login, "names": [{ "login": login, "from": null, "until": null }],
                "keys": [], "first_login": 0, "last_login": 0,
            });
            let holders = json!([{ "account": id, "from": null, "until": null }]);
            [
                Write::set(format!("account/{id}"), Expected::Absent, account.to_string()),
                Write::set(format!("held/{login}"), Expected::Absent, holders.to_string()),
            ]
        });
        store.write(writes.collect()).await.expect("it is written");
    }
}

async fn log_in(http: &Client, double: &Double, base: &str) -> String {
    let begun = http.get(format!("{base}/v1/login/web")).send().await.expect("it answers");
    let flow = begun.headers()[SET_COOKIE].to_str().expect("text").split(';').next().expect("a cookie");
    let back = double.consent(begun.headers()[LOCATION].to_str().expect("text"), "ann").expect("it asks");
    let done = http.get(back).header("cookie", flow).send().await.expect("it answers");
    let session = done.headers()[SET_COOKIE].to_str().expect("text");
    session.split(['=', ';']).nth(1).expect("a value").to_owned()
}

async fn measure(
    http: &Client,
    base: &str,
    token: &str,
    query: &str,
    connections: usize,
) -> (Vec<Duration>, Duration) {
    let began = Instant::now();
    let each = (0..connections).map(|_| {
        let (http, token, url) = (http.clone(), token.to_owned(), format!("{base}/v1/participants{query}"));
        tokio::spawn(async move {
            let mut times = Vec::with_capacity(REQUESTS);
            for _ in 0..REQUESTS {
                let began = Instant::now();
                let answer = http.get(&url).bearer_auth(&token).header("x-chi-repo", "acme/app").send();
                let answer = answer.await.expect("it answers").error_for_status().expect("it is readable");
                answer.bytes().await.expect("it is whole");
                times.push(began.elapsed());
            }
            times
        })
    });
    let mut all = Vec::new();
    for times in futures_util::future::join_all(each).await {
        all.extend(times.expect("it ends"));
    }
    (all, began.elapsed())
}

/// The load of the machine over the last minute.
fn load() -> String {
    let read = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    read.split(' ').next().unwrap_or("unknown").to_owned()
}
