import { describe, expect, it } from 'vitest';
import type { Entry, ErrorFact } from '../../src/journal/entry.ts';
import { findDeparture } from './chart-oracle.ts';
import { FOLDER, formatSince, GOLDENS, makeScene, readDurationMs, readGolden } from './goldens.ts';
import { type Performance, perform, replay } from './stage.ts';

/** Replaces client order ids, which are digests, by the order's number in the run. */
function nameOrders(text: string, orders: Performance['report']['orders']): string {
  return orders.reduce((shown, { clientOrderId }, index) => shown.replaceAll(clientOrderId, `#${index + 1}`), text);
}

/** Parameters as they were sent; instants count from the start. */
function formatParams(params: object): string {
  return Object.entries(params)
    .map(
      ([key, value]) => `${key}=${/_time$/.test(key) ? formatSince(Math.round(Number(value) / 1000)) : String(value)}`,
    )
    .join(' ');
}

/** Equal requests in a row are one line with their number. */
function foldRepeats(rows: readonly { readonly at: string; readonly text: string }[]): string[] {
  const lines: { at: string; text: string; count: number; lastAt: string }[] = [];
  for (const row of rows) {
    const line = lines.at(-1);
    if (line?.text === row.text) {
      line.count += 1;
      line.lastAt = row.at;
    } else lines.push({ ...row, count: 1, lastAt: row.at });
  }
  return lines.map(
    ({ at, text, count, lastAt }) =>
      `  ${formatSince(at)} ${text}${count === 1 ? '' : ` (${count} times, last ${formatSince(lastAt)})`}`,
  );
}

/** The code in a message: of a denial, of the venue, or of the system. */
function codeOf(message: string): string {
  const [, code] = /(?:^|[:(] ?)([A-Z][A-Z_]+)(?=[:);]|$)/.exec(message) ?? [];
  return code === undefined ? '' : ` ${code}`;
}

/** Kind, code and step of an error. */
function formatError({ kind, message, step }: ErrorFact): string {
  return `${kind}${codeOf(message)}${step === undefined ? '' : ` in ${step}`}`;
}

function isSameError(error: ErrorFact, other: ErrorFact | undefined): boolean {
  return other !== undefined && formatError(error) === formatError(other);
}

/** The figures of a denial: `size=0.1, max=0.05`. */
function figuresOf(message: string): string {
  const figures = message.match(/\b\w+=[^,;\s]+/g) ?? [];
  return figures.length === 0 ? '' : `: ${figures.join(', ')}`;
}

function formatSection(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function selectEntries<T extends Entry['type']>(
  entries: readonly Entry[],
  type: T,
): readonly Extract<Entry, { type: T }>[] {
  return entries.filter((entry): entry is Extract<Entry, { type: T }> => entry.type === type);
}

function describeResult({ report, entries }: Performance): string {
  const { outcome, reason, error, steps, requests, orders, deadman, outputs } = report;
  const lines = [
    `${outcome}${outcome === 'stopped' ? ` as ${reason}` : ''} at ${formatSince(report.endedAt)}`,
    ...(error === undefined ? [] : [`error ${formatError(error)}`]),
    ...formatSection(
      'steps',
      steps.map(
        ({ startedAt, endedAt, verb, path, outcome: end, attempts }) =>
          `  ${formatSince(startedAt)} ${verb} ${path} ${end}${end === 'skipped' ? '' : ` ${formatSince(endedAt)}`}${attempts > 1 ? ` after ${attempts} attempts` : ''}`,
      ),
    ),
    ...formatSection(
      'failures',
      selectEntries(entries, 'step.ended').flatMap(({ at, data }) =>
        data.error === undefined || isSameError(data.error, error)
          ? []
          : [`  ${formatSince(at)} ${formatError(data.error)}`],
      ),
    ),
    ...formatSection(
      'requests',
      foldRepeats(
        requests.map(({ at, method, path, params, status, success }) => ({
          at,
          text: `${method} ${path} ${formatParams(params)} → ${status ?? 'no answer'}${success || status === null ? '' : ' refused'}`,
        })),
      ),
    ),
    ...formatSection(
      'orders',
      orders.map(
        ({ orderId = 'no id', type, side, size, price, filled, averagePrice, state }, index) =>
          `  #${index + 1} ${orderId} ${type} ${side} ${size}${price === undefined ? '' : ` at ${price}`} filled ${filled}${averagePrice === undefined ? '' : ` at ${averagePrice}`} ${state}`,
      ),
    ),
    ...formatSection(
      'left',
      selectEntries(entries, 'run.residual').flatMap(({ at, step, data: { leaves, ok, left } }) =>
        leaves === 'open'
          ? []
          : left.map(
              ({ market, side, size, opened, covered, idle = [] }) =>
                `  ${formatSince(at)}${step === '' ? '' : ` ${step}`} ${ok ? 'within' : 'beyond'} ${leaves}: ${side} ${size} ${market}, opened ${opened}, covered ${covered}${idle.map(({ orderId, why }) => `, ${orderId} ${why}`).join('')}`,
            ),
      ),
    ),
    ...formatSection(
      'the armed switch cancels',
      selectEntries(entries, 'run.residual').flatMap(({ data: { cancels } }) =>
        (cancels?.orders ?? []).map(
          ({ orderId, clientOrderId, type, side }) =>
            `  ${formatSince(cancels?.at ?? 0)} ${orderId ?? clientOrderId} ${type} ${side}`,
        ),
      ),
    ),
    ...formatSection('deadman', foldRepeats(deadman.map(({ at, event }) => ({ at, text: event })))),
    ...formatSection(
      'denied',
      selectEntries(entries, 'call.settled').flatMap(({ at, data }) =>
        data.kind === 'denied' ? [`  ${formatSince(at)} ${data.code ?? ''}${figuresOf(data.message ?? '')}`] : [],
      ),
    ),
    ...formatSection(
      'notified',
      selectEntries(entries, 'notification.sent').map(
        ({ at, data }) => `  ${formatSince(at)} ${data.to}: ${data.text}`,
      ),
    ),
    ...formatSection(
      'outputs',
      Object.entries(outputs).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}`),
    ),
  ];
  return nameOrders(lines.join('\n'), orders);
}

/** The venue's own orders some time after the run, where a golden asks for them: a switch that was left armed may act. */
async function describeVenueLater(performance: Performance, after: string): Promise<string> {
  const books = await performance.later(readDurationMs(after));
  const orders = books.orders.map(({ id, status, filled }) => `  ${id} ${status} filled ${filled}`);
  return ['', `at the venue ${after} later`, ...orders].join('\n');
}

describe('the engine', () => {
  it.each(GOLDENS)('%s', async (name) => {
    const { runbook, setting, asked } = readGolden(name);
    const scene = makeScene(name, runbook, asked);
    const performance = await perform(scene);
    const later = asked.look_after === undefined ? '' : await describeVenueLater(performance, asked.look_after);
    const text = `${describeResult(performance)}${later}`;
    await expect(`${runbook}---\n${setting}---\n${text}\n`).toMatchFileSnapshot(new URL(name, FOLDER).pathname);
    await replay(performance, scene);
    expect(findDeparture(scene.loaded.runbook, performance.entries)).toBeUndefined();
  });

  it.each([
    ['fail-gives-its-reason', 'because of the moon'],
    ['catch-fail-does-its-steps-and-fails-with-the-first-error', 'it must be so'],
    ['a-person-cancels-a-run', 'ada: enough for today'],
    ['approve-fails-when-a-person-refuses', 'ada: not today'],
  ])('%s: an error keeps the words of its author', async (name, words) => {
    const { runbook, asked } = readGolden(`${name}.yml`);
    const { report } = await perform(makeScene(name, runbook, asked));
    expect(report.error?.message).toContain(words);
  });
});
