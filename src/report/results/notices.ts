/** Folds the messages that a run sent to people, and whether each reached its channel. */
import type { Entry, RunMode } from '../../journal/entry.ts';
import { formatIsoTime } from '../format.ts';

export interface NoticeRow {
  readonly at: string;
  /** Name of the channel. */
  readonly to: string;
  readonly text: string;
  readonly delivered: boolean;
  /** Why it was not delivered. */
  readonly reason?: string;
}

export class NoticeFold {
  private mode: RunMode = 'live';
  private readonly sent: { readonly at: number; readonly step: string; readonly to: string; readonly text: string }[] =
    [];
  /** By step and channel. */
  private readonly settled = new Map<string, { readonly delivered: boolean; readonly because?: string }>();

  apply(entry: Entry): void {
    if (entry.type === 'run.started') this.mode = entry.data.mode;
    if (entry.type === 'notification.sent') this.sent.push({ at: entry.at, step: entry.step, ...entry.data });
    if (entry.type === 'notification.settled') this.settled.set(nameNotice(entry.step, entry.data.to), entry.data);
  }

  listRows(): readonly NoticeRow[] {
    return this.sent.map(({ at, step, to, text }) => {
      const { delivered = false, because } = this.settled.get(nameNotice(step, to)) ?? {
        because:
          this.mode === 'live'
            ? 'no answer of the channel is recorded'
            : `a ${this.mode === 'paper' ? 'paper run' : 'dry-run'} sends no messages`,
      };
      const reason = delivered ? undefined : because;
      return { at: formatIsoTime(at), to, text, delivered, ...(reason === undefined ? {} : { reason }) };
    });
  }
}

function nameNotice(step: string, to: string): string {
  return JSON.stringify([step, to]);
}
