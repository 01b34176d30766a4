/**
 * Delivers to a live run what people send it: reads its messages from the store, compares an approval with the people of the profile,
 * and marks as read what the journal has.
 */
import type { OperatorCommand } from '../../engine/ports.ts';
import type { Entry, EntryOf } from '../../journal/entry.ts';
import type { PostedMessage } from '../../journal/shared/shared.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { refuseApproval } from '../account/people.ts';
import type { LiveHost } from './live-assembly.ts';

interface RunMessagesParts {
  readonly host: LiveHost;
  readonly run: string;
  readonly profile: Profile;
  /** Writes a command and passes it to the run; false where the run has already ended. */
  deliver(command: OperatorCommand): Promise<boolean>;
  /** Resolves when everything written so far is on the disk. */
  flush(): Promise<void>;
}

export class RunMessages {
  /** Whether they were read since this process has the run: the first may be a cancel. */
  areRead = false;
  private readonly parts: RunMessagesParts;
  private startedBy: string | undefined;
  /** By path, whom an approve step asks. */
  private readonly asked = new Map<string, readonly string[]>();
  /** The last message that was delivered. */
  private readUpTo = 0;
  /** Answers of people from before this process resumed the run. */
  private answered: readonly EntryOf<'operator.acted'>[] = [];

  constructor(parts: RunMessagesParts) {
    this.parts = parts;
  }

  /** Keeps what an approval is compared with. */
  apply(entry: Entry): void {
    if (entry.type === 'run.started') this.startedBy = entry.data.by;
    if (entry.type === 'approval.asked') this.asked.set(entry.step, entry.data.by);
  }

  /** Keeps what people did before this process resumed the run. */
  recall(acts: readonly EntryOf<'operator.acted'>[]): void {
    this.answered = acts;
  }

  /** Delivers what is new. Rejects with a StoreError. */
  async read(): Promise<void> {
    const { host, run, flush } = this.parts;
    const { mailbox } = host.account.shared;
    const pending = await mailbox.pending(run);
    for (const message of pending)
      if (message.sequence > this.readUpTo && !(await this.deliverMessage(message))) return;
    this.areRead = true;
    const last = pending.at(-1);
    if (last === undefined) return;
    // Marked as read only when durable in the journal: reading it twice after a crash has no further effect.
    await flush();
    await mailbox.acknowledge(run, last.sequence);
  }

  /** Delivers a message to the run; false where the run has already ended and nothing was written. */
  private async deliverMessage(message: PostedMessage): Promise<boolean> {
    const { host, run, deliver } = this.parts;
    const { command, by, step, reason, sequence } = message;
    const refused = command === 'approve' ? await this.refuseApproval(message) : undefined;
    if (refused !== undefined) {
      host.voice.complain(`run ${run}: an approval does not count: ${refused}`);
      this.readUpTo = sequence;
      return true;
    }
    const answers = command === 'approve' || command === 'reject';
    // The previous process may have died between recording an answer and marking it as read: the next question is another one.
    const given = answers && this.answered.some((entry) => isSameAnswer(entry, message));
    if (!given) {
      const about = { ...(step === undefined ? {} : { step }), ...(reason === undefined ? {} : { reason }) };
      if (!(await deliver({ command, by, ...about }))) return false;
    }
    this.readUpTo = sequence;
    return true;
  }

  /** Why an approval does not count under the people of the profile. Rejects with a StoreError where that cannot be found out. */
  private async refuseApproval({ run, by, at, step = '' }: PostedMessage): Promise<string | undefined> {
    const { host, profile } = this.parts;
    const { people, fourEyes } = profile;
    if (Object.keys(people).length === 0 && !fourEyes) return undefined;
    const { openAccountJournal, key } = host.account;
    const journal = await openAccountJournal();
    const given = await journal.find(key, ['command.given']).finally(() => journal.close());
    const act = given.find(
      (each) => each.data.run === run && each.data.step === step && each.by === by && each.at === at,
    );
    const asked = this.asked.get(step) ?? [];
    return refuseApproval(profile, { by, asked, startedBy: this.startedBy, act, account: key });
  }
}

function isSameAnswer({ data, at }: EntryOf<'operator.acted'>, message: PostedMessage): boolean {
  const { command, by, step } = message;
  return data.command === command && data.by === by && data.step === step && at >= message.at;
}
