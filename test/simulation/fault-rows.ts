/**
 * Lists the rows of fault-matrix.md with the tests that cover each. Every named test must exist; a row without a test says so.
 * `docs/fault-matrix.md` is generated from it.
 */
import { invariantTable } from './invariant-rows.ts';

/** A test by its file and a part of its name; a golden file is a test by itself. */
export type Cover = readonly [file: string, name?: string];

export interface FaultRow {
  readonly fault: string;
  readonly handled: string;
  readonly covers: readonly Cover[];
  /** The part of the row that no test shows, or why none is needed. */
  readonly open?: string;
}

export const SEEDS: Cover = [
  'test/simulation/seeds.test.ts',
  'break no invariant, and end processes at every named point of a call',
];
const golden = (name: string): Cover => [`test/golden/engine/${name}.yml`];
const kept = (seed: number): Cover => ['test/simulation/seeds.ts', `seed: ${seed},`];
const live = (file: string, name: string): Cover => [`test/live/${file}.test.ts`, name];
const gateway = (file: string, name: string): Cover => [`test/gateway/${file}.test.ts`, name];
const venue = (file: string, name: string): Cover => [`test/venue/${file}.test.ts`, name];

export const FAULT_ROWS: readonly FaultRow[] = [
  {
    fault: 'POST times out before the venue got it',
    handled: 'ambiguous, window; proven absent: not_placed, or sent again where on_ambiguous says so; no proof: halt',
    covers: [
      SEEDS,
      golden('a-lost-order-that-never-arrived-is-caught-by-any'),
      golden('a-lost-order-is-sent-again-only-when-its-absence-is-proven'),
    ],
  },
  {
    fault: 'POST times out after the venue carried it out',
    handled: 'found by its client order id; one order',
    covers: [
      SEEDS,
      golden('a-lost-answer-is-found-by-looking-it-up'),
      live('orders', '%s: looked up and adopted, never sent again'),
    ],
  },
  {
    fault: 'ghost POST arrives after the window',
    handled:
      'adopted by the run while it is under way; afterwards each run of the account that begins within 24 h asks, journals it and notifies `ops`',
    covers: [
      golden('a-ghost-that-arrives-after-its-timeout-is-adopted'),
      venue('order-guards', 'is revoked by any event that shows the order'),
      ['test/cli/late-orders.test.ts', 'is reported by the next run, where it %s'],
      live(
        'late-orders',
        'reports an order that appears after its run failed in the next run: on the terminal, to ops, and in its journal',
      ),
    ],
  },
  {
    fault: 'connection refused, no such name',
    handled: 'not sent: back-off, tokens given back',
    covers: [
      gateway('live', 'knows that nothing was sent where the connection was refused'),
      gateway('live', 'knows that nothing was sent where the name does not resolve'),
      golden('an-unreachable-venue-is-no-unknown-outcome'),
    ],
  },
  {
    fault: 'the name leads to a private address',
    handled: 'blocked',
    covers: [gateway('live', 'does not connect where the name leads to %s')],
  },
  {
    fault: 'TLS certificate invalid, expired, of another host',
    handled: 'not sent, no fallback',
    covers: [
      gateway('live', 'sends nothing to a server whose certificate is not trusted'),
      gateway('live', 'refuses to start where the check of certificates is switched off'),
    ],
  },
  {
    fault: 'reset during the upload',
    handled: 'ambiguous',
    covers: [gateway('live', 'cannot say that nothing was sent where the connection broke during the request'), SEEDS],
  },
  {
    fault: 'reset on an idle connection',
    handled:
      'none carries a request after four idle seconds; else ambiguous for what changes something, never replayed',
    covers: [
      gateway('live', 'sends no request on one that was idle %s'),
      gateway('live', 'cannot say it for a reused connection either, and does not try again'),
    ],
  },
  {
    fault: '500, 502, 503, 504',
    handled: 'ambiguous for POST; reads and cancels tried again',
    covers: [
      SEEDS,
      golden('a-server-error-is-an-unknown-outcome'),
      gateway('live', 'does not repeat a request that was answered with %i'),
    ],
  },
  {
    fault: '429 with X-RateLimit-Retry-After',
    handled: 'traffic of its weight waits; looked up before it is sent again',
    covers: [
      SEEDS,
      golden('a-limited-order-is-looked-up-before-it-is-sent-again'),
      live('orders', 'by the rate limit: sent again with the same bytes, not before the venue said'),
    ],
  },
  {
    fault: '429 without a header, or with garbage',
    handled: 'exponential back-off, clamped',
    covers: [
      venue('budget', 'without a time backs off with full jitter'),
      venue('headers', 'ignores %j'),
      live('orders', 'by an empty 429 without a hint: sent again all the same'),
    ],
  },
  {
    fault: 'limit reported by 200 and success: false',
    handled: 'recognised by its header; a text alone is a rejection',
    covers: [
      golden('a-rejection-that-ends-like-the-rate-limit-is-sent-once'),
      venue('answers', 'reads another status as an exhausted limit where the profile lists it'),
      venue('rate-limit', 'can refuse with another status and a plain Retry-After'),
    ],
  },
  {
    fault: 'the remaining tokens drop by foreign use',
    handled: 'the venue’s word counts',
    covers: [
      venue('budget', 'leaves tokens to a program outside the ledger'),
      venue('budget', 'counts tokens that it cannot have used itself as use by others, for a window'),
      SEEDS,
    ],
  },
  {
    fault: 'unit of the reset header unclear',
    handled: 'by magnitude, only near now',
    covers: [venue('headers', 'recognizes %s by its form')],
  },
  {
    fault: 'success: false with an unknown text',
    handled:
      'the step fails after a look-up; the run watches the order until its absence is proven; doubtful words are no answer',
    covers: [
      golden('a-refusal-in-doubtful-words-is-an-unknown-outcome'),
      golden('a-refused-order-that-appears-is-adopted-by-the-retry'),
      golden('a-refused-order-that-appears-unwanted-is-cancelled'),
      golden('a-refused-order-is-tried-again-only-when-its-absence-is-proven'),
      SEEDS,
      golden('a-refusal-of-unknown-text-is-watched-until-absence-is-proven'),
      golden('a-refusal-of-unknown-text-whose-order-is-there-is-adopted'),
    ],
  },
  {
    fault: 'success: false with a known refusal',
    handled: 'terminal, no retry',
    covers: [
      venue('answers', 'knows the words of the profile, in any case, and doubts before it believes'),
      golden('place-that-is-refused-at-once'),
    ],
  },
  {
    fault: '200, success, and no record on POST',
    handled: 'ambiguous',
    covers: [SEEDS, venue('answers', 'a placement with %s is unreadable')],
  },
  {
    fault: 'two records, or another order’s record',
    handled: 'ambiguous: the answer proves nothing',
    covers: [
      SEEDS,
      golden('an-answer-of-another-order-is-an-unknown-outcome'),
      venue('faults', 'two_records and other_record contradict the request'),
    ],
  },
  {
    fault: 'malformed or truncated JSON',
    handled: 'ambiguous; reads tried again',
    covers: [SEEDS, venue('answers', '%s is unreadable')],
  },
  { fault: 'HTML, another content type', handled: 'ambiguous', covers: [SEEDS, venue('answers', '%s is unreadable')] },
  { fault: 'empty body', handled: 'ambiguous', covers: [SEEDS, venue('answers', '%s is unreadable')] },
  {
    fault: 'an answer that drips',
    handled: 'one time-out for the whole exchange; ambiguous',
    covers: [gateway('live', 'gives up on an answer that drips'), SEEDS],
  },
  {
    fault: '200 MB, a gzip bomb, deep JSON',
    handled: 'capped, aborted, ambiguous',
    covers: [
      gateway('live', 'stops reading after 8 MiB'),
      gateway('live', 'stops unpacking after 8 MiB'),
      venue('wire', 'reads a hundred thousand opening brackets without a stack overflow'),
    ],
  },
  {
    fault: 'a redirection',
    handled: 'not followed; ambiguous',
    covers: [gateway('live', 'does not follow a %i, nor repeat the request elsewhere'), SEEDS],
  },
  {
    fault: 'the JWT has expired on POST /orders',
    handled: 'one refresh, a look-up, then the same order again',
    covers: [
      SEEDS,
      golden('an-expired-session-is-renewed-and-the-order-looked-up'),
      live('account', 'renews a JWT that was refused for the first reading'),
    ],
  },
  {
    fault: 'the refresh fails, times out or rotates',
    handled: 'the old token is kept until the new one is there; after three failures an alert and no new orders',
    covers: [
      gateway('session', 'keeps the old JWT until there is a new one, and waits longer after each failure'),
      gateway('session', 'stores the new one before anything uses it'),
      live('account', 'ends cleanly without a session, and places nothing'),
      SEEDS,
    ],
  },
  {
    fault: 'two refusals of one session at once',
    handled: 'one refresh',
    covers: [gateway('session', 'renews once for all waiting requests')],
  },
  {
    fault: 'the order is not shown yet',
    handled: 'polled by its id, never sent again',
    covers: [
      SEEDS,
      golden('place-that-is-not-shown-for-a-while-is-waited-for'),
      live('orders', 'is waited for while the venue does not show it yet'),
    ],
  },
  {
    fault: 'the order stays in processing',
    handled: 'cancelled and looked at; the step ends as unresolved',
    covers: [
      golden('place-that-stays-in-processing-is-taken-back'),
      golden('place-that-the-venue-never-decides-halts'),
      SEEDS,
    ],
  },
  {
    fault: 'the order is rejected later',
    handled: 'the step fails with the reason',
    covers: [SEEDS, golden('place-that-is-rejected-late-is-an-error-of-its-own-kind')],
  },
  {
    fault: 'filled while it is amended',
    handled: 'closed; the amend came too late',
    covers: [golden('amend-that-comes-too-late-finds-nothing'), SEEDS],
  },
  {
    fault: 'part-filled during an amend of its size',
    handled: 'a new size is denied once anything is filled',
    covers: [
      golden('amend-of-the-size-of-a-part-filled-order-is-denied'),
      venue('order', 'refuse a new size for a part-filled order and for a position stop'),
    ],
  },
  {
    fault: 'an amend without an answer, and a newer one wanted',
    handled: 'one after the other, read back between',
    covers: [
      SEEDS,
      golden('amend-whose-answer-is-lost-is-read-back'),
      live('orders', 'and whose PUT got no answer is read, not amended a second time'),
    ],
  },
  {
    fault: 'cancel of an order that is over',
    handled: 'the record decides',
    covers: [
      SEEDS,
      golden('cancel-of-an-order-that-is-over-sends-nothing'),
      golden('cancel-that-lost-against-a-fill-is-done'),
    ],
  },
  {
    fault: 'a fill wins against an acknowledged cancel',
    handled: 'closed, fills booked',
    covers: [
      SEEDS,
      golden('cancel-that-lost-against-a-fill-is-done'),
      live('orders', 'and filled while it was being cancelled counts as filled'),
    ],
  },
  {
    fault: 'cancel_all while a POST is in flight',
    handled:
      'nothing new is sent meanwhile, by no run of the account; read back and cancelled again until the list has stayed empty; orders that are left are reported',
    covers: [
      golden('cancel-all-keeps-new-orders-back-while-it-is-under-way'),
      golden('cancel-all-takes-an-order-that-was-on-its-way'),
      golden('cancel-all-reports-what-it-could-not-take'),
      ['test/engine/sweep.test.ts', 'ends when the venue has shown nothing that could fill for'],
      kept(6791),
      SEEDS,
    ],
  },
  {
    fault: 'the switch fires while the engine lives',
    handled:
      'heartbeats have tokens of their own and give up an answer in time; a gap is taken for fired, and everything is read before a new order',
    covers: [
      kept(426),
      kept(10007),
      gateway('budget', 'find their tokens, whatever else every process of the address wants'),
      golden('deadman-is-assumed-fired-when-no-heartbeat-is-answered'),
      golden('deadman-is-armed-again-before-the-next-order-after-it-fired'),
      venue('deadman', 'never reports armed, and never allows an order, after the switch has fired'),
      SEEDS,
    ],
  },
  {
    fault: 'the switch fires while the engine is down',
    handled: 'no order before everything was read; an absence of unknown length counts as too long',
    covers: [
      kept(3052),
      kept(1071),
      venue(
        'deadman',
        'makes a switch that was armed or being disarmed assumed fired, and requires a read of every order',
      ),
      SEEDS,
    ],
  },
  {
    fault: 'GET finds the switch off although it was armed',
    handled: 'taken for fired',
    covers: [
      venue('deadman', 'is also shown by a read that finds nothing, unless it was sent before the switch was armed'),
      live(
        'account',
        'counts as fired when a step finds it off although it was armed: the run does not continue as if it were armed',
      ),
    ],
  },
  {
    fault: 'a heartbeat arrives after the DELETE',
    handled: 'drained, read back, deleted again',
    covers: [venue('deadman', 'sends DELETE again where the switch is active after it'), SEEDS],
  },
  {
    fault: 'another tool armed the switch',
    handled: 'echo compared, alarm',
    covers: [
      venue('deadman', 'raises an alarm for an echo of another time-out, and uses the shorter'),
      venue('deadman', 'finds a switch of another program'),
    ],
  },
  {
    fault: 'a time-out of 1 ms in the YAML',
    handled: 'refused live, a warning in a dry-run',
    covers: [['test/golden/runbooks/warns-deadman-timeout-short.yml'], live('refusals', 'a deadman')],
  },
  {
    fault: 'SIGKILL at each crash point',
    handled: 'crash-points.ts',
    covers: [
      SEEDS,
      ['test/simulation/kills.test.ts', 'lose no order and double none, whatever is resumed'],
      ['test/cli/testing-crash.test.ts', 'a process that dies'],
    ],
    open: 'CP19, CP21 and CP22 are no points of a call: anchors and token files have tests of their own, a duplicate is reported and never cancelled by machine',
  },
  {
    fault: 'SIGTERM, SIGINT',
    handled: 'settles, cancels or leaves as declared, disarms',
    covers: [live('processes', '%s: the order is taken back, the switch disarmed, exit %i')],
  },
  {
    fault: 'power lost: an unsynced tail is gone',
    handled: 'the last commit is whole or not there; damage in the middle is refused',
    covers: [
      SEEDS,
      ['test/journal/sqlite.test.ts', 'loses nothing that was reported durable, and leaves a chain that verifies'],
      [
        'test/journal/sqlite.test.ts',
        'finds a damaged page when it reads it, and names the run that cannot be verified',
      ],
    ],
  },
  {
    fault: 'the disk is full or read-only',
    handled: 'no durable attempt, no order; cancels are still sent, but for that of a stop which makes way for an exit',
    covers: [
      SEEDS,
      kept(5876),
      kept(9050),
      [
        'test/journal/sqlite.test.ts',
        'says unavailable when the disk is full, keeps what was there and works again when there is room',
      ],
      ['test/journal/sqlite.test.ts', 'says unavailable for a read-only file'],
      live('store-away', '%s ends within two minutes, with its order cancelled by itself'),
    ],
  },
  {
    fault: 'fsync fails',
    handled: 'this process writes nothing more',
    covers: [
      [
        'test/journal/writer.test.ts',
        'fails every time after one failed commit, with the same error, for every caller',
      ],
      ['test/simulation/mutants.ts', 'takes a failed sync for a good one'],
    ],
  },
  {
    fault: 'SQLite is locked',
    handled: 'waits, then freezes; nothing is sent without a record',
    covers: [['test/journal/sqlite.test.ts', 'writes ahead, waits for the disk and for other writers']],
  },
  {
    fault: 'two processes, one account',
    handled: 'the second ends with 3 and sends nothing',
    covers: [
      live(
        'processes',
        'refuse a second run of the account with exit 3; kill ends the first; release frees the account',
      ),
      SEEDS,
    ],
  },
  {
    fault: 'a process wakes after its lease',
    handled: 'it sends nothing; the store refuses its epoch',
    covers: [
      kept(462),
      kept(974),
      SEEDS,
      ['test/contract/store.test.ts', 'fences a writer whose epoch is older than the newest one, and only that'],
      ['test/live/stops.test.ts', '%s, at %s, through a %s'],
    ],
  },
  {
    fault: 'the clock jumps, or is ten minutes off',
    handled: 'durations by the monotonic clock, of dead processes too; look-ups look back an hour',
    covers: [
      kept(1071),
      ['test/base/run-clock.test.ts', 'is measured by the machine where the wall clock %s'],
      [
        'test/base/run-clock.test.ts',
        'is taken from the wall clock on another machine, at least 0, and is not evidence: %s',
      ],
      SEEDS,
      [
        'test/engine/scheduler.test.ts',
        'a clock set back starts nothing again, and nothing late once it has caught up',
      ],
      gateway('session', 'treats a JWT that expired by our clock as valid for a while, because the clock may be wrong'),
    ],
  },
  {
    fault: 'the event loop is blocked',
    handled: 'an alert; after missed heartbeats the switch counts as fired',
    covers: [
      ['test/cli/watchdog.test.ts', 'reports a stall while it lasts, once, and its length afterwards'],
      venue('deadman', 'of exactly the time-out leaves the switch armed; after a longer one it is assumed fired'),
    ],
  },
  {
    fault: 'out of memory, an unhandled rejection',
    handled: 'ends with an exit code; recovery by resume',
    covers: [
      ['test/cli/state.test.ts', 'is reported in one sentence; its stack goes to a file, both without secrets'],
      ['test/simulation/kills.test.ts', 'lose no order and double none, whatever is resumed'],
    ],
    open: 'an exhausted heap itself is not provoked',
  },
  {
    fault: 'decimals of 30 to 400 digits, exponents, NaN',
    handled: 'compared exactly, or the record is refused',
    covers: [
      venue('answers', 'refuses %s as a decimal'),
      venue('answers', 'reads %s as %s, whole'),
      venue('surprises', 'and come back whole in every record'),
      SEEDS,
    ],
  },
  {
    fault: 'an order id of another form, or beyond 2^53',
    handled: 'kept as text; malformed ones refused',
    covers: [
      venue('answers', 'keeps an order id beyond what JavaScript can count'),
      venue('answers', 'refuses an order whose id belongs to another market'),
    ],
  },
  {
    fault: 'an unknown status, side, time in force, field',
    handled: 'tolerated, not terminal, reported once',
    covers: [
      venue('answers', 'keeps unknown statuses and types and notes them, and ignores unknown fields'),
      venue('order', 'are not counted where a status is only unknown (fault-matrix.md, row 56)'),
    ],
  },
  {
    fault: 'a fill on two pages',
    handled: 'counted once by its id',
    covers: [
      venue('order-fills', 'count once each, in whatever order and however often they are read'),
      ['test/simulation/mutants.ts', 'counts a fill twice when a page repeats it'],
    ],
  },
  {
    fault: 'pages shift while rows come in',
    handled: 'oldest first, repeated rows counted once',
    covers: [
      ['test/engine/paging.test.ts', 'are read to their end with all_pages, oldest first, and given newest first'],
      venue('surprises', 'a row is repeated when an order comes in between two pages'),
    ],
  },
  {
    fault: 'equal microseconds at the edge of a page',
    handled:
      'cannot arise: the next page is asked for by its number, never by the time of the last row; rows are distinguished by id',
    covers: [['test/engine/paging.test.ts', 'lose none and double none at a page’s edge where all have one time']],
  },
  {
    fault: 'p_limit ignored or of unknown default',
    handled: 'always sent; a full page asks for the next',
    covers: [
      ['test/engine/paging.test.ts', 'are read to their end with all_pages, oldest first, and given newest first'],
      venue('orders', 'gives 100 rows when p_limit is absent'),
    ],
  },
  {
    fault: 'a fill is corrected, a liquidation',
    handled: 'booked, alarm',
    covers: [
      venue('order-guards', 'reports a liquidation'),
      venue('order-guards', 'keeps the larger size of a corrected fill'),
    ],
  },
  {
    fault: 'a person trades on the venue’s own pages',
    handled: 'shown as external, never touched',
    covers: [golden('cancel-mine-leaves-the-orders-of-others'), venue('order-guards', 'are adopted and reported')],
  },
  {
    fault: 'a thousand open orders',
    handled: 'denied before it is sent',
    covers: [live('orders', 'is not sent into an account with as many open orders as the venue takes')],
  },
  {
    fault: 'setting the leverage without an answer',
    handled: 'set again: the same value twice is the value',
    covers: [golden('set-leverage-whose-answer-is-lost-is-set-again'), SEEDS],
  },
  {
    fault: 'a storm of look-ups after an outage',
    handled: 'classes: protection, resolving, orders, the rest',
    covers: [
      gateway('budget', 'is by class, and first in first out inside one'),
      venue('budget', 'is never refused by a ${name}'),
    ],
  },
  {
    fault: 'the budget is lost with the process',
    handled: 'the shared ledger survives; else the last minute counts as used',
    covers: [
      gateway(
        'budget',
        'keeps the tokens that a dead process held: they count as used until its requests can no longer arrive',
      ),
      [
        'test/contract/shared-processes.test.ts',
        'three processes, one of them killed and replaced, never overrun the limit and use it up',
      ],
      ['test/simulation/mutants.ts', 'begins with a full window after every start'],
    ],
  },
  {
    fault: 'two runs want the same market',
    handled: 'each order belongs to one run; none trades with another',
    covers: [
      SEEDS,
      ['test/cli/scheduler.test.ts', 'runs of one account know each other’s orders: none trades with another'],
    ],
  },
  {
    fault: 'the runbook changes while it runs',
    handled: 'its text is pinned in the journal',
    covers: [
      ['test/simulation/killed-story.test.ts', 'leaves a run that goes on under the text it began with'],
      [
        'test/engine/scheduler.test.ts',
        'an edited slot is a new one: it missed nothing, and nothing of the old one is started',
      ],
    ],
  },
  {
    fault: 'the engine changes while a run goes on',
    handled: 'a divergence is refused with what to do',
    covers: [['test/simulation/mutants.ts', 'plays the record out of order'], SEEDS],
    open: 'journals of releases are to be replayed here once there is a release',
  },
  {
    fault: 'a timer is overdue after a pause',
    handled: 'by the schedule’s misfire policy; waits of a run end at once',
    covers: [
      ['test/engine/scheduler.test.ts', 'a clock set forward past several is a misfire of each, and is reported'],
      SEEDS,
    ],
  },
  {
    fault: 'kill while an attempt is out',
    handled: 'its outcome is handled, its order swept',
    covers: [
      live(
        'processes',
        'refuse a second run of the account with exit 3; kill ends the first; release frees the account',
      ),
      kept(10189),
      SEEDS,
    ],
  },
  {
    fault: 'the kill switch cannot be read',
    handled:
      'nothing that adds risk is sent until it can be read; heartbeats and cancels go on, and no run counts as killed',
    covers: [
      ['test/contract/shared.test.ts', 'is no kill, and says why it cannot be read'],
      live('store-away', '%s fails no run, and sends what adds no risk'),
    ],
  },
  {
    fault: 'a sink of anchors is down',
    handled: 'the others go on, reported once; after `anchors.patience` (10 min) nothing new is sent, but cancels are',
    covers: [
      [
        'test/journal/anchors.test.ts',
        'continues with the other sinks when one fails, and reports once that it failed and once that it works again',
      ],
      live(
        'anchors',
        'sends no order while a copy of the anchors is down for too long, but sends cancels and the deadman switch',
      ),
    ],
  },
  {
    fault: 'the journal is tampered with',
    handled:
      '`audit verify` fails, naming the entry; a journal that one of its newest anchors contradicts is not traded on',
    covers: [
      ['test/journal/chain.test.ts', 'finds a change of any single byte of any line'],
      ['test/cli/audit.test.ts', 'audit verify'],
      ['test/journal/newest-anchors.test.ts', 'is contradicted by an anchor of an entry that was cut off'],
      live('contradicted', 'refuses a new run with exit 3 and sends nothing until the anchors are moved'),
      live('contradicted', 'refuses a state folder from before its last run'),
      live('contradicted', 'lets a resumed run cancel its open orders, and place nothing'),
    ],
  },
  {
    fault: 'a request that no recorded exchange answers',
    handled: 'the nearest one and the difference; never a live call',
    covers: [
      gateway('fixture-transport', 'reports a miss with the nearest exchange and every difference, and sends nothing'),
    ],
  },
  {
    fault: 'an older journal, an empty one or another machine’s trades an account again',
    handled:
      'before the first order of a process: an order of ours at the venue that no journal knows refuses every start with exit 3, until a person adopts it',
    covers: [
      live('newest-journal', 'an older state folder is refused with exit 3, until a person adopts the orders'),
      live('newest-journal', 'a lost state folder is refused, by a scheduler too'),
      live('newest-journal', 'a venue that does not show its orders gets none'),
      live('newest-journal', 'the venue is asked once, for all runs of the process'),
    ],
  },
  {
    fault: 'a store is lost, and a backup restored in its place',
    handled:
      'nothing due since the backup is started; the lost runs’ orders are compared with the venue’s; processes of before are fenced; what was there is kept',
    covers: [
      ['test/cli/backup.test.ts', 'of a running scheduler is one private file, and its restore starts nothing'],
      ['test/cli/backup.test.ts', 'that is older than orders at the venue is not traded on until a person adopts them'],
      ['test/cli/backup.test.ts', 'with a run that had not ended lets it cancel, and not place again what it placed'],
      ['test/cli/backup.test.ts', 'on a machine that has nothing brings the kill switch and epochs that fence'],
      ['test/cli/backup.test.ts', 'that was changed, or is none, is refused with exit 1 and changes nothing'],
    ],
  },
  {
    fault: 'another program reads or backs up the journal’s file while it is in use',
    handled: 'it sees the locks of the process, and takes nothing away',
    covers: [
      ['test/journal/sqlite.test.ts', 'keeps the lock by which other programs see that the file is in use'],
      ['test/cli/store-place.test.ts', 'that reads it and backs it up takes nothing away'],
    ],
  },
  {
    fault: 'the journal’s file, its write-ahead log or the leases are removed or replaced while a process uses them',
    handled: 'the process ends at once, with exit 4; its runs are suspended, and their orders stay as they are',
    covers: [
      ['test/journal/sqlite.test.ts', 'commits nothing once the file'],
      ['test/cli/store-place.test.ts', 'ends at once and leaves its runs to be resumed'],
      ['test/cli/store-place.test.ts', 'is suspended as a single run too'],
    ],
  },
  {
    fault: 'a kill and its release, while the process of a run is stopped, dead or without its database',
    handled: 'the run ends when it goes on or is resumed, and reads which of its orders were cancelled',
    covers: [
      live('processes', 'end a run whose process %s during a kill and its release'),
      ['test/simulation/mutants.ts', 'takes a kill that was released meanwhile for none'],
      ['test/contract/shared.test.ts', 'a kill that was released ends a run that was there when it was given'],
    ],
  },
  {
    fault: 'p_page ignored: every page is the first one',
    handled: 'a full page without a new row ends the list, which then proves nothing; a kill goes on with what it saw',
    covers: [
      [
        'test/engine/paging.test.ts',
        'are not whole where the venue answers every page with the first one, and are not asked for without end',
      ],
      [
        'test/engine/sweep.test.ts',
        'takes what a venue shows that answers every page with the first one, and asks for no third',
      ],
      [
        'test/app/ledger-settling.test.ts',
        'shows nothing that is taken for the whole list, and is asked no third time',
      ],
      ['test/engine/watch.test.ts', 'through a market proves an absence only to its end, with every row read'],
    ],
  },
  {
    fault: 'the venue shows an order as canceled for an instant while it amends it, or a late page does so afterwards',
    handled:
      'it counts as working until a second read says the same; the step reads it, and so does the end of the run',
    covers: [
      ['test/venue/amended-canceled.test.ts', 'a record of canceled: %s'],
      ['test/engine/amends.test.ts', 'works on where a later one shows it: after %i'],
      ['test/engine/amends.test.ts', 'counts as gone before it is judged what the run leaves'],
      ['test/simulation/cases.test.ts', 'a late page shows an amended order as cancelled, and it works on: drawn %i'],
      SEEDS,
    ],
  },
];

/** The page docs/fault-matrix.md: this matrix, and where each invariant is checked. */
export function faultPage(): string {
  const rows = FAULT_ROWS.map(({ fault, handled, covers, open }, index) => {
    const tests = covers
      .map(
        ([file, name]) => `\`${file}\`${name === undefined || name === '' ? '' : `: ${name.replaceAll('|', '\\|')}`}`,
      )
      .join('<br>');
    return `| ${index + 1} | ${fault} | ${handled} | ${tests}${open === undefined ? '' : `<br>**open:** ${open}`} |`;
  });
  const open = FAULT_ROWS.filter((row) => row.open !== undefined).length;
  return [
    '# Fault matrix',
    '',
    '<!-- Made from test/simulation/ by `node test/launch.js simulation/fault-page`; do not edit. -->',
    '',
    `What can go wrong between this program and the venue, and the tests that show what happens then. Of ${FAULT_ROWS.length} rows`,
    `${FAULT_ROWS.length - open} are covered whole; ${open} say what no test shows. \`test/simulation/seeds.test.ts\` runs the whole engine`,
    'against the simulated venue with seeded faults and crashes and checks the invariants against the venue’s own books; a kept',
    'seed is one that failed once.',
    '',
    '| # | what goes wrong | what is done | shown by |',
    '|---|---|---|---|',
    ...rows,
    '',
    ...invariantTable(),
    '',
  ].join('\n');
}
