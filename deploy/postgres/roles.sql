-- Three roles for a store in PostgreSQL, given to logins by the owner of its schema (a superuser, or a role with CREATEROLE that owns
-- the schema `runbook`): psql --set=ON_ERROR_STOP=1 --single-transaction --file=roles.sql. It may be run again, and is after an upgrade.
--
--   runbook_writer     runs, schedules, kills, approves. What is written to a journal it can neither change nor delete.
--   runbook_reviewer   reads everything, changes nothing.
--   runbook_archivist  also deletes runs from the journal, which `audit archive` does once they are in a verified file.
--
--   CREATE ROLE worker LOGIN PASSWORD '…' IN ROLE runbook_writer;

DO $$
DECLARE
  role text;
BEGIN
  FOREACH role IN ARRAY ARRAY['runbook_writer', 'runbook_reviewer', 'runbook_archivist'] LOOP
    IF to_regrole(role) IS NULL THEN EXECUTE format('CREATE ROLE %I NOLOGIN', role); END IF;
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA runbook FROM %I', role);
  END LOOP;
  -- The queue of many workers has a schema of its own, which the workers make and may drop.
  EXECUTE format('GRANT CREATE ON DATABASE %I TO runbook_writer', current_database());
END
$$;

REVOKE ALL ON SCHEMA runbook FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA runbook FROM PUBLIC;
GRANT USAGE ON SCHEMA runbook TO runbook_writer, runbook_reviewer, runbook_archivist;
GRANT SELECT ON ALL TABLES IN SCHEMA runbook TO runbook_writer, runbook_reviewer, runbook_archivist;

-- The evidence: entries of runs, acts of people, kills and releases.
GRANT INSERT ON runbook.entries, runbook.account_act, runbook.kill_event TO runbook_writer;
-- What is derived from the entries, or holds for a moment: the row of a run, leases, the token budget, messages to runs.
GRANT INSERT, UPDATE ON runbook.runs, runbook.lease, runbook.ledger, runbook.message, runbook.agenda_epoch TO runbook_writer;
-- Verdicts are deleted after 400 days, submissions after a day, slots when their schedule is gone.
GRANT INSERT, UPDATE, DELETE ON runbook.agenda_slot, runbook.occurrence, runbook.handover, runbook.account_row TO runbook_writer;

GRANT DELETE ON runbook.entries, runbook.runs TO runbook_archivist;
