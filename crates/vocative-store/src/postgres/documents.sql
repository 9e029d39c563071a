-- Documents. A name is locked whether or not there is a document of it, in one order for everybody: so
-- transactions on the same names take turns and never wait for each other in a circle.
CREATE OR REPLACE FUNCTION vocative_write(
    a_names text[], a_expected bigint[], a_then bigint[], a_values bytea[], a_ends bigint[],
    OUT o_version bigint, OUT o_changed text
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_lock integer;
    v_version bigint;
BEGIN
    FOR v_lock IN SELECT DISTINCT hashtext(name) FROM unnest(a_names) AS listed(name) ORDER BY 1 LOOP
        PERFORM pg_advisory_xact_lock(1987011169, v_lock);
    END LOOP;
    FOR i IN 1..cardinality(a_names) LOOP
        -- The row is locked too, against whoever forgets what has expired.
        SELECT version INTO v_version FROM documents WHERE name = a_names[i] FOR UPDATE;
        IF COALESCE(v_version, 0) <> a_expected[i] THEN
            o_changed := a_names[i];
            RETURN;
        END IF;
    END LOOP;
    o_version := nextval('document_versions');
    FOR i IN 1..cardinality(a_names) LOOP
        IF a_then[i] = 1 THEN
            INSERT INTO documents VALUES (a_names[i], a_values[i], o_version, a_ends[i])
            ON CONFLICT (name) DO UPDATE SET value = excluded.value, version = excluded.version,
                expires_at = excluded.expires_at;
        ELSIF a_then[i] = 2 THEN
            DELETE FROM documents WHERE name = a_names[i];
        END IF;
    END LOOP;
END $$;

ALTER FUNCTION vocative_write SET enable_seqscan = off SET jit = off;
