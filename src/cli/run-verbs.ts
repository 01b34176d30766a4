/** The rows of the verb table for what plans and runs a runbook. */
import { type VerbRow, verb } from './verb.ts';

const FILE = { doc: 'runbook file', takes: 'file' } as const;
const INPUT = { doc: 'an input, read by its declared type', value: 'k=v', many: true } as const;
const INPUTS = { doc: 'a file of inputs, YAML or JSON', value: 'FILE', takes: 'file' } as const;
const FIXTURES = { doc: 'recorded exchanges to answer from', value: 'FILE', takes: 'file' } as const;

export const RUN_VERBS: readonly VerbRow[] = [
  verb({
    name: 'plan',
    summary: 'print every request a runbook would send; sends nothing',
    arguments: { file: FILE },
    options: {
      input: INPUT,
      inputs: INPUTS,
      profile: { doc: 'profile of the deployment', value: 'FILE', takes: 'file' },
      fixtures: FIXTURES,
    },
    example: 'plan bracket-entry.yaml --input side=long --input size=0.25 --input trigger=64200',
    async run({ file }, options, invocation) {
      return (await import('./planning.ts')).planFile(file, options, invocation);
    },
  }),
  verb({
    name: 'dry-run',
    summary: 'execute in virtual time, against recorded exchanges or the simulated venue; opens no socket',
    arguments: { file: FILE },
    options: {
      fixtures: FIXTURES,
      input: INPUT,
      inputs: INPUTS,
      at: { doc: 'the time at which it starts, ISO 8601', value: 'TIME' },
      seed: { doc: 'seed of the simulated venue, 1 by default', value: 'N' },
      simulator: { doc: 'configuration of the simulated venue', value: 'FILE', takes: 'file' },
      record: { doc: 'write the exchanges into a fixture', value: 'FILE', takes: 'file' },
    },
    example: 'dry-run bracket-entry.yaml --fixtures bracket-entry.fixture.yaml',
    async run({ file }, options, invocation) {
      return (await import('./rehearsal.ts')).dryRunFile(file, options, invocation);
    },
  }),
  verb({
    name: 'replay',
    summary: 're-execute a recorded run; fails on the first request that differs',
    arguments: { run: { doc: 'name of a run, or `last`', takes: 'text' } },
    options: {},
    example: 'replay last',
    async run({ run }, _options, invocation) {
      return (await import('./rehearsal.ts')).replay(run, invocation);
    },
  }),
];
