/**
 * Holds a journal against the plan of its run: every request must be a row of the plan, with the parameters that the row knows,
 * and no bound may be exceeded. Believes no summary: it counts the entries.
 */
import { Decimal } from '../../src/base/decimal.ts';
import type { Entry, EntryOf } from '../../src/journal/entry.ts';
import type { Plan, PlannedRequest } from '../../src/runbook/plan/plan.ts';
import { KNOWN_AFTER_RUN } from '../../src/runbook/plan/unknown.ts';
import { MARKET_PRICE } from '../../src/venue/port.ts';

/** What a journal cannot tell of its entries. */
interface Told {
  /**
   * When one was written, epoch ms by the venue's clock: that of the run, which a resume continues, may have lost time with an
   * adjusted wall clock.
   */
  readonly timeOf?: (entry: Entry) => number;
  /** Whether no byte of an attempt left: its process may have died before it wrote that down. */
  readonly wasUnsent?: (attempt: Entry) => boolean;
}

interface Sent {
  readonly endpoint: string;
  readonly step: string;
  readonly params: Readonly<Record<string, string>>;
  readonly intent:
    | {
        readonly type: string;
        readonly market: string;
        readonly side: string;
        readonly size: string;
        readonly price?: string;
        readonly trigger?: string;
      }
    | undefined;
  readonly id: string | undefined;
  /** Proven to reduce what the account holds: it passes the caps, and opens nothing. */
  reduces: boolean;
  attempts: number;
  refused: boolean;
}

/** What a run has spent, by its journal. */
export interface Spent {
  readonly requests: Readonly<Record<string, number>>;
  /** Readings by feed. */
  readonly feeds: Readonly<Record<string, number>>;
  readonly orders: number;
  readonly notional: Decimal;
  readonly exposure: Readonly<Record<string, Decimal>>;
  readonly tokensPerMinute: number;
  readonly durationMs: number;
}

function readSent(entries: readonly Entry[]): readonly Sent[] {
  const calls = new Map<string, Sent>();
  const spent = new Set<Entry>(listSpent(entries));
  for (const entry of entries) {
    if (entry.type === 'call.intended') {
      const { call, endpoint, params, intent, clientOrderId } = entry.data;
      const texts = Object.entries(params).flatMap(([name, value]) =>
        value === undefined || value === null ? [] : [[name, String(value)]],
      );
      calls.set(call, {
        endpoint,
        step: entry.step ?? '',
        params: Object.fromEntries(texts),
        intent: intent as Sent['intent'],
        id: clientOrderId,
        reduces: (intent as { readonly allow?: string } | undefined)?.allow === 'reduce',
        attempts: 0,
        refused: false,
      });
    }
    if (entry.type === 'call.attempted' && spent.has(entry)) {
      const sent = calls.get(entry.data.call);
      if (sent !== undefined) sent.attempts += 1;
    }
    if (entry.type === 'call.checked' && entry.data.limits['allow'] === 'reduce not proven') {
      const sent = calls.get(entry.data.call);
      if (sent !== undefined) sent.reduces = false;
    }
    if (entry.type === 'call.settled') {
      const sent = calls.get(entry.data.call);
      // What was refused for certain is not at the venue.
      if (sent !== undefined) sent.refused = entry.data.kind === 'rejected' || entry.data.kind === 'denied';
    }
    // Acknowledged and rejected afterwards, or proven not to be there: it opened nothing, and the limit of the run does not count it.
    if (entry.type === 'order.moved' && new Decimal(entry.data.filled).isZero()) {
      const { clientOrderId, from, to } = entry.data;
      const isGone = to === 'rejected' || to === 'absent';
      if (isGone || from === 'rejected' || from === 'absent')
        for (const sent of calls.values()) if (sent.id === clientOrderId) sent.refused = isGone;
    }
  }
  return [...calls.values()].filter(({ attempts }) => attempts > 0);
}

export function countSpent(entries: readonly Entry[], told: Told = {}): Spent {
  const sent = readSent(entries);
  const requests: Record<string, number> = {};
  for (const { endpoint, attempts } of sent) requests[endpoint] = (requests[endpoint] ?? 0) + attempts;
  const feeds: Record<string, number> = {};
  for (const entry of entries) {
    // What the limits read for themselves depends on how old the last reading is, and what judges the end reads is no step's request.
    if (entry.type === 'feed.read' && entry.data.by !== 'limits' && entry.data.name !== MARKET_PRICE)
      feeds[entry.data.name] = (feeds[entry.data.name] ?? 0) + 1;
    // The session renews itself beside the calls of the run.
    if (entry.type === 'session.moved' && entry.data.request !== undefined)
      requests['POST /jwt'] = (requests['POST /jwt'] ?? 0) + 1;
  }
  const orders = new Map<string, Sent>();
  for (const each of sent)
    if (each.endpoint === 'POST /orders' && each.id !== undefined && !each.refused) orders.set(each.id, each);
  let notional = new Decimal(0);
  const sides: Record<string, Decimal> = {};
  for (const { intent, reduces } of orders.values()) {
    if (intent === undefined || intent.type === 'stop_loss' || intent.type === 'take_profit') continue;
    const worth = new Decimal(intent.size).times(intent.price ?? intent.trigger ?? 0);
    notional = notional.plus(worth);
    if (reduces) continue;
    const key = `${intent.side} ${intent.market}`;
    sides[key] = (sides[key] ?? new Decimal(0)).plus(worth);
  }
  const exposure: Record<string, Decimal> = {};
  for (const [key, worth] of Object.entries(sides)) {
    const market = key.slice(key.indexOf(' ') + 1);
    exposure[market] = Decimal.max(exposure[market] ?? 0, worth);
  }
  const last = entries.at(-1)?.at ?? 0;
  return {
    requests,
    feeds,
    orders: orders.size,
    notional,
    exposure,
    tokensPerMinute: countTokens(entries, told),
    // Without the readings with which a live run begins.
    durationMs: last - (entries.find(({ type }) => type === 'step.started')?.at ?? last),
  };
}

/** Attempts of which a byte left: of one that the last checks stopped, or that had no connection, the ledger has the tokens back. */
function listSpent(entries: readonly Entry[]): readonly EntryOf<'call.attempted'>[] {
  const spent = new Set<EntryOf<'call.attempted'>>();
  const open = new Map<string, EntryOf<'call.attempted'>>();
  for (const entry of entries) {
    if (entry.type === 'call.attempted') {
      spent.add(entry);
      open.set(entry.data.call, entry);
    } else if (entry.type === 'call.answered') open.delete(entry.data.call);
    else if (entry.type === 'call.settled') {
      const { call, kind, failure } = entry.data;
      const attempt = open.get(call);
      const isUnsent = kind === 'denied' || (kind === 'rejected' && failure === 'transport');
      // The attempt of a process that died may have left.
      if (isUnsent && attempt !== undefined && attempt.epoch === entry.epoch) spent.delete(attempt);
    }
  }
  return [...spent];
}

/** Tokens of the minute with the most. */
function countTokens(entries: readonly Entry[], { timeOf = ({ at }) => at, wasUnsent = () => false }: Told): number {
  const spent = listSpent(entries)
    .filter((entry) => !wasUnsent(entry))
    .map((entry) => ({ at: timeOf(entry), tokens: Number(entry.data.tokens ?? 0) }));
  let most = 0;
  let inside = 0;
  let from = 0;
  for (const { at, tokens } of spent) {
    inside += tokens;
    while ((spent[from]?.at ?? at) <= at - 60_000) {
      inside -= spent[from]?.tokens ?? 0;
      from += 1;
    }
    most = Math.max(most, inside);
  }
  return most;
}

/** A sentence for each bound that a run has exceeded. */
export function findExceeded({ bounds }: Plan, entries: readonly Entry[], told?: Told): readonly string[] {
  const spent = countSpent(entries, told);
  const starts = 1 + entries.filter(({ type }) => type === 'run.resumed').length;
  const found: string[] = [];
  const hold = (what: string, value: Decimal | number, max: string | number | undefined) => {
    if (max !== undefined && new Decimal(value).gt(max)) found.push(`${what}: ${value} of at most ${max}`);
  };
  for (const [endpoint, count] of Object.entries(spent.requests)) {
    const bound = bounds.requests[endpoint as keyof typeof bounds.requests];
    if (bound === undefined) found.push(`${endpoint}: ${count} and none planned`);
    else hold(endpoint, count, bound.max === undefined ? undefined : bound.max * starts);
  }
  for (const [name, count] of Object.entries(spent.feeds)) {
    const bound = bounds.feeds[name];
    if (bound === undefined) found.push(`feed ${name}: ${count} and none planned`);
    else hold(`feed ${name}`, count, bound.max === undefined ? undefined : bound.max * starts);
  }
  hold('orders', spent.orders, bounds.orders.max);
  hold('notional', spent.notional, bounds.notional.max);
  for (const [market, worth] of Object.entries(spent.exposure)) {
    const bound = bounds.exposure[market] ?? bounds.exposure[''];
    if (bound === undefined) found.push(`exposure ${market}: ${worth} and none planned`);
    else hold(`exposure ${market}`, worth, bound.max);
  }
  hold('tokens a minute', spent.tokensPerMinute, bounds.tokensPerMinute.max);
  hold('duration', spent.durationMs, bounds.duration.max);
  return found;
}

/** A sentence for each request that is no row of the plan, or has other parameters than its row knows. */
export function findUnplanned(plan: Plan, entries: readonly Entry[]): readonly string[] {
  const rows = [...plan.rows, ...plan.sections.flatMap((section) => section.rows)].filter(
    (row): row is PlannedRequest => row.kind === 'request',
  );
  return readSent(entries).flatMap(({ endpoint, step, params }) => {
    if (endpoint.startsWith('request ')) return [];
    const place = step.replaceAll(/\[\d+\]|~\d+/g, '');
    const ofEndpoint = rows.filter((row) => `${row.method} ${row.path}` === endpoint);
    // The watch reads for whichever steps wait; the heartbeat and the end of a run act for no step.
    const ofStep = ofEndpoint.filter((row) => row.step === place);
    // What a clause leaves incomplete, its step goes on reading.
    const ofClauses = ofEndpoint.filter(({ step: of }) =>
      /^\/(?:catch\/\d+|on_timeout)\//.test(of.startsWith(place) ? of.slice(place.length) : ''),
    );
    const candidates =
      place.startsWith('steps/') || place.startsWith('finally/') || place.startsWith('on_error/') ? ofStep : ofEndpoint;
    const all = candidates.length === 0 ? ofEndpoint : candidates;
    if ([...all, ...ofClauses].some((row) => matches(row.params, params))) return [];
    return [
      `${step} ${endpoint} ${JSON.stringify(params)}${
        all.length === 0
          ? ': no row'
          : `: ${all
              .map((row) => JSON.stringify(row.params))
              .slice(0, 3)
              .join(' or ')}`
      }`,
    ];
  });
}

function matches(planned: Readonly<Record<string, string>>, sent: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(planned);
  // The row of a list is that of its first page; a full one is followed by others, where more than a thousand orders are in a market.
  const isFollowing = sent['p_page'] !== undefined && sent['p_page'] !== '0' && planned['p_page'] === undefined;
  // And in such a market those that are open are read in place of all of them.
  const isOpen = sent['status'] === 'open' && planned['status'] === undefined && planned['p_limit'] === '1000';
  return (
    names.length + Number(isFollowing) + Number(isOpen) === Object.keys(sent).length &&
    names.every(
      (name) => sent[name] !== undefined && (planned[name] === KNOWN_AFTER_RUN || planned[name] === sent[name]),
    )
  );
}
