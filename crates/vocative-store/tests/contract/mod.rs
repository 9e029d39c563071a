//! What every backend has to do, as tests that a backend runs unchanged: `contract!(Backend)`.

#![allow(dead_code, unreachable_pub, reason = "shared by test programs that use parts of it")]

use std::sync::Arc;

use vocative_store::Store;

pub mod append;
pub mod crash;
pub mod documents;
pub mod events;
pub mod history;
pub mod hostile;
pub mod inbox;
pub mod naive;
pub mod order;
pub mod privacy;
pub mod random;
pub mod rebuild;
pub mod sessions;
pub mod settings;

/// A place where a store of one backend is kept for a test.
pub trait Backend: Sized {
    /// A new, empty place.
    fn fresh() -> impl Future<Output = Self>;
    /// What another process needs to open the same place.
    fn address(&self) -> String;
    /// Opens what is at an address.
    fn open_at(address: &str) -> impl Future<Output = Box<dyn Store>>;
    /// The tables as the first release made them.
    const VERSION_1: &'static str;
    /// Runs SQL in the place itself, with bytes written as `X'00'`.
    fn run(&self, sql: &str) -> impl Future<Output = ()>;
    /// Makes the database itself fail on events of kind 7777.
    fn sabotage(&self) -> impl Future<Output = ()>;

    /// A second way to write to what is open: another node, or where there is but one, the same.
    fn open_again(&self, first: &Arc<dyn Store>) -> impl Future<Output = Arc<dyn Store>>;

    /// Opens what is kept here.
    fn open(&self) -> impl Future<Output = Box<dyn Store>> {
        async { Self::open_at(&self.address()).await }
    }
}

/// One test for each case.
#[macro_export]
macro_rules! contract {
    ($backend:ty) => {
        $crate::contract!($backend =>
            append: events_are_stored_once, a_bad_event_fails_alone, a_failing_event_fails_alone,
                the_latest_version_is_kept, a_deletion_blocks, a_manager_deletes_in_the_channel_only,
                channels_and_members_are_kept, what_was_decided_on_must_still_be_so, reopening_gives_the_same_answers;
            order: newest_first_then_by_id, limits_and_bounds, every_condition_holds, search_finds_words, filters_of_any_size_are_answered,
                positions_are_in_the_order_of_commits, what_went_at_once_is_delivered,
                writers_at_once_lose_nothing;
            privacy: a_private_channel_never_leaks, a_deletion_is_for_readers_of_its_targets,
                codes_are_for_those_who_invite;
            hostile: no_text_becomes_sql;
            inbox: pages_show_each_row_once, edits_add_and_retract, what_never_makes_a_row,
                keys_of_one_person_share_a_row;
            sessions: what_a_publisher_says_stands_once, publishers_who_differ_are_disputed,
                publishers_at_once_are_settled, inboxes_are_those_of_a_naive_reading;
            history: rows_are_those_of_a_naive_reading;
            rebuild: parts_in_any_order_make_the_index_again, a_rebuild_that_is_killed_goes_on,
                readers_and_writers_go_on_meanwhile;
            documents: what_is_not_as_expected_stops_all, documents_are_those_of_a_map,
                of_two_that_expect_the_same_one_wins, transactions_take_turns, values_are_not_shown;
            settings: the_first_value_stays, nodes_agree_on_one_value, a_store_of_version_1_gets_settings;
            crash: what_was_acknowledged_is_there, child;
        );
    };
    ($backend:ty => $($module:ident: $($case:ident),+;)+) => {
        $(mod $module {
            #[allow(unused_imports)]
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::contract::$module::$case::<$backend>().await;
            })+
        })+
    };
}
