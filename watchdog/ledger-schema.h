/* SPDX-License-Identifier: MIT */
/*
 * The tables of the ledger
 *
 * Constraints make impossible states unstorable: a slot belongs to at most one reservation
 * (UNIQUE), a queued reservation has no slot and a granted container has one, a slot that is held
 * by a reservation cannot become free. Finished leases and reservations leave their tables; what
 * happened stays in events.
 */
#pragma once

#define LEDGER_SCHEMA_VERSION 1
#define LEDGER_APPLICATION_ID 0x64696e64 /* "dind", for file(1) and against foreign files */

static const char ledger_schema[] =
                "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
                "CREATE TABLE leases ("
                "  invocation_id TEXT PRIMARY KEY,"
                "  token_digest TEXT NOT NULL CHECK (length(token_digest) = 64),"
                "  generation TEXT NOT NULL,"
                "  uid INTEGER NOT NULL CHECK (uid >= 0),"
                "  created_at INTEGER NOT NULL,"
                "  state TEXT NOT NULL CHECK (state IN ('active', 'draining', 'lost'))"
                ") STRICT;"
                "CREATE TABLE slots ("
                "  number INTEGER PRIMARY KEY CHECK (number > 0),"
                "  state TEXT NOT NULL CHECK (state IN ('free', 'preparing', 'granted', 'attaching',"
                "    'active', 'draining', 'scrubbing', 'verified-free', 'quarantined')),"
                "  generation INTEGER NOT NULL CHECK (generation > 0),"
                "  quarantine_reason TEXT,"
                "  CHECK ((state = 'quarantined') = (quarantine_reason IS NOT NULL))"
                ") STRICT;"
                "CREATE TABLE reservations ("
                "  sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
                "  reservation_id TEXT NOT NULL UNIQUE,"
                "  invocation_id TEXT NOT NULL REFERENCES leases,"
                "  provision_token TEXT NOT NULL UNIQUE CHECK (length(provision_token) = 32),"
                "  kind TEXT NOT NULL CHECK (kind IN ('container', 'build')),"
                "  cpus_milli INTEGER NOT NULL CHECK (cpus_milli >= 0),"
                "  memory_bytes INTEGER NOT NULL CHECK (memory_bytes >= 0),"
                "  pids INTEGER NOT NULL CHECK (pids >= 0),"
                "  containers INTEGER NOT NULL CHECK (containers IN (0, 1)),"
                "  builds INTEGER NOT NULL CHECK (builds IN (0, 1)),"
                "  disk_bytes INTEGER NOT NULL CHECK (disk_bytes >= 0),"
                "  resources_json TEXT NOT NULL,"
                "  state TEXT NOT NULL CHECK (state IN ('queued', 'granted', 'provisioning', 'committed',"
                "    'releasing', 'quarantined')),"
                "  created_at INTEGER NOT NULL,"
                "  granted_at INTEGER NOT NULL,"
                "  slot INTEGER UNIQUE REFERENCES slots,"
                "  slot_generation INTEGER NOT NULL,"
                "  attempt_id TEXT, create_spec_digest TEXT, network_id TEXT, container_id TEXT,"
                "  quarantine_reason TEXT,"
                "  CHECK (state <> 'queued' OR slot IS NULL),"
                "  CHECK (state = 'queued' OR kind = 'build' OR slot IS NOT NULL)"
                ") STRICT;"
                "CREATE INDEX reservations_by_invocation ON reservations (invocation_id);"
                "CREATE INDEX reservations_waiting ON reservations (sequence) WHERE state = 'queued';"
                "CREATE INDEX slots_free ON slots (number) WHERE state = 'free';"
                "CREATE INDEX leases_by_uid ON leases (uid);"
                "CREATE TABLE events ("
                "  sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
                "  at INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL"
                ") STRICT;"
                "CREATE TRIGGER slot_free_is_unheld BEFORE UPDATE OF state ON slots"
                "  WHEN NEW.state IN ('free', 'preparing') AND"
                "    EXISTS (SELECT 1 FROM reservations WHERE slot = NEW.number)"
                "  BEGIN SELECT RAISE(ABORT, 'a slot held by a reservation is not free'); END;"
                "CREATE TRIGGER slot_held_once BEFORE UPDATE OF slot ON reservations"
                "  WHEN NEW.slot IS NOT OLD.slot AND NEW.slot IS NOT NULL AND"
                "    (SELECT state FROM slots WHERE number = NEW.slot) NOT IN ('free', 'preparing')"
                "  BEGIN SELECT RAISE(ABORT, 'only a free slot can be granted'); END;";
