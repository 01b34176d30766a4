/**
 * Folds the questions of `approve` steps with their answers, and every command that reached the run. It shows which
 * questions are open; the engine decides whether an answer counts.
 */
import type { Entry } from '../../journal/entry.ts';
import { formatStepName } from '../format.ts';

export interface ApprovalRow {
  readonly seq: number;
  /** Path of the step. */
  readonly step: string;
  readonly label: string;
  readonly ask: string;
  /** Who is asked: roles or names of the profile's people, or labels where it has none. */
  readonly by: readonly string[];
  /** Epoch ms. */
  readonly askedAt: number;
  readonly until: number;
  readonly plan: string;
  readonly answer?: { readonly by: string; readonly command: string; readonly at: number; readonly reason?: string };
  /** The step waits for an answer. */
  readonly isOpen: boolean;
}

export interface PersonRow {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly by: string;
  readonly command: string;
  readonly step?: string;
  readonly reason?: string;
  /** The path of the step that asked; present if the answer counted. */
  readonly answered?: string;
}

export class ApprovalFold {
  private readonly rows: { -readonly [K in keyof ApprovalRow]: ApprovalRow[K] }[] = [];
  private readonly acts: PersonRow[] = [];
  private readonly ids = new Map<string, string>();
  private hasEnded = false;

  apply(entry: Entry): void {
    switch (entry.type) {
      case 'step.started':
        if (entry.data.verb === 'approve' && entry.data.id !== undefined) this.ids.set(entry.step, entry.data.id);
        return;
      case 'approval.asked': {
        const { ask, by, until, plan } = entry.data;
        const label = formatStepName(entry.step, this.ids.get(entry.step));
        this.rows.push({
          seq: entry.seq,
          step: entry.step,
          label,
          ask,
          by,
          askedAt: entry.at,
          until,
          plan,
          isOpen: true,
        });
        return;
      }
      case 'operator.acted':
        this.addAct(entry);
        return;
      case 'step.ended':
        for (const row of this.rows) if (row.step === entry.step) row.isOpen = false;
        return;
      case 'run.ended':
        this.hasEnded = true;
        return;
      case 'run.resumed':
        this.hasEnded = false;
        return;
      default:
        return;
    }
  }

  approvals(): readonly ApprovalRow[] {
    return this.rows.map((row) => ({ ...row, isOpen: row.isOpen && !this.hasEnded }));
  }

  /** The path of the step that an entry answered; undefined if it counted for none. */
  answeredBy(seq: number): string | undefined {
    return this.acts.findLast((act) => act.seq === seq)?.answered;
  }

  listPeople(): readonly PersonRow[] {
    return this.acts;
  }

  private addAct({ data, at, seq }: Extract<Entry, { type: 'operator.acted' }>): void {
    const { by, command, step, reason } = data;
    const isAnswer = command === 'approve' || command === 'reject';
    const asked = this.rows.findLast(
      (row) => isAnswer && row.isOpen && (step === undefined || row.step === step || this.ids.get(row.step) === step),
    );
    this.acts.push({
      seq,
      at,
      by,
      command,
      ...(step === undefined ? {} : { step }),
      ...(reason === undefined ? {} : { reason }),
      ...(asked === undefined ? {} : { answered: asked.step }),
    });
    if (asked === undefined) return;
    asked.answer = { by, command, at, ...(reason === undefined ? {} : { reason }) };
    asked.isOpen = false;
  }
}
