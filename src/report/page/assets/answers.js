/** What a reviewer wants to know of a run in a minute: six questions, each with its answer and how sure it is. */
import { element } from './dom.js';
import {
  agoText,
  countText,
  MODES,
  OUTCOMES,
  offsetText,
  plural,
  QUIET_MS,
  spanText,
  stateTone,
  timeText,
  triggerText,
} from './words.js';

const MARKS = { good: '✓', doubt: '!', bad: '✕', soft: '·', live: '●' };
const NAMES = { good: 'in order', doubt: 'to look at', bad: 'a problem', soft: '', live: 'under way' };

/** `tools.unfolded`: the questions whose details are open where there is no room for all; undefined where there is. */
export function answers(run, { verdict, kills }, tools) {
  return [
    who(run),
    allowed(run, kills, tools),
    orders(run, tools),
    tokens(run),
    deadman(run, tools),
    missing(run, verdict, tools),
  ].map((answer) => card(answer, tools.unfolded));
}

function card({ question, tone, said, details }, unfolded) {
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
    unfolded === undefined
      ? [element('p.said', {}, said), details]
      : element(
          'details',
          {
            open: unfolded.has(question),
            on: { toggle: ({ target }) => (target.open ? unfolded.add(question) : unfolded.delete(question)) },
          },
          // On a narrow screen six answers fit, and what is behind them does not.
          element('summary.said', {}, said),
          details,
        ),
  );
}

/** Changes when an answer changes that no entry changes, but time does. */
export function passing(run, now) {
  return `${deadmanWords(run, now).said} ${quietFor(run, now) !== undefined}`;
}

/** Not ended, live, and silent: nobody can say whether it still goes on. */
export function quietFor({ outcome, mode, lastAt }, now) {
  const quietMs = now - lastAt;
  return outcome === undefined && (mode !== 'live' || quietMs > QUIET_MS) ? quietMs : undefined;
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
  const { by, trigger, startedAt, lastAt, endedAt, account, engine, definition, plan, takeovers, people, seed, mode } =
    run;
  const scheduled =
    run.occurrence === undefined ? undefined : `${run.occurrence.slot}, due ${timeText(run.occurrence.nominal, 0)}`;
  // An answer that no step was waiting for is in the entries, and counted for nothing.
  const acted = people
    .filter(({ command, answered }) => answered !== undefined || (command !== 'approve' && command !== 'reject'))
    .map(
      ({ command, by: name, answered }) => `${command}${answered === undefined ? '' : ` of ${answered}`} by ${name}`,
    );
  return {
    question: 'Who started it?',
    tone: 'soft',
    said: by === undefined ? `Started ${triggerText(trigger)}` : `${by}, ${triggerText(trigger)}`,
    details: facts([
      ['began', element('time', { datetime: new Date(startedAt).toISOString() }, `${timeText(startedAt, 0)} UTC`)],
      [
        'took',
        endedAt === undefined ? `${spanText(Math.max(0, lastAt - startedAt))} so far` : spanText(endedAt - startedAt),
      ],
      ['account', `${account}, ${MODES[mode]}`],
      ['schedule', scheduled],
      ['people', acted.length > 0 && [...new Set(acted)].slice(0, 4).join(', ')],
      ['taken up again', takeovers.length > 0 && takeovers.slice(0, 3).map(takeoverText).join('; ')],
      ['plan', plan?.slice(0, 16)],
      ['definition', element('code', {}, definition)],
      ['engine', `${engine}${mode === 'simulated' ? `, seed ${seed}` : ''}`],
    ]),
  };
}

function takeoverText({ at, hadHalted, pid, away }) {
  const why = hadHalted ? 'after it halted' : 'its process died';
  const gone = away === undefined ? '' : `, nobody was there for ${spanText(away.ms)}`;
  return `${timeText(at, 0)} UTC${pid === undefined ? '' : ` by process ${pid}`} (${why}${gone})`;
}

const MOST_LIMITS = 5;

function allowed({ allowed: { checked, denied, denials } }, kills, { inspect, open }) {
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
  const needsLook = kills.some(({ action }) => action !== 'release');
  const words =
    denied > 0
      ? `${plural(denied, 'call')} refused here, before anything was sent`
      : checked.length === 0
        ? 'No write was checked: it sent none that limits concern'
        : `Within ${plural(checked.length, 'limit')}, nothing refused`;
  const details = [
    kills.map((kill) => element('p.soft', {}, killText(kill))),
    element('div.limits', {}, rows),
    more > 0 && element('p.soft', {}, `and ${more} more`),
    denials
      .slice(0, 2)
      .map(({ seq, code, message }) =>
        element('button.link.problem', { type: 'button', on: { click: () => inspect(seq) } }, `${code}: ${message}`),
      ),
    element('button.link', { type: 'button', on: { click: () => open('runbook') } }, 'Limits as written'),
  ];
  return {
    question: 'What was it allowed to do?',
    tone: denied > 0 || needsLook ? 'doubt' : 'good',
    said: words,
    details,
  };
}

function killText({ unknown, action, scope, by, reason, at }) {
  if (unknown !== undefined) return `What was done to the kill switch could not be read: ${unknown}`;
  const what = action === 'engage' ? 'Kill switch engaged' : 'Kill switch released';
  const whom = scope === '*' ? ', for every account' : '';
  return `${what} by ${by}, ${timeText(at)}${whom}${reason === '' ? '' : `: ${reason}`}`;
}

/** Orders that are told one by one: the newest that need a look first. */
const MOST_ORDERS = 4;

function orders(run, { open, now }) {
  const { orders: lives, fills, unaccounted } = run;
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
  const isUnsure = quietFor(run, now()) !== undefined && lives.some(({ isOver }) => !isOver);
  const tone =
    unaccounted.unclearOrders.length > 0
      ? 'bad'
      : isUnsure || lives.some(({ state, alarms }) => WORTH_A_LOOK.includes(state) || alarms.length > 0)
        ? 'doubt'
        : lives.length === 0
          ? 'soft'
          : 'good';
  const said =
    lives.length === 0
      ? 'It placed none'
      : [
          `${plural(lives.length, 'order')}: `,
          [...states].map(([state, count]) => `${countText(count)} ${state}`).join(', '),
          isUnsure && ', when it last looked',
        ];
  const ranked = lives.toSorted((a, b) => weightOf(b) - weightOf(a) || b.createdAt - a.createdAt);
  const details = [
    element(
      'div.order-lines',
      {},
      ranked.slice(0, MOST_ORDERS).map((order) => orderLine(order, open)),
    ),
    facts([...filled, ...net, ['fills', fills.fills.length > 0 && countText(fills.fills.length)]]),
    lives.length > 0 &&
      element(
        'button.link',
        { type: 'button', on: { click: () => open('orders') } },
        lives.length > MOST_ORDERS
          ? `All ${countText(lives.length)} orders' lives, with reasons`
          : "Each order's life, with reasons",
      ),
  ];
  return { question: 'What became of its orders?', tone, said, details };
}

/** Ends and doubts of an order that a reviewer asks about. */
const WORTH_A_LOOK = ['rejected', 'absent'];

function weightOf({ state, isOver, alarms }) {
  if (state === 'unknown' || state === 'quarantined') return 3;
  return alarms.length > 0 || WORTH_A_LOOK.includes(state) ? 2 : isOver ? 0 : 1;
}

function orderLine(
  { clientOrderId, state, stateMeaning, side, type, market, size, price, trigger, filled, moves },
  open,
) {
  const last = moves.at(-1);
  return element(
    'button.order-line',
    {
      type: 'button',
      title: `${clientOrderId}${stateMeaning === undefined ? '' : `: ${stateMeaning}`}${last === undefined ? '' : `; ${last.meaning}`}`,
      on: { click: () => open('orders', { order: clientOrderId }) },
    },
    element('span.pill', { data: { tone: stateTone(state) } }, state),
    element(
      'span',
      {},
      element('span.side', { data: { side } }, side),
      ` ${type} `,
      element('span.value', {}, size),
      ` ${market}`,
      price !== undefined && [' at ', element('span.value', {}, price)],
      price === undefined && trigger !== undefined && [' from ', element('span.value', {}, trigger)],
      filled !== '0' && element('span.soft', {}, `, ${filled} filled`),
    ),
  );
}

function tokens({ tokens: budget, requests }) {
  const { used, peak, limit, windowMs, waits, limited, refused, leastRemaining, endpoints } = budget;
  const percent = limit === undefined ? undefined : Math.round((peak / limit) * 100);
  const tone = limited > 0 || refused > 0 || (percent ?? 0) > 95 ? 'doubt' : 'good';
  const { refused: refusals, lost } = requests.totals;
  const details = [
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
  ];
  return {
    question: 'How many tokens?',
    tone,
    said: `${countText(used)} in ${plural(budget.requests, 'request')}`,
    details,
  };
}

function deadman(run, { inspect, now }) {
  const { state, timeoutMs, longest, fired, renewals, because, firesAt, market } = run.deadman;
  const question = 'Was the deadman switch ever at risk?';
  if (state === 'never')
    return {
      question,
      tone: 'soft',
      said: 'It was never armed',
      details: element('p.soft', {}, 'Had the process died, open orders would have stayed.'),
    };
  const { tone, said, isOver } = deadmanWords(run, now());
  const percent = longest === undefined ? 0 : Math.round((longest.ms / longest.timeoutMs) * 100);
  const details = [
    state === 'armed' &&
      firesAt !== undefined &&
      run.mode === 'live' &&
      (isOver
        ? element(
            'p.problem',
            {},
            `Nothing of this run renewed it after ${timeText(firesAt - timeoutMs)} UTC: unless something else did, the venue has cancelled every open order at ${timeText(firesAt)} UTC.`,
          )
        : run.outcome !== undefined
          ? element(
              'p',
              {},
              `Left armed: the venue cancels every open order at ${timeText(firesAt)} UTC, unless something renews it.`,
            )
          : element(
              'p.countdown',
              {},
              'fires in ',
              element('span.left', { data: { until: firesAt, of: timeoutMs } }, ''),
              ' unless renewed',
            )),
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
  ];
  return { question, tone, said, details };
}

/**
 * The journal tells of silences that ended. One that has not is known by the clock: of a process that died with the switch
 * armed nothing was ever written, and the venue cancelled all the same.
 */
export function deadmanWords(run, now) {
  const { state, timeoutMs, risks, fired, firesAt, longest } = run.deadman;
  const isCounting = state === 'armed' && firesAt !== undefined && run.mode === 'live';
  const isOver = isCounting && now >= firesAt;
  if (fired.length > 0) return { tone: 'bad', said: `It must have fired: ${plural(fired.length, 'time')}`, isOver };
  if (isOver && run.outcome === undefined)
    return { tone: 'bad', said: 'It must have fired: the run fell silent', isOver };
  if (isOver) return { tone: 'doubt', said: 'Left armed at the end, and its time is over', isOver };
  const silentMs = isCounting ? now - (firesAt - timeoutMs) : 0;
  if (run.outcome === undefined && silentMs > timeoutMs / 2)
    return { tone: 'doubt', said: 'At risk now: more than half its time-out is over', isOver };
  if (longest !== undefined && longest.ms >= longest.timeoutMs)
    return { tone: 'bad', said: `It may have fired: ${spanText(longest.ms)} of silence`, isOver };
  if (risks > 0) return { tone: 'doubt', said: `${plural(risks, 'silence')} of more than half its time-out`, isOver };
  return { tone: 'good', said: run.outcome === undefined ? 'Not so far' : 'Never at risk', isOver };
}

function missing(run, verdict, { verify, open, inspect, now }) {
  const { unanswered, unclearOrders, leftOpen, alarms, alarmCount } = run.unaccounted;
  const quietMs = quietFor(run, now());
  const isGoing = run.outcome === undefined && quietMs === undefined;
  const lost = isGoing ? [] : unanswered;
  // Answered by a look-up or not: that there was no answer is what a reviewer has to know.
  const unsure = run.requests.seq.filter((_seq, index) => run.requests.kind[index] === LOST);
  const journal = journalWords(verdict);
  const hasHalted = run.outcome === 'halted';
  const tone =
    journal.tone === 'bad' || unclearOrders.length > 0
      ? 'bad'
      : lost.length > 0 || alarmCount > 0 || hasHalted || quietMs !== undefined
        ? 'doubt'
        : journal.tone;
  const said =
    journal.tone === 'bad'
      ? 'The journal is not whole'
      : unclearOrders.length > 0
        ? `${plural(unclearOrders.length, 'order')} of which nobody knows`
        : quietMs !== undefined
          ? 'Its end'
          : hasHalted
            ? 'A person has to look at it'
            : lost.length > 0
              ? plural(lost.length, 'answer')
              : alarmCount > 0
                ? `Nothing, but ${plural(alarmCount, 'alarm')}`
                : journal.tone === 'soft'
                  ? 'Checking …'
                  : journal.tone === 'doubt'
                    ? 'Not known'
                    : isGoing
                      ? 'Nothing so far'
                      : 'Nothing';
  const links = (list, word) =>
    list
      .slice(0, 3)
      .map((each) =>
        element('button.link.problem', { type: 'button', on: { click: () => inspect(each.seq) } }, word(each)),
      );
  const details = [
    facts([
      ['journal', journal.text],
      [
        'ended',
        run.outcome !== undefined
          ? OUTCOMES[run.outcome].word
          : quietMs === undefined
            ? 'not yet'
            : `no: its last entry is of ${agoText(quietMs)}; the process waits, or is gone`,
      ],
      ['because', hasHalted && (run.error === undefined ? run.reason : `${run.error.kind}: ${run.error.message}`)],
      ['no answer to', lost.length > 0 && links(lost, ({ title }) => title)],
      [
        'lost answers',
        unsure.length > 0 && [
          links(
            unsure.map((seq) => ({ seq })),
            ({ seq }) => `entry ${seq}`,
          ),
          unsure.length > 3 && ` and ${countText(unsure.length - 3)} more`,
        ],
      ],
      ['unclear orders', unclearOrders.length > 0 && unclearOrders.slice(0, 3).join(', ')],
      [
        'still working',
        leftOpen.length > 0 &&
          `${leftOpen.slice(0, 3).join(', ')}${leftOpen.length > 3 ? ` and ${leftOpen.length - 3} more` : ''} at its last look`,
      ],
      ['alarms', alarmCount > 0 && links(alarms, ({ alarm }) => alarm)],
    ]),
    element('button.link', { type: 'button', on: { click: verify } }, 'Verify again'),
    element('button.link', { type: 'button', on: { click: () => open('entries') } }, 'Every entry, raw'),
  ];
  return { question: 'Is anything missing?', tone, said, details };
}

/** Of a request's kinds: it was sent, and no answer came that can be relied on. */
const LOST = 4;

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
