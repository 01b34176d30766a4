/** Rows of the command table for planning and executing runbooks. */
import type { CommandTable } from '../command-row.ts';

const FILE = { doc: 'runbook file', takes: 'file' } as const;
const INPUT = { doc: 'an input, read by its declared type', value: 'k=v', many: true } as const;
const INPUTS = { doc: 'a file of inputs, YAML or JSON', value: 'FILE', takes: 'file' } as const;
const FIXTURES = { doc: 'recorded exchanges to answer from', value: 'FILE', takes: 'file' } as const;

const ANSWER = {
  doc: 'answer to an approve step, by its id or path, after a time: ok=approve, ok=reject:5m',
  value: 'STEP=WORD',
  many: true,
} as const;

const RUN = { doc: 'name of a run, or an unambiguous part of it', takes: 'text' } as const;
const STEP = { doc: 'path or id of the step', takes: 'text' } as const;
const BY = { doc: 'name of the person', value: 'NAME' } as const;
const SIGN = {
  doc: 'key of the person, Ed25519, as PEM or of OpenSSH: signs the act',
  value: 'FILE',
  takes: 'file',
} as const;
const REASON = { doc: 'reason', value: 'TEXT' } as const;

export const RUN_COMMANDS = {
  plan: {
    summary: 'print every request a runbook would send; sends nothing',
    arguments: { file: FILE },
    options: {
      input: INPUT,
      inputs: INPUTS,
      profile: { doc: 'profile of the deployment', value: 'FILE', takes: 'file' },
      fixtures: FIXTURES,
    },
    example: 'plan bracket-entry.yaml --input side=long --input size=0.25 --input trigger=64200',
  },
  'dry-run': {
    summary: 'execute in virtual time, against recorded exchanges or the simulated venue; opens no socket',
    arguments: { file: FILE },
    options: {
      fixtures: FIXTURES,
      input: INPUT,
      inputs: INPUTS,
      at: { doc: 'start time, ISO 8601', value: 'TIME' },
      seed: { doc: 'seed of the simulated venue, 1 by default; of a sweep the first', value: 'N' },
      sweep: {
        doc: 'run this many seeds on all cores, and every combination of inputs given as size=0.1,0.2; print one table',
        value: 'N',
      },
      chart: {
        doc: 'draw the run, or the histogram of a sweep, into a file: .svg or .html',
        value: 'FILE',
        takes: 'file',
      },
      simulator: { doc: 'configuration of the simulated venue', value: 'FILE', takes: 'file' },
      prices: {
        doc: 'recorded ticks or candles of a market, CSV or CSV.GZ; with one market its name may be left out',
        value: '[MARKET=]FILE',
        takes: 'file',
        many: true,
      },
      answer: ANSWER,
      feed: {
        doc: 'recorded values of a feed of the runbook, CSV; of a feed by market also NAME[MARKET]=FILE',
        value: 'NAME=FILE',
        takes: 'file',
        many: true,
      },
      record: { doc: 'write the exchanges to a fixture', value: 'FILE', takes: 'file' },
    },
    example: 'dry-run bracket-entry.yaml --fixtures bracket-entry.fixture.yaml',
  },
  paper: {
    summary: 'execute in real time with live feeds, and orders at the simulated venue; needs no credentials',
    arguments: { file: FILE },
    options: {
      profile: { doc: 'profile with the feeds and markets', value: 'FILE', takes: 'file', required: true },
      input: INPUT,
      inputs: INPUTS,
      seed: { doc: 'seed of the simulated venue, 1 by default', value: 'N' },
      answer: ANSWER,
    },
    example: 'paper twap.yaml --profile main.yaml',
  },
  rehearse: {
    summary: 'play the market of a past run for a changed runbook, and compare side by side',
    arguments: { run: { doc: 'name of a run, an unambiguous part of it, or `last`', takes: 'text' } },
    options: {
      with: { doc: 'the changed runbook', value: 'FILE', takes: 'file', required: true },
      input: INPUT,
      answer: ANSWER,
    },
    example: 'rehearse last --with twap.yaml',
  },
  run: {
    summary: 'execute for real; unless the address is loopback, prints the plan and asks first',
    arguments: { file: FILE },
    options: {
      profile: { doc: 'profile of the account', value: 'FILE', takes: 'file', required: true },
      input: INPUT,
      inputs: INPUTS,
      record: { doc: 'write the exchanges to a fixture, with secrets replaced', value: 'FILE', takes: 'file' },
      plan: { doc: 'hash of the approved plan; any other plan is refused', value: 'HASH' },
      yes: { doc: 'do not ask' },
      step: { doc: 'ask before each write' },
      until: { doc: 'stop after this step', value: 'ID' },
    },
    example: 'run flatten.yaml --profile main.yaml --input markets=["BTC-USD"]',
  },
  resume: {
    summary: 'continue interrupted runs; all of them without a name',
    arguments: { runs: { doc: 'names of runs', takes: 'text', many: true, optional: true } },
    options: {},
    example: 'resume',
  },
  cancel: {
    summary: 'ask a run to stop cleanly',
    arguments: { run: RUN },
    options: { by: BY, reason: REASON },
    example: 'cancel last',
  },
  approve: {
    summary: 'answer an approve step with yes',
    arguments: { run: RUN, step: STEP },
    options: { by: { ...BY, required: true }, sign: SIGN },
    example: 'approve 20260105 steps/4:switch --by ada',
  },
  reject: {
    summary: 'answer an approve step with no',
    arguments: { run: RUN, step: STEP },
    options: { by: { ...BY, required: true }, reason: REASON, sign: SIGN },
    example: 'reject 20260105 steps/4:switch --by ada',
  },
  kill: {
    summary: 'kill switch: no new orders, cancel_all until nothing is left',
    arguments: {},
    options: {
      profile: { doc: 'the account; without it, every account of the state folder', value: 'FILE', takes: 'file' },
      by: BY,
      reason: REASON,
      sign: SIGN,
    },
    example: 'kill --profile main.yaml',
  },
  release: {
    summary: 'release the kill switch',
    arguments: {},
    options: {
      profile: { doc: 'the account', value: 'FILE', takes: 'file', required: true },
      by: { ...BY, required: true },
      sign: SIGN,
    },
    example: 'release --profile main.yaml --by ada',
  },
  doctor: {
    summary: 'check a profile against its venue, with reads only',
    arguments: {},
    options: {
      profile: { doc: 'profile of the account', value: 'FILE', takes: 'file', required: true },
      notify: { doc: 'also send a test message to each channel of `notify`, and ask for the heartbeat URL' },
    },
    example: 'doctor --profile main.yaml',
  },
  sim: {
    summary: 'serve the simulated venue over HTTP on 127.0.0.1',
    arguments: {},
    options: {
      port: { doc: 'port, 8080 by default; 0 takes a free one', value: 'N' },
      config: { doc: 'configuration of the simulated venue', value: 'FILE', takes: 'file' },
      seed: { doc: 'seed, 1 by default', value: 'N' },
    },
    example: 'sim --port 8080',
  },
  replay: {
    summary: 'execute a recorded run again; fails on the first request that differs',
    arguments: { run: { doc: 'name of a run, or `last`', takes: 'text' } },
    options: {},
    example: 'replay last',
  },
} as const satisfies CommandTable;
