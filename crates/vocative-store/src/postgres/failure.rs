//! What errors of the database mean for whoever asked.

use deadpool_postgres::PoolError;
use tokio_postgres::Error;

use crate::error::StoreError;

/// The code by which the function that appends says that an import does not continue.
const NOT_CONTINUING: &str = "VC001";

pub(super) fn failed(error: &Error) -> StoreError {
    let Some(database) = error.as_db_error() else {
        return StoreError::Unavailable(error.to_string());
    };
    let code = database.code().code();
    let said = format!("{}: {}", code, database.message());
    match code {
        NOT_CONTINUING => StoreError::NotContinuing,
        "53100" => StoreError::Full,
        "25006" => StoreError::ReadOnly,
        "XX001" | "XX002" => StoreError::Damaged(said),
        // Connections that are refused or end, a server that stops or starts, too many of something.
        _ if ["08", "28", "53", "57"].iter().any(|class| code.starts_with(class)) => {
            StoreError::Unavailable(said)
        }
        _ => StoreError::Database(said),
    }
}

/// Whether an event is at fault: its data, a constraint, a limit, or what a trigger raised.
pub(super) fn is_of_event(error: &Error) -> bool {
    let code = error.as_db_error().map(|error| error.code().code());
    code.is_some_and(|code| ["22", "23", "54", "P0"].iter().any(|class| code.starts_with(class)))
}

pub(super) fn no_connection(error: &PoolError) -> StoreError {
    match error {
        PoolError::Backend(error) => failed(error),
        other => StoreError::Unavailable(other.to_string()),
    }
}
