/**
 * `runbook audit summary`: answers a reviewer's first questions about a run on one screen: who started it, what it was allowed,
 * the outcome of each order and why, tokens, the deadman switch, and whether anything is missing.
 */
import { EXIT, type ExitCode } from '../../app/errors.ts';
import { readText } from '../../app/files/files.ts';
import { showInputs } from '../../app/files/load.ts';
import { readKillsOfRun } from '../../app/kill/kill-records.ts';
import { readAnchorFiles, withRun } from '../../app/stores/review.ts';
import { SystemClock } from '../../base/clock.ts';
import { formatCount, formatOffset } from '../../base/format.ts';
import { foldEntries, readFirstEntry } from '../../journal/reading.ts';
import { type Answer, formatAnswer, formatReason, type Reason, type Tone } from '../../report/answers/answer.ts';
import { answerReviewer } from '../../report/answers/six.ts';
import { verifyRun } from '../../report/compare/verify.ts';
import type { OrderLife } from '../../report/folds/order-lives.ts';
import { type RunPageDocument, RunPageFold, toFacts } from '../../report/folds/run-facts.ts';
import { formatAmount, formatIsoTime, formatQuoteCurrency, formatText } from '../../report/format.ts';
import { describeSettled } from '../../report/glossary.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';
import type { Output, Style } from '../terminal/output.ts';
import { OUTCOME_STYLE } from './list.ts';

export async function summarise({ run: name, key }: Given<'audit summary'>, review: Invocation): Promise<ExitCode> {
  const { terminal } = review;
  const publicKey = key === undefined ? undefined : readText(key, 'public key');
  return withRun(review, name, async (store, row) => {
    const { run } = row;
    const anchors = readAnchorFiles(review, { run, publicKey }).flatMap((file) => file.anchors);
    const verdict = await verifyRun(store, run, anchors);
    const page = (await foldEntries(store, run, new RunPageFold())).document();
    const first = await readFirstEntry(store, run);
    const kills = await readKillsOfRun(row, first, review);
    const answers = answerReviewer(page, { verdict, kills, now: new SystemClock().now() });
    const document = {
      run,
      runbook: page.runbook,
      outcome: page.outcome ?? null,
      ...(kills === 'not read' ? {} : { kills: kills.map(({ at, ...kill }) => ({ at: formatIsoTime(at), ...kill })) }),
      answers: answers.map(({ question, tone, said, because }) => ({
        question,
        tone,
        said,
        because: because.map(formatReason),
        entries: because.flatMap(({ entry }) => entry ?? []),
      })),
      orders: page.orders.map(makeOrderDocument),
    };
    terminal.answer(document, () => {
      const inputs = toFacts(showInputs(first).data.inputs);
      return formatSummary({ ...page, inputs }, answers, terminal);
    });
    return verdict.ok ? EXIT.done : EXIT.failed;
  });
}

function makeOrderDocument({ clientOrderId, orderId, label, state, moves }: OrderLife) {
  return {
    clientOrderId,
    ...(orderId === undefined ? {} : { orderId }),
    label,
    state,
    moves: moves.map(({ seq, from, to, meaning, because, step }) => ({
      sequence: seq,
      from,
      to,
      meaning,
      ...(because === undefined ? {} : { because }),
      ...(step === undefined ? {} : { step }),
    })),
  };
}

const TONE_STYLE: Readonly<Record<Tone, Style>> = { good: 'good', doubt: 'warning', bad: 'bad', soft: 'strong' };
/** Maximum number of orders on the screen; `audit orders --history` shows all. */
const MOST_ORDERS = 12;
/** Maximum number of transitions of an order, the first and the last ones. */
const MOST_MOVES = 12;

function formatSummary(page: RunPageDocument, answers: readonly Answer[], terminal: Output): string {
  const { run, runbook, mode, outcome, reason, error, orders, inputs } = page;
  const why = error?.message ?? reason;
  const style = outcome === undefined ? 'warning' : (OUTCOME_STYLE[outcome] ?? 'faint');
  const lines = [
    `${terminal.style('strong', formatText(runbook))}  ${terminal.style(style, outcome ?? 'no end yet')}${describeSettled(page)}${why === undefined ? '' : `: ${formatText(why)}`}`,
    terminal.style('faint', `run ${formatText(run)}, ${mode}`),
    ...(inputs.length === 0
      ? []
      : [
          terminal.style(
            'faint',
            `inputs ${formatText(inputs.map(({ name, value }) => `${name}=${value}`).join(' '))}`,
          ),
        ]),
  ];
  for (const answer of answers) {
    const { question, tone, because } = answer;
    lines.push('', `${terminal.style('faint', question)}  ${terminal.style(TONE_STYLE[tone], formatAnswer(answer))}`);
    lines.push(...because.map((reason) => `    ${formatReason(reason)}${formatEntryNumber(reason, terminal)}`));
  }
  for (const order of orders.slice(0, MOST_ORDERS)) lines.push('', ...formatOrder(order, terminal));
  if (orders.length > MOST_ORDERS)
    lines.push(
      '',
      terminal.style('faint', `… and ${orders.length - MOST_ORDERS} more: audit orders ${formatText(run)} --history`),
    );
  return lines.join('\n');
}

/** The entry number, for `audit show RUN --entry N`. */
function formatEntryNumber({ entry }: Reason, terminal: Output): string {
  return entry === undefined ? '' : terminal.style('faint', `  (entry ${entry})`);
}

function formatOrder(order: OrderLife, terminal: Output): readonly string[] {
  const { label, orderId, clientOrderId, market, side, type, price, filled, averagePrice, state, moves, alarms } =
    order;
  const at = price === undefined ? '' : ` at ${price}${formatQuoteCurrency(market)}`;
  const average = averagePrice === undefined ? '' : `, average ${averagePrice}${formatQuoteCurrency(market)}`;
  const listed =
    moves.length <= MOST_MOVES ? moves : [...moves.slice(0, MOST_MOVES / 2), ...moves.slice(-MOST_MOVES / 2)];
  const lines = listed.map(({ at: after, from, to, meaning, because, step }) => {
    const reason = because === undefined ? '' : `: ${formatText(because)}`;
    const asker = step === undefined ? '' : `, by step ${formatText(step)}`;
    return `${terminal.style('faint', formatOffset(after).padStart(12))}  ${from === to ? `stays ${to}` : `${from} → ${to}`}  ${terminal.style('faint', `${meaning}${reason}${asker}`)}`;
  });
  if (listed.length < moves.length)
    lines.splice(
      MOST_MOVES / 2,
      0,
      terminal.style('faint', `              … ${formatCount(moves.length - listed.length, 'transition')} between`),
    );
  return [
    `${terminal.style('strong', formatText(label))}  ${formatText(orderId ?? 'no venue id')} ${terminal.style('faint', formatText(clientOrderId))}  ${type} ${side} ${formatAmount(order)}${at}: ${formatText(state)}, filled ${filled}${average}`,
    ...lines,
    ...alarms.map(({ alarm, meaning }) =>
      terminal.style('bad', `              alarm ${formatText(alarm)}${meaning === undefined ? '' : `: ${meaning}`}`),
    ),
  ];
}
