/**
 * The six questions of a reviewer who has never seen the runbook, each with its answer and what it rests on: the head of the
 * self-contained report, and what `audit summary` prints. The same folds as the review page's; without its clock, so what a
 * run left behind is told as it was at its last entry.
 */
import { EVERY_ACCOUNT, type KillEvent } from '../journal/shared.ts';
import type { OrderLife } from './page/order-lives.ts';
import type { RunPageDocument } from './page/run-page.ts';
import type { RunVerdict } from './verify.ts';
import { isoText, pairs, shown, spanText } from './wording.ts';

export type Tone = 'good' | 'doubt' | 'bad' | 'muted';

export interface Answer {
  readonly question: string;
  readonly tone: Tone;
  readonly said: string;
  readonly because: readonly Reason[];
}
/** `word` stands out, `rest` follows. */
export type Reason = string | { readonly mark: Tone; readonly word: string; readonly rest: string };

const TRIGGERS: ReadonlyMap<string, string> = new Map([
  ['manual', 'by hand'],
  ['schedule', 'by its schedule'],
  ['test', 'by a test'],
]);

/** Never a colour alone. */
export const MARKS: Readonly<Record<Tone, string>> = { good: '✓ ', doubt: '! ', bad: '✕ ', muted: '' };

/** What was done to the kill switch of the run's account while it ran. */
export type KillsMeanwhile = readonly KillEvent[] | 'not read';

export function reviewerAnswers(
  run: RunPageDocument,
  verdict: RunVerdict | undefined,
  kills: KillsMeanwhile = [],
): readonly Answer[] {
  return [who(run), allowed(run, kills), orders(run), tokens(run), deadman(run), missing(run, verdict)];
}

/** Answers that counted, and whatever else was done to the run. */
function deedsOf({ people }: RunPageDocument): readonly string[] {
  return people.flatMap(({ command, by, answered }) => {
    if (answered !== undefined) return [`${shown(command)} of ${shown(answered)} by ${shown(by)}`];
    return command === 'approve' || command === 'reject' ? [] : [`${shown(command)} by ${shown(by)}`];
  });
}

function takeoverReason({ at, hadHalted, pid, away }: RunPageDocument['takeovers'][number]): Reason {
  const who = pid === undefined ? '' : ` by process ${pid}`;
  const nobody =
    away === undefined
      ? ''
      : `, nobody was there for ${spanText(away.ms)}${away.by === 'wall' ? ' by the clock on the wall, which proves nothing' : ''}`;
  return hadHalted
    ? { mark: 'muted', word: 'asked once more after it halted', rest: `${who}, ${isoText(at)}` }
    : { mark: 'doubt', word: 'its process died', rest: `${nobody}; taken up again${who}, ${isoText(at)}` };
}

function who(run: RunPageDocument): Answer {
  const { by, trigger, startedAt, endedAt, lastAt, account, occurrence, takeovers } = run;
  const how = TRIGGERS.get(trigger) ?? shown(trigger);
  const length = spanText((endedAt ?? lastAt) - startedAt);
  return {
    question: 'Who started it?',
    tone: 'muted',
    said: by === undefined ? how : `${shown(by)}, ${how}`,
    because: [
      `${isoText(startedAt)}, ${endedAt === undefined ? `${length} so far` : `took ${length}`}`,
      `account ${shown(account)}`,
      ...(occurrence === undefined ? [] : [`slot ${shown(occurrence.slot)}, due ${isoText(occurrence.nominal)}`]),
      ...deedsOf(run).slice(0, 3),
      ...takeovers.slice(0, 3).map(takeoverReason),
    ],
  };
}

function allowed(
  { mode, orders: lives, allowed: { checked, denied, denials, profile } }: RunPageDocument,
  kills: KillsMeanwhile,
): Answer {
  const known = kills === 'not read' ? [] : kills;
  const wasKilled = known.some(({ action }) => action === 'engage');
  const said =
    denied > 0
      ? `${counted(denied, 'call')} refused before anything was sent`
      : checked.length === 0
        ? unlimited(lives.length > 0, Object.keys(profile).length > 0)
        : `within ${counted(checked.length, 'limit')}, nothing refused`;
  return {
    question: 'What was it allowed to do?',
    tone: denied > 0 || wasKilled ? 'doubt' : 'good',
    said: wasKilled ? `${said}; the kill switch was engaged` : said,
    because: [
      ...known.map(killReason),
      ...(kills === 'not read' && mode === 'live' ? ['what was done to the kill switch was not looked at'] : []),
      ...checked.map(({ limit, most, percent, allowed: bound }) =>
        most === undefined
          ? `${shown(limit)} ${shown(bound)}`
          : `${shown(limit)} ${shown(most)} ${percent === undefined ? 'in' : 'of'} ${shown(bound)}`,
      ),
      ...(Object.keys(profile).length === 0 ? [] : [`limits of the account: ${pairs(profile)}`]),
      ...denials
        .slice(0, 2)
        .map(({ code, message }) => shown(message.startsWith(`${code}: `) ? message : `${code}: ${message}`)),
    ],
  };
}

/** Nothing was measured against a limit: because nothing was sent that one concerns, or because there was none. */
function unlimited(placed: boolean, limited: boolean): string {
  if (!placed) return 'no write that limits concern';
  return limited ? 'no limit that was set concerns what it sent' : 'no limits were set; it sent orders all the same';
}

function killReason({ action, scope, by, reason, at }: KillEvent): Reason {
  const whom = scope === EVERY_ACCOUNT ? ', for every account' : '';
  const why = reason === '' ? '' : `: ${shown(reason)}`;
  const rest = ` by ${shown(by)}, ${isoText(at)}${whom}${why}`;
  return action === 'engage'
    ? { mark: 'doubt', word: 'kill switch engaged', rest }
    : { mark: 'good', word: 'kill switch released', rest };
}

function orders({ orders: lives, fills: { totals, net }, unaccounted }: RunPageDocument): Answer {
  const states = new Map<string, number>();
  for (const { state } of lives) states.set(state, (states.get(state) ?? 0) + 1);
  const isOdd = ({ state, alarms }: OrderLife) => state === 'rejected' || state === 'absent' || alarms.length > 0;
  return {
    question: 'What became of its orders?',
    tone:
      unaccounted.unclearOrders.length > 0
        ? 'bad'
        : lives.some(isOdd)
          ? 'doubt'
          : lives.length === 0
            ? 'muted'
            : 'good',
    said:
      lives.length === 0
        ? 'it placed none'
        : `${counted(lives.length, 'order')}: ${[...states].map(([state, count]) => `${count} ${state}`).join(', ')}`,
    because: [
      ...totals.map(
        ({ side, size, market, averagePrice, fee }) =>
          `${side === 'long' ? 'bought' : 'sold'} ${size} ${shown(market)} at ${averagePrice}, fee ${fee}`,
      ),
      ...Object.entries(net).map(([market, size]) => `net ${size} ${shown(market)}`),
    ],
  };
}

function tokens({ tokens: { used, requests, peak, limit, windowMs, limited, refused } }: RunPageDocument): Answer {
  return {
    question: 'How many tokens?',
    tone: limited > 0 || refused > 0 ? 'doubt' : 'good',
    said: `${used} in ${counted(requests, 'request')}`,
    because: [
      `at most ${peak}${limit === undefined ? '' : ` of ${limit}`} in ${spanText(windowMs)}`,
      ...(limited > 0 ? [`the rate limit was hit ${limited} times`] : []),
      ...(refused > 0 ? [`${counted(refused, 'call')} not sent: too late`] : []),
    ],
  };
}

function deadman({ deadman: { state, longest, risks, fired, firesAt, renewals }, outcome }: RunPageDocument): Answer {
  const question = 'Was the deadman switch ever at risk?';
  if (state === 'never')
    return {
      question,
      tone: 'muted',
      said: 'it was never armed',
      because: ['had the process died, open orders would have stayed'],
    };
  const mayHaveFired = longest !== undefined && longest.ms >= longest.timeoutMs;
  const isLeft = state === 'armed' && firesAt !== undefined;
  return {
    question,
    tone: fired.length > 0 || mayHaveFired ? 'bad' : risks > 0 || (isLeft && outcome === undefined) ? 'doubt' : 'good',
    said:
      fired.length > 0
        ? `it must have fired: ${counted(fired.length, 'time')}`
        : mayHaveFired
          ? `it may have fired: ${spanText(longest.ms)} of silence`
          : risks > 0
            ? `${counted(risks, 'silence')} of more than half its time-out`
            : isLeft && outcome === undefined
              ? 'not so far; it was armed when the journal ends'
              : 'never at risk',
    because: [
      ...(longest === undefined
        ? []
        : [
            `longest silence ${spanText(longest.ms)} of ${spanText(longest.timeoutMs)}, renewed ${counted(renewals, 'time')}`,
          ]),
      isLeft
        ? `armed: fires at ${isoText(firesAt)} unless renewed`
        : `at the end ${state === 'assumed_fired' ? 'fired' : state}`,
    ],
  };
}

function missing({ unaccounted, outcome, seq }: RunPageDocument, verdict: RunVerdict | undefined): Answer {
  const { unanswered, unclearOrders, leftOpen, alarmCount } = unaccounted;
  const isBroken = verdict?.ok === false;
  const odd = [
    ...(outcome === undefined ? ['its end'] : []),
    ...(outcome === 'halted' ? ['a person has to look at it'] : []),
    ...(unanswered.length > 0 ? [counted(unanswered.length, 'answer')] : []),
    ...(alarmCount > 0 ? [counted(alarmCount, 'alarm')] : []),
  ];
  const sure =
    verdict === undefined ? 'not verified' : verdict.unanchored === true ? 'its anchors are not there' : 'nothing';
  return {
    question: 'Is anything missing?',
    tone:
      isBroken || unclearOrders.length > 0
        ? 'bad'
        : odd.length > 0 || verdict === undefined || verdict.unanchored === true
          ? 'doubt'
          : 'good',
    said: isBroken
      ? 'the journal is not whole'
      : unclearOrders.length > 0
        ? `${counted(unclearOrders.length, 'order')} of which nobody knows`
        : odd.length > 0
          ? odd.join(', ')
          : sure,
    because: [
      journalText(verdict, seq),
      ...unanswered.slice(0, 3).map(({ title }) => `no answer to ${shown(title)}`),
      ...unclearOrders.slice(0, 3).map((order) => `not known: ${shown(order)}`),
      ...(leftOpen.length > 0 ? [`still working at its last look: ${shown(leftOpen.slice(0, 3).join(', '))}`] : []),
    ],
  };
}

function journalText(verdict: RunVerdict | undefined, count: number): Reason {
  if (verdict === undefined) return `${count} entries, not verified`;
  if (verdict.ok && verdict.unanchored === true)
    return {
      mark: 'doubt',
      word: 'verified by itself alone',
      rest: `: ${verdict.entries} entries, no anchor speaks for them`,
    };
  if (verdict.ok)
    return { mark: 'good', word: 'verified', rest: `: ${verdict.entries} entries, ${verdict.anchors} anchors` };
  return { mark: 'bad', word: 'not as it was written', rest: `: ${shown(verdict.problem?.detail ?? 'unknown')}` };
}

function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
