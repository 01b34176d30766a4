/**
 * Keeps the heartbeats, and the readings of the switch, that were written in full last: the later ones are compared with them. What
 * arms the switch is never among them, and its attempt is on the disk before it is sent: so the journal says that the switch may be
 * armed, and for how long, before a heartbeat is held back.
 */
import type { JsonObject } from '../entry.ts';
import type { StoredEntry } from '../store.ts';
import { type Draft, parseHeartbeat, RoundShape } from './round-shape.ts';

/** How many entries a heartbeat has: intent, attempt, answer and the renewal; a reading has no renewal. */
const LENGTHS: Readonly<Record<string, number>> = { 'POST /cancel_all_after': 4, 'GET /cancel_all_after': 3 };

export class HeartbeatShapes {
  private readonly shapes = new Map<string, RoundShape>();
  private learning: { readonly endpoint: string; readonly call: string; readonly stored: StoredEntry[] } | undefined;

  /** With what a heartbeat that begins with this entry is compared. */
  find({ data }: Draft): { readonly shape: RoundShape; readonly call: string; readonly number: number } | undefined {
    const { call, endpoint } = data as { readonly call: string; readonly endpoint: string };
    const shape = this.shapes.get(endpoint);
    const number = parseHeartbeat(call);
    return shape === undefined || number === undefined ? undefined : { shape, call, number };
  }

  /** Takes in an entry of a heartbeat that was written in full. */
  learn({ type, data }: Draft, stored: StoredEntry): void {
    const { call, endpoint } = data as { readonly call?: string; readonly endpoint?: string };
    if (type === 'call.intended' && call !== undefined && endpoint !== undefined)
      this.learning = { endpoint, call, stored: [] };
    const { learning } = this;
    if (learning === undefined) return;
    const expected = ['call.intended', 'call.attempted', 'call.settled', 'deadman.moved'][learning.stored.length];
    if (type !== expected || (call ?? learning.call) !== learning.call) {
      this.learning = undefined;
      return;
    }
    learning.stored.push(stored);
    if (learning.stored.length !== LENGTHS[learning.endpoint]) return;
    const read = (place: number) =>
      JSON.parse((learning.stored[place] as StoredEntry).line) as Draft & { data: JsonObject };
    const number = parseHeartbeat(learning.call) ?? 0;
    this.shapes.set(learning.endpoint, RoundShape.ofHeartbeat(number, learning.stored.length, read));
    this.learning = undefined;
  }
}
