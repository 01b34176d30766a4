/** Keeps the acts of accounts in memory: for tests, and for actions that must work where no disk can be written. */
import { type AccountJournal, type Act, type NewAct, readActs, type StoredAct, sealAct } from './acts.ts';

export class MemoryAccountJournal implements AccountJournal {
  private readonly stored = new Map<string, StoredAct[]>();

  async append(account: string, act: NewAct): Promise<void> {
    const acts = this.stored.get(account) ?? [];
    acts.push(sealAct(account, act, acts.at(-1)));
    this.stored.set(account, acts);
  }

  async read(account: string): Promise<readonly Act[]> {
    return readActs(account, this.stored.get(account) ?? []);
  }

  async close(): Promise<void> {}
}
