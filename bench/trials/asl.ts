/**
 * Defines the trials of a peer that executes Amazon States Language locally. Each Task calls a local function that returns the
 * account record, as the product's calls do. The peer has no journal, no limits and no token budget.
 */
import { ACCOUNT_RECORD } from './account-record.ts';
import type { Trial } from './trial.ts';

interface StateMachine {
  run(input: unknown, options: object): { readonly result: Promise<unknown> };
}
interface Peer {
  readonly StateMachine: new (definition: object, options: object) => StateMachine;
}

const RESOURCE = 'arn:aws:lambda:us-east-1:123456789012:function:read';

/** The peer's Task states need Node 22. */
function polyfill(): void {
  const promise = Promise as unknown as { withResolvers?: unknown };
  promise.withResolvers ??= () => {
    const handles: Record<string, unknown> = {};
    handles['promise'] = new Promise((resolve, reject) => Object.assign(handles, { resolve, reject }));
    return handles;
  };
}

function defineTask(next: string | undefined): object {
  return {
    Type: 'Task',
    Resource: RESOURCE,
    ResultPath: '$.read',
    ...(next === undefined ? { End: true } : { Next: next }),
  };
}

interface Definition {
  readonly machine: object;
  readonly tasks: readonly string[];
  readonly input: unknown;
}

async function loadPeer(): Promise<Peer> {
  polyfill();
  // Typed here, so that the sources can be type-checked without the peers.
  return (await import('aws-local-stepfunctions' as string)) as Peer;
}

async function execute(machine: StateMachine, { tasks, input }: Definition): Promise<void> {
  const read = async () => JSON.parse(ACCOUNT_RECORD) as unknown;
  const taskResourceLocalHandlers = Object.fromEntries(tasks.map((name) => [name, read]));
  await machine.run(input, { overrides: { taskResourceLocalHandlers } }).result;
}

/** Measures only the execution of a machine that was created before. */
function runExecution(define: (size: number) => Definition): Trial {
  return {
    async prepare(size) {
      const { StateMachine } = await loadPeer();
      const definition = define(size);
      const machine = new StateMachine(definition.machine, { validationOptions: { noValidate: true } });
      return () => execute(machine, definition);
    },
  };
}

/** Measures from the text of the definition to the outcome, with the peer's default checks. */
function runFromText(define: (size: number) => Definition): Trial {
  return {
    async prepare(size) {
      const { StateMachine } = await loadPeer();
      const definition = define(size);
      const text = JSON.stringify(definition.machine);
      return () => execute(new StateMachine(JSON.parse(text) as object, {}), definition);
    },
  };
}

function defineChain(size: number): Definition {
  const tasks = Array.from({ length: size }, (_, index) => `step ${index}`);
  const states = tasks.map((name, index) => [name, defineTask(tasks[index + 1])] as const);
  return { machine: { StartAt: tasks[0], States: Object.fromEntries(states) }, tasks, input: {} };
}

function defineMap(size: number, states: object, first: string): Definition {
  const Iterator = { StartAt: first, States: states };
  const machine = { StartAt: 'loop', States: { loop: { Type: 'Map', MaxConcurrency: 1, Iterator, End: true } } };
  return { machine, tasks: ['read'], input: Array.from({ length: size }, (_, index) => ({ index })) };
}

/** Defines a condition and its successor. */
function defineCondition(name: string) {
  return {
    [name]: { Type: 'Choice', Choices: [{ Variable: '$.index', NumericGreaterThanEquals: 0, Next: `${name} holds` }] },
    [`${name} holds`]: { Type: 'Succeed' },
  };
}

function defineParallel(size: number, branch: (name: string) => object): Definition {
  const names = Array.from({ length: size }, (_, index) => `branch ${index}`);
  const Branches = names.map((name) => ({ StartAt: name, States: branch(name) }));
  const machine = { StartAt: 'all', States: { all: { Type: 'Parallel', Branches, End: true } } };
  return { machine, tasks: names, input: { index: 0 } };
}

export const ASL_TRIALS = {
  aslWholeLine: runFromText(defineChain),
  aslLine: runExecution(defineChain),
  aslLoop: runExecution((size) => defineMap(size, { read: defineTask(undefined) }, 'read')),
  aslConditions: runExecution((size) => defineMap(size, defineCondition('check'), 'check')),
  aslBranches: runExecution((size) => defineParallel(size, (name) => ({ [name]: defineTask(undefined) }))),
  aslConditionBranches: runExecution((size) => defineParallel(size, defineCondition)),
} as const satisfies Record<string, Trial>;
