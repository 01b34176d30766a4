/** What a reviewer wants to know of a run in a minute: six questions, each with its answer and how sure it is. */
import { element } from './dom.js';
import { countText, OUTCOMES, offsetText, plural, spanText, timeText } from './words.js';

const MARKS = { good: '✓', doubt: '!', bad: '✕', soft: '·', live: '●' };
const NAMES = { good: 'in order', doubt: 'to look at', bad: 'a problem', soft: '', live: 'under way' };

export function answers(run, verdict, tools) {
  return [
    who(run),
    allowed(run, tools),
    orders(run, tools),
    tokens(run),
    deadman(run, tools),
    missing(run, verdict, tools),
  ];
}

function card(question, tone, answer, ...details) {
  return element(
    'article.answer',
    { data: { tone } },
    element(
      'h2',
      {},
      question,
      tone !== 'soft' &&
        element(
          'span.mark',
          { title: NAMES[tone] },
          element('span', { 'aria-hidden': 'true' }, MARKS[tone]),
          element('span.unseen', {}, NAMES[tone]),
        ),
    ),
    element('p.said', {}, answer),
    details,
  );
}

function facts(rows) {
  const given = rows.filter((row) => Array.isArray(row) && row[1] !== undefined && row[1] !== false);
  return element(
    'dl',
    {},
    given.map(([term, value]) => element('div', {}, element('dt', {}, term), element('dd', {}, value))),
  );
}

/** A share as a bar; the words beside it say the same. `doubt` and `bad`: from which percentage on. */
function meter(percent, label, doubt = 90, bad = 100) {
  const tone = percent > bad ? 'bad' : percent > doubt ? 'doubt' : 'good';
  const bar = element(
    'span.meter',
    { role: 'img', 'aria-label': label, data: { tone } },
    element('span.fill', { style: { width: `${Math.min(percent, 100)}%` } }),
  );
  return bar;
}

function who(run) {
  const { by, trigger, startedAt, lastAt, endedAt, account, engine, definition, plan, resumed, people, seed, mode } =
    run;
  const scheduled =
    run.occurrence === undefined ? undefined : `${run.occurrence.slot}, due ${timeText(run.occurrence.nominal, 0)}`;
  const acted = people.map(({ command, by: name }) => `${command} by ${name}`);
  return card(
    'Who started it?',
    'soft',
    by === undefined ? `Started by ${trigger === 'manual' ? 'hand' : trigger}` : `${by} (${trigger})`,
    facts([
      ['began', element('time', { datetime: new Date(startedAt).toISOString() }, `${timeText(startedAt, 0)} UTC`)],
      [
        'took',
        endedAt === undefined ? `${spanText(Math.max(0, lastAt - startedAt))} so far` : spanText(endedAt - startedAt),
      ],
      ['account', account],
      ['schedule', scheduled],
      ['people', acted.length > 0 && [...new Set(acted)].slice(0, 4).join(', ')],
      ['taken up again', resumed > 0 && plural(resumed, 'time')],
      ['plan', plan?.slice(0, 16)],
      ['definition', element('code', {}, definition)],
      ['engine', `${engine}${mode === 'simulated' ? `, seed ${seed}` : ''}`],
    ]),
  );
}

const MOST_LIMITS = 5;

function allowed({ allowed: { checked, denied, denials } }, { inspect, open }) {
  const ranked = [...checked].sort((a, b) => (b.percent ?? -1) - (a.percent ?? -1));
  const rows = ranked.slice(0, MOST_LIMITS).map((limit) =>
    element(
      'button.limit',
      {
        type: 'button',
        title: `Entry ${limit.seq}: the write that came closest`,
        on: { click: () => inspect(limit.seq) },
      },
      element('span.limit-name', {}, limit.limit),
      element(
        'span.limit-value',
        {},
        limit.most === undefined
          ? limit.allowed
          : `${limit.most} ${limit.percent === undefined ? 'in' : 'of'} ${limit.allowed}`,
      ),
      limit.percent === undefined ? element('span') : meter(limit.percent, `${limit.percent} percent of the limit`, 99),
    ),
  );
  const more = ranked.length - rows.length;
  const words =
    denied > 0
      ? `${plural(denied, 'call')} refused here, before anything was sent`
      : checked.length === 0
        ? 'No write was checked: it sent none that limits concern'
        : `Within ${plural(checked.length, 'limit')}, nothing refused`;
  return card(
    'What was it allowed to do?',
    denied > 0 ? 'doubt' : 'good',
    words,
    element('div.limits', {}, rows),
    more > 0 && element('p.soft', {}, `and ${more} more`),
    denials
      .slice(0, 2)
      .map(({ seq, code, message }) =>
        element('button.link.problem', { type: 'button', on: { click: () => inspect(seq) } }, `${code}: ${message}`),
      ),
    element('button.link', { type: 'button', on: { click: () => open('runbook') } }, 'Limits as written'),
  );
}

function orders({ orders: lives, fills, unaccounted }, { open }) {
  const states = new Map();
  for (const { state } of lives) states.set(state, (states.get(state) ?? 0) + 1);
  const filled = fills.totals.map(({ market, side, size, averagePrice, fee }) => [
    side === 'long' ? 'bought' : 'sold',
    [
      element('span.value', {}, size),
      ` ${market} at `,
      element('span.value', {}, averagePrice),
      element('span.soft', {}, `, fee ${fee}`),
    ],
  ]);
  const net = Object.entries(fills.net).map(([market, size]) => [
    'net position',
    [element('span.value', {}, size), ` ${market}`],
  ]);
  const unclear = unaccounted.unclearOrders.length;
  const tone =
    unclear > 0
      ? 'bad'
      : lives.some(({ state }) => state === 'rejected')
        ? 'doubt'
        : lives.length === 0
          ? 'soft'
          : 'good';
  return card(
    'What became of its orders?',
    tone,
    lives.length === 0
      ? 'It placed none'
      : [
          `${plural(lives.length, 'order')}: `,
          [...states].map(([state, count]) => `${countText(count)} ${state}`).join(', '),
        ],
    facts([...filled, ...net, ['fills', fills.fills.length > 0 && countText(fills.fills.length)]]),
    lives.length > 0 &&
      element(
        'button.link',
        { type: 'button', on: { click: () => open('orders') } },
        "Each order's life, with reasons",
      ),
  );
}

function tokens({ tokens: budget, requests }) {
  const { used, peak, limit, windowMs, waits, limited, refused, leastRemaining, endpoints } = budget;
  const percent = limit === undefined ? undefined : Math.round((peak / limit) * 100);
  const tone = limited > 0 || refused > 0 || (percent ?? 0) > 95 ? 'doubt' : 'good';
  const { refused: refusals, lost } = requests.totals;
  return card(
    'How many tokens?',
    tone,
    [`${countText(used)} in ${plural(budget.requests, 'request')}`],
    percent !== undefined &&
      element(
        'div.gauge',
        {},
        meter(percent, `${percent} percent of the limit`),
        element('span', {}, `peak ${countText(peak)} of ${countText(limit)} in ${spanText(windowMs)}`),
      ),
    facts([
      [
        'most for',
        endpoints
          .slice(0, 2)
          .map(({ endpoint, tokens: spent }) => element('span.block', {}, `${endpoint} ${countText(spent)}`)),
      ],
      ['waited', waits.count > 0 && `${plural(waits.count, 'request')}, ${spanText(waits.longestMs)} at most`],
      ['rate limit hit', limited > 0 && plural(limited, 'time')],
      ['too late', refused > 0 && `${plural(refused, 'call')} not sent`],
      ['venue said left', leastRemaining === undefined ? false : `${countText(leastRemaining)} at the least`],
      ['refused', refusals > 0 && plural(refusals, 'request')],
      ['no answer', lost > 0 && plural(lost, 'request')],
    ]),
  );
}

function deadman(run, { inspect }) {
  const { state, timeoutMs, longest, risks, fired, renewals, because, firesAt, market } = run.deadman;
  if (state === 'never')
    return card(
      'Was the deadman switch ever at risk?',
      'soft',
      'It was never armed',
      element('p.soft', {}, 'Had the process died, open orders would have stayed.'),
    );
  const percent = longest === undefined ? 0 : Math.round((longest.ms / longest.timeoutMs) * 100);
  const isRunning = run.outcome === undefined && run.mode === 'live';
  const tone = fired.length > 0 ? 'bad' : risks > 0 ? 'doubt' : 'good';
  const words =
    fired.length > 0
      ? `It must have fired: ${plural(fired.length, 'time')}`
      : risks > 0
        ? `${plural(risks, 'silence')} of more than half its time-out`
        : 'Never at risk';
  return card(
    'Was the deadman switch ever at risk?',
    tone,
    words,
    state === 'armed' &&
      isRunning &&
      firesAt !== undefined &&
      element(
        'p.countdown',
        {},
        'fires in ',
        element('span.left', { data: { until: firesAt, of: timeoutMs } }, ''),
        ' unless renewed',
      ),
    longest !== undefined &&
      element(
        'button.gauge.link',
        { type: 'button', title: `Entry ${longest.seq} ended it`, on: { click: () => inspect(longest.seq) } },
        meter(percent, `${percent} percent of the time-out`, 50),
        element('span', {}, `longest silence ${spanText(longest.ms)} of ${spanText(longest.timeoutMs)}`),
      ),
    facts([
      ['armed for', market],
      ['time-out', timeoutMs === undefined ? undefined : spanText(timeoutMs)],
      ['renewed', plural(renewals, 'time')],
      [run.outcome === undefined ? 'now' : 'at the end', state === 'assumed_fired' ? 'fired' : state],
      ['because', because],
    ]),
    fired
      .slice(0, 2)
      .map(({ seq, at, because: why }) =>
        element(
          'button.link.problem',
          { type: 'button', on: { click: () => inspect(seq) } },
          `${offsetText(at)} ${why ?? 'must have fired'}`,
        ),
      ),
  );
}

function missing(run, verdict, { verify, open, inspect }) {
  const { unanswered, unclearOrders, leftOpen, alarms, alarmCount } = run.unaccounted;
  const isLive = run.outcome === undefined && run.mode === 'live';
  const lost = isLive ? [] : unanswered;
  const journal = journalWords(verdict);
  const worst =
    journal.tone === 'bad' || unclearOrders.length > 0
      ? 'bad'
      : lost.length > 0 || alarmCount > 0 || run.outcome === 'halted'
        ? 'doubt'
        : journal.tone;
  const words =
    worst === 'bad'
      ? 'Yes'
      : worst === 'doubt'
        ? 'Something to look at'
        : journal.tone === 'soft'
          ? 'Checking …'
          : run.outcome === undefined
            ? 'Nothing so far'
            : 'Nothing';
  return card(
    'Is anything missing?',
    worst,
    words,
    facts([
      ['journal', journal.text],
      [
        'no answer to',
        lost.length > 0 &&
          lost
            .slice(0, 3)
            .map(({ seq, title }) =>
              element('button.link.problem', { type: 'button', on: { click: () => inspect(seq) } }, title),
            ),
      ],
      ['unclear orders', unclearOrders.length > 0 && unclearOrders.slice(0, 3).join(', ')],
      [
        'still working',
        leftOpen.length > 0 &&
          `${leftOpen.slice(0, 3).join(', ')}${leftOpen.length > 3 ? ` and ${leftOpen.length - 3} more` : ''} at its last look`,
      ],
      [
        'alarms',
        alarmCount > 0 &&
          alarms
            .slice(0, 3)
            .map(({ seq, alarm }) =>
              element('button.link.problem', { type: 'button', on: { click: () => inspect(seq) } }, alarm),
            ),
      ],
      ['ended', run.outcome === undefined ? 'not yet' : OUTCOMES[run.outcome].word],
    ]),
    element('button.link', { type: 'button', on: { click: verify } }, 'Verify again'),
    element('button.link', { type: 'button', on: { click: () => open('entries') } }, 'Every entry, raw'),
  );
}

function journalWords(verdict) {
  if (verdict === undefined || verdict.state === 'checking') return { tone: 'soft', text: 'being verified …' };
  if (verdict.state === 'unknown') return { tone: 'doubt', text: `not verified: ${verdict.message}` };
  const { ok, entries, anchors, problem } = verdict;
  if (!ok)
    return {
      tone: 'bad',
      text: element('span.problem', {}, `not as it was written: ${problem?.detail ?? problem?.kind ?? ''}`),
    };
  return { tone: 'good', text: `verified: ${plural(entries, 'entry', 'entries')}, ${plural(anchors, 'anchor')}` };
}
