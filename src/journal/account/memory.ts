/** Keeps the journals of accounts in memory: for tests, and for actions that must work where no disk can be written. */
import type { PostedAct, StoredEntry } from '../store.ts';
import { type AccountJournal, type Act, type ActType, readAct, sealAct } from './acts.ts';

export class MemoryAccountJournal implements AccountJournal {
  private readonly stored = new Map<string, StoredEntry[]>();

  async append(account: string, act: PostedAct): Promise<void> {
    const acts = this.stored.get(account) ?? [];
    acts.push(sealAct(account, act, acts.at(-1), 'memory'));
    this.stored.set(account, acts);
  }

  async find<T extends ActType>(account: string, types: readonly T[]) {
    const acts = (this.stored.get(account) ?? []).map(readAct);
    return acts.filter((act): act is Extract<Act, { type: T }> => types.some((type) => type === act.type));
  }

  async lines(account: string): Promise<readonly StoredEntry[]> {
    return this.stored.get(account) ?? [];
  }

  async last(account: string, upTo = Number.POSITIVE_INFINITY): Promise<StoredEntry | undefined> {
    return this.stored.get(account)?.findLast(({ seq }) => seq <= upTo);
  }

  async accounts(): Promise<readonly string[]> {
    return [...this.stored.keys()].sort();
  }

  async close(): Promise<void> {}
}
