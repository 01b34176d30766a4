/** The texts of a new project, and of a new runbook with its files: short enough to read at a glance, complete enough for a dry-run. */
import { makeSchemaLine } from './schema-line.ts';

/** An entry, its stop, and an entry that never fills. */
export function makeFirstRunbook(name: string): string {
  return `runbook: ${name}
dsl: 1
about: Buys a little below the market; a stop-loss as soon as it is filled, nothing left behind when it is not.

inputs:
  market: {type: market, default: BTC-USD}
  size: {type: size, default: 0.001, max: 0.01}
  # Distance of the entry from the middle price.
  below: {type: bps, default: 5}
  # Distance of the stop from the average fill.
  risk: {type: pct, default: 2}
  within: {type: duration, default: 10m}

feeds:
  mid: {type: price, max_age: 5s}

# Only what working stops of this run cover; else the run fails.
leaves: {position: protected}

limits:
  markets: ["\${inputs.market}"]
  max_order_size: 0.01
  max_order_notional: 1500
  max_open_orders: 2

steps:
  - id: entry
    place:
      type: limit
      market: \${inputs.market}
      side: long
      size: inputs.size
      price: tick(feeds.mid * (1 - inputs.below))

  - wait_for: {order: entry, is: filled, within: inputs.within}
    on_timeout:
      - cancel: entry

  # Also where only a part was filled.
  - if: entry.avg_price.hasValue()
    protect:
      market: \${inputs.market}
      side: short
      stop_loss:
        fraction: 1
        trigger: tick(entry.avg_price * (1 - inputs.risk))
        price: tick(entry.avg_price * (1 - inputs.risk * 2))
    catch:
      - on: [denied, not_placed, rate_limited, rejected, timeout, transport] # without a stop, out at the market
        do:
          - close: {market: "\${inputs.market}", feed: entry.avg_price, slip: 5%}
        then: fail

outputs:
  filled: entry.filled
`;
}

const NAME = 'first-entry';

/** Schemas that the files of a new project name. */
export const PROJECT_SCHEMAS = ['runbook', 'runbook-test', 'simulator', 'profile'] as const;

/** A runbook with what belongs beside it, by what its file name ends in and by its schema. */
export interface Starter {
  readonly runbook: string;
  readonly tests: string;
  readonly simulator: string;
}

export function makeFirstStarter(name: string): Starter {
  return { runbook: makeFirstRunbook(name), tests: makeTests(name), simulator: SIMULATOR };
}

/** The files of a new project beside its schemas: path to text. `version` is pinned in the pipeline. */
export function makeProject(version: string): Readonly<Record<string, string>> {
  const schema = (name: (typeof PROJECT_SCHEMAS)[number]) => makeSchemaLine(`../schemas/${name}.schema.json`);
  return {
    [`runbooks/${NAME}.yaml`]: schema('runbook') + makeFirstRunbook(NAME),
    [`runbooks/${NAME}.test.yaml`]: schema('runbook-test') + makeTests(NAME),
    [`runbooks/${NAME}.sim.yaml`]: schema('simulator') + SIMULATOR,
    'profiles/sim.yaml': schema('profile') + makeProfile('../.runbook'),
    '.github/workflows/runbooks.yml': makePipeline(version),
    '.gitignore': '.runbook/\nnode_modules/\n',
  };
}

function makeTests(name: string): string {
  return `tests: ${name}
defaults:
  clock: 2026-01-05T08:00:00Z
  feeds: {mid: 64000}

cases:
  - name: filled, then protected
    simulator:
      markets:
        BTC-USD: {start: "64000", price: [{hold: 20s}, {jump: "63900"}]}
    expect:
      outcome: succeeded
      requests: [POST /orders limit, POST /orders stop_loss]
      outputs: {filled: "0.001"}
      elapsed: "< 1m"

  - name: not filled, so it is cancelled
    simulator:
      markets:
        BTC-USD: {start: "64000", price: [{hold: 20s}, {jump: "64500"}]}
    expect:
      outcome: succeeded
      requests: [POST /orders limit, DELETE /orders]
      never: [POST /orders stop_loss]
      elapsed: ">= 10m, < 11m"

  - name: the process dies before the answer, and there is still one order
    simulator:
      markets:
        BTC-USD: {start: "64000", price: [{hold: 20s}, {jump: "63900"}]}
    crash_at: {after: POST /orders limit, answer: lost, down: 5s}
    expect:
      outcome: succeeded
      requests_exactly: {POST /orders limit: 1, POST /orders stop_loss: 1}
`;
}

const SIMULATOR = `# The price falls through the entry after nine seconds.
markets:
  BTC-USD:
    start: "64000"
    price:
      - {hold: 9s}
      - {jump: "63950"}
      - {ramp: "64100", over: 51s}
`;

/** The profile of the simulated venue. `state`: the folder of its journal, seen from the profile's file. */
export function makeProfile(state: string): string {
  return `# For the venue of \`runbook sim\`: nothing here is real. A real account has a profile of its own.
profile: sim
base_url: http://127.0.0.1:8080
account: sim

# The simulated venue accepts any token: export VENUE_JWT=any-token-will-do
auth: {mode: jwt, jwt: {env: VENUE_JWT}}

markets:
  BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}
  ETH-USD: {tick: "0.1", lot: "0.001", min_size: "0.001"}
  SOL-USD: {tick: "0.01", lot: "0.01", min_size: "0.01"}

requests:
  market_info:
    method: GET
    path: /markets
    query: {market_id: text}
    tokens: 10
    result: {type: list, of: {fair_price: price, best_bid: price, best_ask: price}}

feeds:
  mid: {request: market_info, with: {market_id: "\${market}"}, read: "result[0].fair_price"}
  mark: {request: market_info, with: {market_id: "\${market}"}, read: "result[0].fair_price"}
  bid: {request: market_info, with: {market_id: "\${market}"}, read: "result[0].best_bid"}
  ask: {request: market_info, with: {market_id: "\${market}"}, read: "result[0].best_ask"}

capabilities: [cancel_all]
limits: {max_order_notional: 50000, max_open_orders: 50, markets: [BTC-USD, ETH-USD, SOL-USD]}
notify: {ops: {log: true}, desk: {log: true}}
store: {sqlite: ${state}/runbook.db}
`;
}

function makePipeline(version: string): string {
  const call = `npx --yes perp-runbook@${version}`;
  return `name: runbooks
on: [push, pull_request]
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-node@v4
        with: {node-version: 22}
      - run: ${call} validate . --format github
      - run: ${call} fmt --check runbooks profiles
      - run: ${call} test runbooks/*.test.yaml
      - run: ${call} dry-run runbooks/${NAME}.yaml --simulator runbooks/${NAME}.sim.yaml
`;
}
