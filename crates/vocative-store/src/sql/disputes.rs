//! When a reference to a session is disputed (section 4).

/// Whether the reference `r` is: 1 where a verdict on its entry says something else or, without a verdict,
/// another publisher does, else 0.
const DISPUTED: &str = "CASE WHEN EXISTS (SELECT 1 FROM verdicts v WHERE v.session = r.session AND v.entry = r.entry) \
     THEN CASE WHEN EXISTS (SELECT 1 FROM verdicts v WHERE v.session = r.session AND v.entry = r.entry \
         AND v.recipient = r.recipient AND v.actor = r.actor AND v.at = r.at) THEN 0 ELSE 1 END \
     WHEN EXISTS (SELECT 1 FROM session_mentions o WHERE o.session = r.session AND o.entry = r.entry \
         AND o.recipient = r.recipient AND (o.actor <> r.actor OR o.at <> r.at)) THEN 1 ELSE 0 END";

/// Columns of a reference, in the order in which both backends read them.
pub(crate) const REFERENCE: &str = "r.session, r.entry, r.recipient, r.actor, r.at";

/// Says again of the references to the entries in `touched`, pairs of session and entry, whether they
/// are disputed.
pub(crate) fn settle(touched: &str) -> String {
    format!(
        "UPDATE session_mentions AS r SET disputed = {DISPUTED} \
         WHERE (r.session, r.entry) IN ({touched}) AND r.disputed <> {DISPUTED}"
    )
}

/// What is counted by a check: references whose mark is not what the others and the verdicts make it.
pub(crate) fn unsettled() -> String {
    format!("SELECT COUNT(*) FROM session_mentions r WHERE r.disputed <> {DISPUTED}")
}

/// The references after a place, in their order, each with whether its mark is wrong.
pub(crate) fn marks(after: &str, limit: &str) -> String {
    format!(
        "SELECT r.session, r.entry, r.recipient, r.publisher, \
         CAST(CASE WHEN r.disputed <> {DISPUTED} THEN 1 ELSE 0 END AS bigint) FROM session_mentions r \
         WHERE (r.session, r.entry, r.recipient, r.publisher) > {after} \
         ORDER BY r.session, r.entry, r.recipient, r.publisher LIMIT {limit}"
    )
}
