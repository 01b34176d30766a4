/** Answers what a run was allowed to do: the limits and how near it came, denied calls, and the kill switch during the run. */
import { formatCount } from '../../base/format.ts';
import type { JsonObject } from '../../journal/entry.ts';
import { EVERY_ACCOUNT, type KillEvent } from '../../journal/shared/shared.ts';
import type { Allowance } from '../folds/allowances.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { formatIsoTime, formatJson, formatQuoteCurrency, formatText } from '../format.ts';
import type { Answer, Reason } from './answer.ts';

export type KillsMeanwhile = readonly KillEvent[] | 'not read' | { readonly failed: string };

const MOST_DENIALS = 2;

export function answerAllowed(run: RunPageDocument, kills: KillsMeanwhile): Answer {
  const { denied, checked, denials, profile } = run.allowed;
  const limited = Object.keys(profile).length > 0;
  const nearestFirst = [...checked].sort((a, b) => (b.percent ?? -1) - (a.percent ?? -1));
  const said =
    denied > 0
      ? `${formatCount(denied, 'call')} denied, not sent`
      : checked.length === 0
        ? describeUnlimited(run.orders.length > 0, limited)
        : `Within ${formatCount(checked.length, 'limit')}, nothing denied`;
  const wasKilled = Array.isArray(kills) && kills.some(({ action }) => action === 'engage');
  const isUnlimited = checked.length === 0 && run.orders.length > 0;
  const isUnread = !Array.isArray(kills) && kills !== 'not read';
  return {
    subject: 'allowed',
    question: 'What was it allowed to do?',
    tone: denied > 0 || wasKilled || isUnlimited || isUnread ? 'doubt' : 'good',
    said: wasKilled ? `${said}; the kill switch was engaged` : said,
    because: [
      ...formatKillReasons(run, kills),
      ...denials.slice(0, MOST_DENIALS).map(
        ({ seq, code, message }): Reason => ({
          term: formatText(code),
          text: formatText(message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message),
          tone: 'doubt',
          entry: seq,
        }),
      ),
      ...nearestFirst.map((allowance) => formatLimitReason(allowance, run)),
      ...(limited ? [{ term: 'limits of the account', text: formatProfileLimits(profile) }] : []),
    ],
  };
}

/** No limit was checked: either no request was subject to one, or none was set. */
function describeUnlimited(placed: boolean, limited: boolean): string {
  if (!placed) return 'It sent nothing that limits apply to';
  return limited ? 'None of the limits set applies to what it sent' : 'It sent orders with no limits set';
}

function formatProfileLimits(profile: JsonObject): string {
  return formatText(
    Object.entries(profile)
      .map(([limit, bound]) => `${limit} ${Array.isArray(bound) ? bound.map(formatJson).join(' ') : formatJson(bound)}`)
      .join(', '),
  );
}

const MONEY_LIMITS: readonly string[] = [
  'max_order_notional',
  'max_run_notional',
  'max_market_notional',
  'max_exposure',
  'min_equity',
];

function formatLimitReason({ limit, allowed, most, percent, isMinimum, seq }: Allowance, run: RunPageDocument): Reason {
  const money = MONEY_LIMITS.includes(limit) ? findCurrency(run) : '';
  const bound = `${formatText(allowed)}${money}`;
  const text =
    most === undefined
      ? bound
      : isMinimum === true
        ? `${formatText(most)}, minimum ${bound}`
        : `${formatText(most)} ${percent === undefined ? 'in' : 'of'} ${bound}`;
  const tone = (percent ?? 0) > 100 ? 'bad' : (percent ?? 0) > 99 ? 'doubt' : 'good';
  return { term: formatText(limit), text, entry: seq, ...(percent === undefined ? {} : { share: { percent, tone } }) };
}

/** ` USD`, if all orders have one quote currency: a limit in money does not name its own. */
function findCurrency({ orders }: RunPageDocument): string {
  const [quote, ...others] = new Set(orders.map(({ market }) => formatQuoteCurrency(market)));
  return quote === undefined || others.length > 0 ? '' : quote;
}

function formatKillReasons({ mode }: RunPageDocument, kills: KillsMeanwhile): readonly Reason[] {
  if (kills === 'not read')
    return mode === 'live' ? [{ term: 'kill switch', text: 'not checked: an archive holds no record of it' }] : [];
  if ('failed' in kills)
    return [{ term: 'kill switch', text: `its record could not be read: ${formatText(kills.failed)}`, tone: 'doubt' }];
  return kills.map(({ action, scope, by, reason, at }) => {
    const accounts = scope === EVERY_ACCOUNT ? ', for every account' : '';
    const why = reason === '' ? '' : `: ${formatText(reason)}`;
    const text = `by ${formatText(by)}, ${formatIsoTime(at)}${accounts}${why}`;
    return action === 'engage'
      ? { term: 'kill switch engaged', text, tone: 'doubt' }
      : { term: 'kill switch released', text, tone: 'good' };
  });
}
