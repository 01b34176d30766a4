/**
 * Sends messages to the channels that a profile names, webhooks and the program's log, and reports whether they arrived. The run
 * goes on meanwhile; only its end waits, so that its journal has what became of each message.
 */
import { makePrintable } from '../../base/printable.ts';
import type { Notifier } from '../../engine/ports.ts';
import { buildNoticeBody, type Notice } from '../../gateway/live/notice-body.ts';
import { type Post, postNotice } from '../../gateway/live/webhook.ts';
import type { DataOf } from '../../journal/entry.ts';
import type { NoticeSeverity } from '../../venue/profile/setting-form.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';
import { noteAct } from './acts.ts';

/** Target of the program's own alarms, where the profile names it. */
const OPERATORS = 'ops';

type Channels = Pick<Account, 'profile' | 'secrets' | 'clock'>;
type Alarmed = Channels & Pick<Account, 'openAccountJournal' | 'key'>;
/** What a message is about, beside the account. */
export type Subject = Pick<Notice, 'run' | 'runbook' | 'step'>;
type Message = Pick<Notice, 'to' | 'text' | 'severity'> & Subject;

/** Sends a message. Resolves to the reason why it was not delivered, or undefined; never rejects. */
export async function deliverNotice(
  { profile, secrets, clock }: Channels,
  message: Message,
  voice: Pick<Voice, 'note' | 'complain'>,
  post?: Post,
): Promise<string | undefined> {
  const { to, run } = message;
  const target = Object.hasOwn(profile.notify, to) ? profile.notify[to] : undefined;
  const channel = makePrintable(to, 60);
  const shown = makePrintable(message.text, 1000);
  if (target === undefined) {
    voice.note(`notice to ${channel}, which the profile does not name: ${shown}`);
    return 'the profile names no such channel';
  }
  if ('log' in target) {
    voice.note(`notice to ${channel}: ${shown}`);
    return undefined;
  }
  const { reviewPage } = profile;
  const link =
    reviewPage === undefined || run === undefined
      ? undefined
      : `${reviewPage.replace(/\/$/, '')}/run?${new URLSearchParams({ id: run })}`;
  const notice = { ...message, account: profile.account, at: clock.now(), link };
  const webhook = secrets.webhooks[to];
  const problem =
    webhook === undefined
      ? 'its address is not known'
      : await postNotice(webhook, buildNoticeBody(notice, target.shape, target.chat), clock, post);
  if (problem !== undefined) voice.complain(`the notice to ${channel} was not delivered: ${problem}`);
  return problem;
}

/** Sends the messages of a run; `journal` gets what became of each, in a turn of its own. */
export class RunNotifier implements Notifier {
  private readonly channels: Channels;
  private readonly about: Subject;
  private readonly voice: Voice;
  private readonly journal: (delivery: DataOf<'notification.settled'>, step: string) => void;
  private readonly underWay = new Set<Promise<void>>();

  constructor(
    channels: Channels,
    about: Subject,
    voice: Voice,
    journal: (delivery: DataOf<'notification.settled'>, step: string) => void,
  ) {
    this.channels = channels;
    this.about = about;
    this.voice = voice;
    this.journal = journal;
  }

  send(to: string, text: string, step: string, severity: NoticeSeverity): void {
    const delivery = this.deliver({ ...this.about, to, text, step, severity }, step).finally(() =>
      this.underWay.delete(delivery),
    );
    this.underWay.add(delivery);
  }

  settled(): Promise<void> | undefined {
    return this.underWay.size === 0 ? undefined : Promise.all(this.underWay).then(() => {});
  }

  private async deliver(notice: Message, step: string): Promise<void> {
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
  { account, voice }: { readonly account: Alarmed; readonly voice: Voice },
  text: string,
  about: Subject,
): void {
  voice.complain(text);
  void sendAlarm(account, { ...about, severity: 'error', text }, voice);
}

/**
 * Sends an alarm to `ops`; the account's journal gets one that did not arrive. Resolves to whether it arrived, or undefined where the
 * profile does not name `ops`; never rejects.
 */
export async function sendAlarm(
  account: Alarmed,
  alarm: Omit<Message, 'to'>,
  voice: Pick<Voice, 'note' | 'complain'>,
  post?: Post,
): Promise<boolean | undefined> {
  if (!Object.hasOwn(account.profile.notify, OPERATORS)) return undefined;
  const because = await deliverNotice(account, { ...alarm, to: OPERATORS }, voice, post);
  if (because === undefined) return true;
  const { run, text } = alarm;
  const data = { ...(run === undefined ? {} : { run }), to: OPERATORS, text: makePrintable(text, 1000), because };
  await noteAct(account, { type: 'alarm.undelivered', by: 'notifier', at: account.clock.now(), data }, voice);
  return false;
}
