/**
 * Sends messages to the channels that a profile names, webhooks and the program's log, and reports whether they arrived. The run
 * goes on meanwhile; only its end waits, so that its journal has what became of each message.
 */
import type { Clock } from '../../base/clock.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Notifier } from '../../engine/ports.ts';
import { postNotice } from '../../gateway/live/webhook.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';

/** Target of the program's own alarms, where the profile names it. */
export const OPERATORS = 'ops';

type Channels = Pick<Account, 'profile' | 'secrets'>;
interface Notice {
  readonly to: string;
  readonly text: string;
}

/** Sends a message. Resolves to the reason why it was not delivered, or undefined; never rejects. */
export async function deliverNotice(
  { profile, secrets }: Channels,
  notice: Notice,
  voice: Voice,
): Promise<string | undefined> {
  const { to } = notice;
  const target = Object.hasOwn(profile.notify, to) ? profile.notify[to] : undefined;
  const channel = makePrintable(to, 60);
  const shown = makePrintable(notice.text, 1000);
  if (target === undefined) {
    voice.note(`notice to ${channel}, which the profile does not name: ${shown}`);
    return 'the profile names no such channel';
  }
  if ('log' in target) {
    voice.note(`notice to ${channel}: ${shown}`);
    return undefined;
  }
  const webhook = secrets.webhooks[to];
  const problem = webhook === undefined ? 'its address is not known' : await postNotice(webhook, notice);
  if (problem !== undefined) voice.complain(`the notice to ${channel} was not delivered: ${problem}`);
  return problem;
}

/** Sends the messages of a run; `journal` gets what became of each, in a turn of its own. */
export class RunNotifier implements Notifier {
  private readonly channels: Channels & { readonly clock: Pick<Clock, 'arrive'> };
  private readonly voice: Voice;
  private readonly journal: (delivery: DataOf<'notification.settled'>, step: string) => void;
  private readonly underWay = new Set<Promise<void>>();

  constructor(
    channels: Channels & { readonly clock: Pick<Clock, 'arrive'> },
    voice: Voice,
    journal: (delivery: DataOf<'notification.settled'>, step: string) => void,
  ) {
    this.channels = channels;
    this.voice = voice;
    this.journal = journal;
  }

  send(to: string, text: string, step: string): void {
    const delivery = this.deliver({ to, text }, step).finally(() => this.underWay.delete(delivery));
    this.underWay.add(delivery);
  }

  settled(): Promise<void> | undefined {
    return this.underWay.size === 0 ? undefined : Promise.all(this.underWay).then(() => {});
  }

  private async deliver(notice: Notice, step: string): Promise<void> {
    const problem = await deliverNotice(this.channels, notice, this.voice);
    const outcome = problem === undefined ? { delivered: true } : { delivered: false, because: problem };
    await new Promise<void>((resolve) =>
      this.channels.clock.arrive(() => {
        this.journal({ to: notice.to, ...outcome }, step);
        resolve();
      }),
    );
  }
}

/** Reports what a run cannot settle by itself, on the terminal, and to `ops` where the profile names it. */
export function reportAlarm(
  { account, voice }: { readonly account: Channels; readonly voice: Voice },
  text: string,
): void {
  voice.complain(text);
  if (Object.hasOwn(account.profile.notify, OPERATORS)) void deliverNotice(account, { to: OPERATORS, text }, voice);
}
