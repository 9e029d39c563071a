-- The rule of mention rows, for the messages in `touched` (section 5; X-8, X-11, H-1, W-8).
--
-- A message gives a row to each key it notifies, an edit to each key that it notifies first. The edits
-- of a message are those by its author and by the owner of the agent that wrote it. The author's own
-- name, and on an edit the editor's, never makes a row. Of several edits that add a key the earliest
-- made the row, deleted ones included, so that a row keeps its place when an edit goes.
WITH touched(id) AS ({touched}),
message AS (
    SELECT e.position, e.id, e.key, e.created_at, e.channel, e.deleted
    FROM touched t JOIN events e ON e.id = t.id
    WHERE +e.kind IN (9, 40002, 45001, 45003)
),
edit AS (
    SELECT m.id AS item, m.position AS message, m.key AS author, m.channel, m.deleted AS gone,
        e.position, e.id, e.key, e.created_at, e.snapshot, e.deleted
    FROM message m JOIN events e ON e.target = m.id
    -- The sign keeps the index on kinds out: there are more edits than edits of these messages.
    WHERE +e.kind = 40003 AND COALESCE(e.channel, '') = COALESCE(m.channel, '')
      AND (e.key = m.key OR EXISTS (
        SELECT 1 FROM events a JOIN names n ON n.event = a.position
        WHERE a.key = m.key AND a.kind = 10100 AND a.deleted = 0 AND n.how = 4 AND n.key = e.key))
),
counting AS (
    SELECT item, position, snapshot
    FROM (SELECT item, position, snapshot,
              ROW_NUMBER() OVER (PARTITION BY item ORDER BY created_at DESC, id) AS place
          FROM edit WHERE deleted = 0) ranked
    WHERE place = 1
),
named AS (
    SELECT m.id AS item, m.position AS message, n.key AS recipient, m.id AS by_event, m.key AS actor,
        m.created_at AS at, m.channel,
        CASE WHEN EXISTS (SELECT 1 FROM names o WHERE o.event = m.position AND o.how = 3 AND o.key = n.key)
             THEN 1 ELSE 0 END AS why,
        m.deleted AS deleted
    FROM message m JOIN names n ON n.event = m.position
    WHERE n.how = 1 AND n.key <> m.key
    UNION ALL
    SELECT item, message, recipient, id, key, created_at, channel, 2,
        CASE WHEN gone = 1 OR living = 0 THEN 1 ELSE 0 END
    FROM (SELECT e.item, e.message, n.key AS recipient, e.id, e.key, e.created_at, e.channel, e.gone,
              SUM(1 - e.deleted) OVER (PARTITION BY e.item, n.key) AS living,
              ROW_NUMBER() OVER (PARTITION BY e.item, n.key ORDER BY e.created_at, e.id) AS place
          FROM edit e JOIN names n ON n.event = e.position
          WHERE n.how = 1 AND n.key <> e.author AND n.key <> e.key) adding
    WHERE place = 1 AND NOT EXISTS (
        SELECT 1 FROM names o
        WHERE o.event = adding.message AND o.how = 1 AND o.key = adding.recipient)
)
{insert} INTO mentions (recipient, item, by_event, actor, at, channel, why, retracted, deleted)
SELECT r.recipient, r.item, r.by_event, r.actor, r.at, r.channel, r.why,
    -- Whom the message names with the edit that counts laid over it (X-10, H-1): behind the marker the
    -- edit's list alone, without it whomever the message names in any way and whom the edit notifies.
    CASE WHEN c.item IS NULL OR r.why = 1 OR EXISTS (
            SELECT 1 FROM names n
            WHERE n.event = c.position AND n.how = 1 + c.snapshot AND n.key = r.recipient)
        OR (c.snapshot = 0 AND EXISTS (
            SELECT 1 FROM names n WHERE n.event = r.message AND n.how IN (1, 2, 3) AND n.key = r.recipient))
    THEN 0 ELSE 1 END,
    r.deleted
FROM named r LEFT JOIN counting c ON c.item = r.item
