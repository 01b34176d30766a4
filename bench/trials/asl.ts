/**
 * The peer: Amazon States Language executed locally. Each Task calls a local function that gives a record as long as the
 * account record the product's calls get. No journal, no limits, no token budget: it has none.
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

/** Its Task states want Node 22. */
function polyfill(): void {
  const promise = Promise as unknown as { withResolvers?: unknown };
  promise.withResolvers ??= () => {
    const handles: Record<string, unknown> = {};
    handles['promise'] = new Promise((resolve, reject) => Object.assign(handles, { resolve, reject }));
    return handles;
  };
}

function task(next: string | undefined): object {
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

async function peer(): Promise<Peer> {
  polyfill();
  // Typed here, so that the sources can be checked without the peers.
  return (await import('aws-local-stepfunctions' as string)) as Peer;
}

async function execute(machine: StateMachine, { tasks, input }: Definition): Promise<void> {
  const read = async () => JSON.parse(ACCOUNT_RECORD) as unknown;
  const taskResourceLocalHandlers = Object.fromEntries(tasks.map((name) => [name, read]));
  await machine.run(input, { overrides: { taskResourceLocalHandlers } }).result;
}

/** The execution alone, of a machine that was made before. */
function running(define: (size: number) => Definition): Trial {
  return {
    async prepare(size) {
      const { StateMachine } = await peer();
      const definition = define(size);
      const machine = new StateMachine(definition.machine, { validationOptions: { noValidate: true } });
      return () => execute(machine, definition);
    },
  };
}

/** From the definition's text to the outcome, with the checks that the peer makes unless told otherwise. */
function whole(define: (size: number) => Definition): Trial {
  return {
    async prepare(size) {
      const { StateMachine } = await peer();
      const definition = define(size);
      const text = JSON.stringify(definition.machine);
      return () => execute(new StateMachine(JSON.parse(text) as object, {}), definition);
    },
  };
}

function chain(size: number): Definition {
  const tasks = Array.from({ length: size }, (_, index) => `step ${index}`);
  const states = tasks.map((name, index) => [name, task(tasks[index + 1])] as const);
  return { machine: { StartAt: tasks[0], States: Object.fromEntries(states) }, tasks, input: {} };
}

function map(size: number, states: object, first: string): Definition {
  const Iterator = { StartAt: first, States: states };
  const machine = { StartAt: 'loop', States: { loop: { Type: 'Map', MaxConcurrency: 1, Iterator, End: true } } };
  return { machine, tasks: ['read'], input: Array.from({ length: size }, (_, index) => ({ index })) };
}

/** A condition and what follows from it. */
function condition(name: string) {
  return {
    [name]: { Type: 'Choice', Choices: [{ Variable: '$.index', NumericGreaterThanEquals: 0, Next: `${name} holds` }] },
    [`${name} holds`]: { Type: 'Succeed' },
  };
}

function parallel(size: number, branch: (name: string) => object): Definition {
  const names = Array.from({ length: size }, (_, index) => `branch ${index}`);
  const Branches = names.map((name) => ({ StartAt: name, States: branch(name) }));
  const machine = { StartAt: 'all', States: { all: { Type: 'Parallel', Branches, End: true } } };
  return { machine, tasks: names, input: { index: 0 } };
}

export const ASL_TRIALS = {
  aslWholeLine: whole(chain),
  aslLine: running(chain),
  aslLoop: running((size) => map(size, { read: task(undefined) }, 'read')),
  aslConditions: running((size) => map(size, condition('check'), 'check')),
  aslBranches: running((size) => parallel(size, (name) => ({ [name]: task(undefined) }))),
  aslConditionBranches: running((size) => parallel(size, condition)),
} as const satisfies Record<string, Trial>;
