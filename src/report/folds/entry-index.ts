/**
 * Indexes the entries of a run by kind, step and order, so that a page of any selection can be read without the other
 * entries. It keeps numbers, not entries: a run of a hundred thousand entries takes a few hundred kilobytes.
 */
import { formatCount, formatList, formatSpan } from '../../base/format.ts';
import { type Entry, type EntryType, readStepEnd, stripRounds } from '../../journal/entry.ts';
import { describeLeft } from '../../venue/position/residual.ts';
import { formatIsoTime, formatJson, formatPairs, formatText, summarizeResult } from '../format.ts';

/** The groups a reader filters by. */
export const ENTRY_GROUPS = {
  run: ['run.started', 'run.moved', 'run.ended', 'run.resumed'],
  steps: [
    'step.started',
    'step.decided',
    'step.ended',
    'step.retried',
    'variable.set',
    'notification.sent',
    'notification.settled',
    'round.idle',
  ],
  requests: ['call.intended', 'call.checked', 'call.waiting', 'call.attempted', 'call.answered', 'call.settled'],
  feeds: ['feed.read'],
  orders: [
    'order.concluded',
    'order.moved',
    'order.alarmed',
    'account.reconciled',
    'account.swept',
    'account.late_orders',
  ],
  deadman: ['deadman.moved'],
  people: ['approval.asked', 'operator.acted'],
} as const satisfies Record<string, readonly EntryType[]>;
export type EntryGroup = keyof typeof ENTRY_GROUPS;

const GROUP_NAMES = Object.keys(ENTRY_GROUPS) as readonly EntryGroup[];
const GROUP_OF: ReadonlyMap<string, number> = new Map(
  GROUP_NAMES.flatMap((group, index) => ENTRY_GROUPS[group].map((type): [string, number] => [type, index])),
);

export interface EntrySelection {
  readonly groups?: ReadonlySet<EntryGroup>;
  /** A lane: the step and the steps inside it. */
  readonly step?: string;
  /** A client order id. */
  readonly order?: string;
}

/** An entry as one line of the raw table. */
interface EntryRow {
  readonly seq: number;
  /** Epoch ms. */
  readonly at: number;
  readonly type: string;
  readonly step: string;
  readonly actor: string;
  readonly text: string;
}

export class EntryIndex {
  /** The number of the last entry. */
  newest = 0;
  private readonly group: number[] = [];
  private readonly step: number[] = [];
  private readonly order: number[] = [];
  private readonly steps = new Names();
  private readonly orders = new Names();
  /** The number of the order, by call. */
  private readonly calls = new Map<string, number>();

  apply(entry: Entry): void {
    // Rounds that changed nothing are one entry, which its first step finds.
    if (entry.seq === this.newest) return;
    this.newest = entry.seq;
    this.group.push(GROUP_OF.get(entry.type) ?? -1);
    this.step.push(this.steps.assignNumber(stripRounds(entry.step)));
    this.order.push(this.findOrder(entry));
  }

  /** The sequence numbers of the selected entries, ascending. */
  select({ groups, step, order }: EntrySelection): readonly number[] {
    const wanted = groups === undefined ? undefined : new Set([...groups].map((group) => GROUP_NAMES.indexOf(group)));
    const steps = step === undefined ? undefined : this.steps.findWithin(step);
    const orderNumber = order === undefined ? undefined : this.orders.find(order);
    const found: number[] = [];
    for (let index = 0; index < this.group.length; index += 1) {
      if (wanted !== undefined && !wanted.has(this.group[index] ?? -1)) continue;
      if (steps !== undefined && !steps.has(this.step[index] ?? -1)) continue;
      if (order !== undefined && this.order[index] !== orderNumber) continue;
      found.push(index + 1);
    }
    return found;
  }

  private findOrder(entry: Entry): number {
    switch (entry.type) {
      case 'order.moved':
      case 'order.alarmed':
      case 'order.concluded':
        return this.orders.assignNumber(entry.data.clientOrderId);
      case 'call.intended': {
        const id = entry.data.intent?.clientOrderId ?? entry.data.clientOrderId;
        if (id === undefined) return -1;
        const number = this.orders.assignNumber(id);
        this.calls.set(entry.data.call, number);
        return number;
      }
      case 'call.checked':
      case 'call.waiting':
      case 'call.attempted':
      case 'call.answered':
        return this.calls.get(entry.data.call) ?? -1;
      case 'call.settled': {
        const number = this.calls.get(entry.data.call) ?? -1;
        this.calls.delete(entry.data.call);
        return number;
      }
      default:
        return -1;
    }
  }
}

class Names {
  private readonly numbers = new Map<string, number>();

  assignNumber(name: string): number {
    const known = this.numbers.get(name);
    if (known !== undefined) return known;
    this.numbers.set(name, this.numbers.size);
    return this.numbers.size - 1;
  }

  find(name: string): number | undefined {
    return this.numbers.get(name) ?? -2;
  }

  /** The numbers of a path and of every path below it. */
  findWithin(path: string): ReadonlySet<number> {
    return new Set(
      [...this.numbers].filter(([name]) => name === path || name.startsWith(`${path}/`)).map(([, number]) => number),
    );
  }
}

export function makeEntryRow(entry: Entry): EntryRow {
  const { seq, at, type, step, actor } = entry;
  return { seq, at, type, step, actor, text: describeEntry(entry) };
}

/** Describes an entry in one line, from this entry alone. */
function describeEntry(entry: Entry): string {
  switch (entry.type) {
    case 'run.started':
      return formatText(`${entry.data.runbook}, ${entry.data.mode}, started by ${entry.data.by ?? entry.data.trigger}`);
    case 'run.moved':
      return formatText(`${entry.data.from} → ${entry.data.to} (${entry.data.event})`);
    case 'run.ended':
      return formatText(`${entry.data.outcome}${entry.data.reason === undefined ? '' : `: ${entry.data.reason}`}`);
    case 'run.resumed':
      return formatText(`resumed, ${formatCount(entry.data.openCalls.length, 'request')} in flight`);
    case 'step.started':
      return formatText(`${entry.data.verb}${entry.data.attempt > 1 ? `, attempt ${entry.data.attempt}` : ''}`);
    case 'step.decided':
      return formatText(`${entry.data.what} ${entry.data.expression} is ${formatJson(entry.data.value)}`);
    case 'step.ended': {
      const { verb, value } = entry.data;
      const { outcome, error } = readStepEnd(entry.data);
      const what =
        error === undefined
          ? value === undefined || value === null
            ? ''
            : `: ${summarizeResult(value)}`
          : `: ${error.kind}: ${error.message}`;
      return formatText(`${verb} ${outcome}${what}`);
    }
    case 'step.retried':
      return formatText(`attempt ${entry.data.attempt} failed: ${entry.data.error.kind}: ${entry.data.error.message}`);
    case 'variable.set':
      return formatText(`${entry.data.name} = ${formatJson(entry.data.value)}`);
    case 'notification.sent':
      return formatText(`to ${entry.data.to}: ${entry.data.text}`);
    case 'notification.settled':
      return formatText(
        `to ${entry.data.to}: ${entry.data.delivered ? 'delivered' : `not delivered: ${entry.data.because ?? ''}`}`,
      );
    case 'call.intended':
      return formatText(
        `${entry.data.endpoint}${entry.data.purpose === undefined ? '' : ` (${entry.data.purpose})`} ${formatPairs(entry.data.params)}`,
      );
    case 'call.checked':
      return formatText(formatPairs(entry.data.limits));
    case 'call.waiting':
      return `waits for tokens, at first until ${formatIsoTime(entry.data.until)}`;
    case 'call.attempted':
      return formatText(
        `${entry.data.method} ${entry.data.path}, ${formatCount(entry.data.tokens, 'token')} ${formatPairs(entry.data.params)}`,
      );
    case 'call.answered':
      return formatText(`attempt ${entry.data.n} refused (HTTP ${entry.data.status}): ${entry.data.message}`);
    case 'call.settled': {
      const { kind, status, message, code, result } = entry.data;
      const said = message ?? code ?? (result === undefined || result === null ? '' : summarizeResult(result));
      return formatText(`${kind}${status === undefined ? '' : ` (HTTP ${status})`}${said === '' ? '' : `: ${said}`}`);
    }
    case 'feed.read':
      return formatText(
        `${entry.data.name}${entry.data.key === undefined ? '' : `[${entry.data.key}]`} = ${entry.data.value ?? 'not read'}`,
      );
    case 'order.concluded':
      return formatText(`${entry.data.clientOrderId} ${entry.data.event}: ${entry.data.because}`);
    case 'order.moved':
      return formatText(
        `${entry.data.orderId ?? entry.data.clientOrderId} ${entry.data.from} → ${entry.data.to} (${entry.data.event})`,
      );
    case 'order.alarmed':
      return formatText(`${entry.data.clientOrderId} ${entry.data.alarm} ${formatPairs(entry.data.detail)}`);
    case 'account.reconciled':
      return `${formatCount(entry.data.open, 'open order')} on the account`;
    case 'account.swept': {
      const { left, unread = [], inDoubt } = entry.data;
      const doubt = inDoubt.length === 0 ? '' : `, ${inDoubt.length} unknown`;
      return `${left === undefined ? 'unknown what was' : formatCount(left.length + unread.length, 'order')} left by cancel_all${doubt}`;
    }
    case 'account.late_orders':
      return `${formatCount(entry.data.late.length, 'order')} of earlier runs that differ from their journals`;
    case 'deadman.moved':
      return formatText(
        `${entry.data.event} ${entry.data.market}${entry.data.because === undefined ? '' : `: ${entry.data.because}`}`,
      );
    case 'approval.asked':
      return formatText(`${entry.data.ask} (${formatList(entry.data.by, 'or')})`);
    case 'operator.acted':
      return formatText(
        `${entry.data.command} by ${entry.data.by}${entry.data.reason === undefined ? '' : `: ${entry.data.reason}`}`,
      );
    case 'session.moved':
      return formatText(`${entry.data.event}${entry.data.because === undefined ? '' : `: ${entry.data.because}`}`);
    case 'run.residual': {
      const { leaves, ok, left } = entry.data;
      return formatText(
        `${ok ? 'within' : 'beyond'} leaves ${leaves}: ${left.map(describeLeft).join('; ') || 'nothing left'}`,
      );
    }
    case 'store.moved':
      return formatText(`${entry.data.event}${entry.data.because === undefined ? '' : `: ${entry.data.because}`}`);
    case 'clock.adjusted':
      return `wall clock adjusted: ${formatSpan(entry.data.wallAheadMs)} ahead of the run’s clock`;
    case 'round.idle': {
      const { rounds, firstAt, lastAt, heartbeats = [] } = entry.data;
      const requests = heartbeats.reduce((sum, { count }) => sum + count, 0);
      const parts = [
        ...(rounds === 0 ? [] : [formatCount(rounds, 'round', 'rounds')]),
        ...(requests === 0 ? [] : [`${formatCount(requests, 'request')} for the deadman switch`]),
      ];
      return `${parts.join(' and ')} in ${formatSpan(lastAt - firstAt)} did what the one before did`;
    }
    default:
      // A journal of a later version may hold entry types that this version does not know.
      entry satisfies never;
      return '';
  }
}
