/**
 * Rows that processes share (leases, kill switch, messages): columns, the statements that are the same in every database, the
 * functions that read a row, and the parts that only these statements make. Parameters are written `?`. Schemas, locks and clocks differ and stay with each store.
 */

import type { SqlRow } from '../sql/values.ts';
import { ask, type SqlDatabase } from '../sql/work.ts';
import type { LeaseRow } from './lease.ts';
import {
  assertNamed,
  buildUnreadableKill,
  findKillInForce,
  isInForce,
  type KillEvent,
  type KillSwitch,
  type Mailbox,
  type PostedMessage,
  type RunCommand,
  selectKills,
} from './shared.ts';

export const SHARED_SQL = {
  lease: 'SELECT epoch, held_by, process, clock, until_ms FROM lease WHERE account = ?',
  takeLease: `INSERT INTO lease (account, epoch, held_by, process, clock, until_ms) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (account) DO UPDATE SET epoch = excluded.epoch, held_by = excluded.held_by, process = excluded.process,
      clock = excluded.clock, until_ms = excluded.until_ms`,
  adoptLease: 'UPDATE lease SET clock = ?, until_ms = ? WHERE account = ?',
  releaseLease: 'UPDATE lease SET held_by = NULL WHERE account = ? AND epoch = ?',
  killEvents: 'SELECT action, scope, by_name, reason, at FROM kill_event ORDER BY sequence',
  addKillEvent: 'INSERT INTO kill_event (action, scope, by_name, reason, at) VALUES (?, ?, ?, ?, ?)',
  post: 'INSERT INTO message (run, command, by_name, at, step, reason) VALUES (?, ?, ?, ?, ?, ?) RETURNING sequence',
  pending:
    'SELECT sequence, run, command, by_name, at, step, reason FROM message WHERE run = ? AND read = 0 ORDER BY sequence',
  acknowledge: 'UPDATE message SET read = 1 WHERE run = ? AND sequence <= ? AND read = 0',
} as const;

export function readLeaseRow(row: SqlRow): LeaseRow {
  return {
    epoch: Number(row.epoch),
    heldBy: row.held_by === null ? undefined : String(row.held_by),
    process: String(row.process),
    clockId: String(row.clock),
    untilMs: Number(row.until_ms),
  };
}

function readKillEvent(row: SqlRow): KillEvent {
  return {
    action: row.action === 'release' ? 'release' : 'engage',
    scope: String(row.scope),
    by: String(row.by_name),
    reason: String(row.reason),
    at: Number(row.at),
  };
}

function readPostedMessage(row: SqlRow): PostedMessage {
  return {
    sequence: Number(row.sequence),
    run: String(row.run),
    command: String(row.command) as RunCommand,
    by: String(row.by_name),
    at: Number(row.at),
    ...(row.step === null ? {} : { step: String(row.step) }),
    ...(row.reason === null ? {} : { reason: String(row.reason) }),
  };
}

/** One lock, so that events are numbered in the order of their commits. */
const KILL_LOCK = 'kill switch';

/** The kill switch, the same in every database. `patient`: the same database, for the reading on which a write depends. */
export function killSwitchIn(database: SqlDatabase, patient = database): KillSwitch {
  return {
    async engage({ scope, by, reason, at }) {
      await database.transact(KILL_LOCK, () => ask(SHARED_SQL.addKillEvent, 'engage', scope, by, reason, at));
    },
    async engaged(account, wasBefore) {
      try {
        return findKillInForce((await patient.rows(SHARED_SQL.killEvents)).map(readKillEvent), account, wasBefore);
      } catch (error) {
        return buildUnreadableKill(account, error);
      }
    },
    async release(scope, by, at) {
      assertNamed(by);
      return database.transact(KILL_LOCK, function* () {
        const { rows } = yield* ask(SHARED_SQL.killEvents);
        yield* ask(SHARED_SQL.addKillEvent, 'release', scope, by, '', at);
        return isInForce(rows.map(readKillEvent), scope);
      });
    },
    async history(account) {
      return selectKills((await database.rows(SHARED_SQL.killEvents)).map(readKillEvent), account);
    },
  };
}

/** The mailbox, the same in every database: each of its acts is one statement. */
export function mailboxIn(database: Pick<SqlDatabase, 'rows' | 'change'>): Mailbox {
  return {
    async post({ run, command, by, at, step = null, reason = null }) {
      const [row] = await database.rows(SHARED_SQL.post, run, command, by, at, step, reason);
      return Number(row?.sequence);
    },
    async pending(run) {
      return (await database.rows(SHARED_SQL.pending, run)).map(readPostedMessage);
    },
    async acknowledge(run, sequence) {
      await database.change(SHARED_SQL.acknowledge, run, sequence);
    },
  };
}
