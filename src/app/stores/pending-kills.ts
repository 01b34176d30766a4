/**
 * Keeps a kill in a file of the state folder before any store has it, and delivers it to the stores that could not be reached when it
 * was given: runs that a person has killed must not trade on once their database is back.
 */
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import type { KillOrder, KillSwitch } from '../../journal/shared/shared.ts';
import { findKillInForce } from '../../journal/shared/shared.ts';
import { StoreError } from '../../journal/store.ts';
import type { StateFolder } from '../state.ts';
import { formatPlace } from './known-stores.ts';
import type { StorePlace } from './location.ts';

const FILE = 'kills.jsonl';
/** A younger kill is under way: the process that gives it engages it in the stores by itself, ms. */
const UNDER_WAY_MS = 5_000;

/** A line: a kill with the stores that are to get it, or the note that one of them has it. */
interface Line {
  readonly kill: Pick<KillOrder, 'scope' | 'by' | 'reason' | 'at'>;
  readonly stores?: readonly string[];
  readonly delivered?: string;
}

/** Notes a kill before it is engaged in these stores. A folder that cannot be written keeps none: `kill` says what it could not reach. */
export function noteKill(state: StateFolder, kill: KillOrder, places: readonly StorePlace[]): void {
  append(state, { kill, stores: places.map(formatPlace) });
}

/** Notes that a store has the kill. */
export function noteDelivered(state: StateFolder, kill: KillOrder, place: StorePlace): void {
  append(state, { kill, delivered: formatPlace(place) });
}

/** Engages in a store what it has not got; returns what it still cannot take. */
export async function deliverKills(
  killSwitch: KillSwitch,
  state: StateFolder,
  place: StorePlace,
  nowMs: number,
): Promise<readonly KillOrder[]> {
  const left: KillOrder[] = [];
  for (const kill of listPending(readLines(state), formatPlace(place))) {
    const ageMs = nowMs - kill.at;
    // One of the future is of a clock that was ahead: it must not wait until then.
    if (ageMs >= 0 && ageMs < UNDER_WAY_MS) continue;
    try {
      await killSwitch.engage(kill);
      noteDelivered(state, kill, place);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      left.push(kill);
    }
  }
  return left;
}

/** A store's kill switch with what is still to be delivered to it: this counts before the store has it. */
export function withPendingKills(
  inner: KillSwitch,
  { state, place, now }: { readonly state: StateFolder; readonly place: StorePlace; readonly now: () => number },
): KillSwitch {
  let seen = '';
  let left: readonly KillOrder[] = [];
  return {
    ...inner,
    async engaged(account, wasBefore) {
      const stamp = stampFile(state);
      if (stamp !== seen || left.length > 0) {
        left = await deliverKills(inner, state, place, now());
        // Those under way are looked at again.
        const isSettled = listPending(readLines(state), formatPlace(place)).length === left.length;
        seen = isSettled ? stampFile(state) : '';
      }
      const pending = findKillInForce(
        left.map((kill) => ({ ...kill, action: 'engage' })),
        account,
      );
      return pending ?? inner.engaged(account, wasBefore);
    },
  };
}

function listPending(lines: readonly Line[], place: string): readonly KillOrder[] {
  const pending = new Map<string, KillOrder>();
  for (const { kill, stores, delivered } of lines) {
    const key = JSON.stringify([kill.scope, kill.by, kill.reason, kill.at]);
    if (stores?.includes(place)) pending.set(key, kill);
    if (delivered === place) pending.delete(key);
  }
  return [...pending.values()];
}

function locate({ path }: StateFolder): string {
  return `${path}/${FILE}`;
}

function readLines(state: StateFolder): readonly Line[] {
  try {
    return readFileSync(locate(state), 'utf8')
      .split('\n')
      .flatMap((line) => parseLine(line) ?? []);
  } catch {
    return [];
  }
}

/** Undefined for a line that a crash has cut short. */
function parseLine(line: string): Line | undefined {
  try {
    const { kill, stores, delivered } = JSON.parse(line) as Partial<Line>;
    if (typeof kill?.scope !== 'string' || typeof kill.by !== 'string' || typeof kill.at !== 'number') return undefined;
    const { scope, by, at } = kill;
    return {
      kill: { scope, by, reason: String(kill.reason), at },
      ...(Array.isArray(stores) ? { stores: stores.map(String) } : {}),
      ...(typeof delivered === 'string' ? { delivered } : {}),
    };
  } catch {
    return undefined;
  }
}

function stampFile(state: StateFolder): string {
  const found = statSync(locate(state), { throwIfNoEntry: false });
  return found === undefined ? 'none' : `${found.mtimeMs} ${found.size}`;
}

function append(state: StateFolder, line: Line): void {
  const { scope, by, reason, at } = line.kill;
  try {
    // Behind a line that a full disk cut off, the next one begins on its own.
    appendFileSync(state.file(FILE), `\n${JSON.stringify({ ...line, kill: { scope, by, reason, at } })}\n`, {
      mode: 0o600,
    });
  } catch {
    // A kill must not fail because of this.
  }
}
