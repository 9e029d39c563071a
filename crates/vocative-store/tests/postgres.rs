//! PostgreSQL passes the contract; and what only a server can do.

use std::sync::Arc;

use vocative_store::postgres::Postgres;
use vocative_store::{Store, StoreError};

mod contract;
mod server;

struct OnServer {
    server: Arc<server::Server>,
    database: String,
}

impl contract::Backend for OnServer {
    async fn fresh() -> Self {
        let server = server::shared();
        Self { database: server.database().await, server }
    }

    fn address(&self) -> String {
        self.server.url(&self.database)
    }

    async fn open_at(address: &str) -> Box<dyn Store> {
        Box::new(Postgres::open(address).await.expect("a store"))
    }

    /// Another node.
    async fn open_again(&self, _first: &Arc<dyn Store>) -> Arc<dyn Store> {
        self.open().await.into()
    }

    const VERSION_1: &'static str = include_str!("../src/postgres/schema.sql");

    async fn run(&self, sql: &str) {
        server::execute(&contract::Backend::address(self), &sql.replace("X'", "'\\x")).await;
    }

    async fn sabotage(&self) {
        let sql = "CREATE FUNCTION sabotage() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN RAISE EXCEPTION 'sabotage'; END $$; \
             CREATE TRIGGER sabotage BEFORE INSERT ON events FOR EACH ROW WHEN (NEW.kind = 7777) \
             EXECUTE FUNCTION sabotage()";
        contract::Backend::run(self, sql).await;
    }
}

contract!(OnServer);

mod nodes {
    use vocative_store::{Outcome, Reader};

    use super::contract::Backend;
    use super::contract::events::{append_stored, event, h, p};
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn nodes_that_start_at_once_make_one_schema() {
        let place = OnServer::fresh().await;
        let address = place.address();
        let starting: Vec<_> = (0..4)
            .map(|_| {
                let address = address.clone();
                tokio::spawn(async move { Postgres::open(&address).await.map(drop) })
            })
            .collect();
        for node in starting {
            assert_eq!(node.await.expect("it ends"), Ok(()));
        }
        append_stored(&*place.open().await, &event(1, 9, 1, &[], "")).await;
        server::execute(&address, "INSERT INTO schema_version VALUES (99)").await;
        let newer = StoreError::NewerSchema { found: 99, known: 4 };
        assert_eq!(Postgres::open(&address).await.err(), Some(newer));
    }

    #[tokio::test]
    async fn a_server_that_would_lose_what_it_acknowledged_is_refused() {
        let server = server::Server::start(&["fsync=off"]);
        let opened = Postgres::open(&server.url("postgres")).await;
        assert_eq!(opened.err(), Some(StoreError::NotDurable("fsync is off".to_owned())));
        let server = server::shared();
        let database = server.database().await;
        let url = server.url(&database);
        // It may be set for the server, for a database, or for whoever connects.
        for (set, reset) in [
            (format!("ALTER DATABASE {database} SET synchronous_commit = off"), "ALTER DATABASE _ RESET ALL"),
            (
                "CREATE ROLE loser LOGIN SUPERUSER; ALTER ROLE loser SET synchronous_commit = off".to_owned(),
                "",
            ),
        ] {
            server::execute(&url, &set).await;
            let user = if reset.is_empty() { "loser@" } else { "postgres@" };
            let opened = Postgres::open(&url.replace("postgres@", user)).await;
            let lossy = StoreError::NotDurable("synchronous_commit is off".to_owned());
            assert_eq!(opened.err(), Some(lossy), "{set}");
            server::execute(&url, &reset.replace('_', &database)).await;
        }
        assert_eq!(Postgres::open(&url).await.err(), None);
        let opened = Postgres::open("postgres://postgres@127.0.0.1:1/none").await;
        assert_eq!(opened.err().map(|error| error.code()), Some("unavailable"));
    }

    /// A hung server keeps its connections and says nothing.
    #[tokio::test]
    async fn a_server_that_hangs_is_told_and_waited_for_no_longer() {
        struct Hung<'s>(&'s server::Server);
        impl Drop for Hung<'_> {
            fn drop(&mut self) {
                self.0.signal("CONT");
            }
        }
        let server = server::Server::start(&[]);
        let url = server.url("postgres");
        let store = Postgres::open(&url).await.expect("a store");
        append_stored(&store, &event(1, 9, 1, &[h("c"), p(2)], "before")).await;
        let next = event(1, 9, 2, &[h("c"), p(2)], "after");
        let hung = Hung(&server);
        server.signal("STOP");
        // The clock jumps to the next thing that is waited for, and that is never the server.
        tokio::time::pause();
        let begun = tokio::time::Instant::now();
        let (read, written) = tokio::join!(store.head(), store.append(vec![next.clone().into()]));
        let silent = StoreError::Unavailable("the database does not answer".to_owned());
        assert_eq!((read, written), (Err(silent.clone()), Err(silent.clone())));
        assert_eq!(
            store.channels_of(event(1, 9, 1, &[], "").key).await,
            Err(silent.clone()),
            "on a new connection too"
        );
        assert_eq!(Postgres::open(&url).await.err(), Some(silent));
        assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
        tokio::time::resume();
        drop(hung);
        // What was given while it hung is stored or not; given again it is stored once.
        let mut again = store.append(vec![next.clone().into()]).await;
        while again.is_err() {
            again = store.append(vec![next.clone().into()]).await;
        }
        let all = vocative_store::Filter::default();
        assert_eq!(store.count(&Reader::Server, &[all]).await, Ok(2));
        assert_eq!(store.check().await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn functions_of_another_build_are_made_again() {
        let place = OnServer::fresh().await;
        drop(place.open().await);
        place
            .run(
                "CREATE OR REPLACE FUNCTION vocative_edited(a_agent bytea) RETURNS SETOF bytea \
                 LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'of another build'; END $$; \
                 UPDATE schema_functions SET digest = ''",
            )
            .await;
        let store = place.open().await;
        append_stored(&*store, &event(1, 10_100, 1, &[p(2)], "")).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_server_that_fails_keeps_what_was_acknowledged() {
        let server = Arc::new(server::Server::start(&[]));
        let place = OnServer { database: server.database().await, server: Arc::clone(&server) };
        let store: Arc<dyn Store> = place.open().await.into();
        let mut acknowledged = Vec::new();
        for round in 0..3_u64 {
            let writer = Arc::clone(&store);
            let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
            let writing = tokio::spawn(async move {
                for n in 0.. {
                    let message = event(1, 9, round, &[h("c"), p(2)], &n.to_string());
                    match writer.append(vec![message.clone().into()]).await {
                        Ok(outcomes) => {
                            assert!(matches!(outcomes[0], Outcome::Stored(_)));
                            assert_eq!(said.send(message.id), Ok(()));
                        }
                        Err(error) => return error.code(),
                    }
                }
                unreachable!("the server fails")
            });
            for _ in 0..40 {
                acknowledged.push(heard.recv().await.expect("the writer goes on"));
            }
            let failing = Arc::clone(&server);
            tokio::task::spawn_blocking(move || failing.crash()).await.expect("it starts again");
            assert_eq!(writing.await.expect("it ends"), "unavailable", "the error is told as what it is");
            while let Some(id) = heard.recv().await {
                acknowledged.push(id);
            }
            let again = place.open().await;
            for id in &acknowledged {
                assert!(again.event(&Reader::Server, *id).await.expect("works").is_some(), "{id}");
            }
            assert_eq!(again.check().await, Ok(Vec::new()));
        }
    }
}
