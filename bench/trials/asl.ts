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

function trial(
  definition: (size: number) => {
    readonly machine: object;
    readonly tasks: readonly string[];
    readonly input: unknown;
  },
): Trial {
  return {
    async prepare(size) {
      polyfill();
      // Typed here, so that the sources can be checked without the peers.
      const { StateMachine } = (await import('aws-local-stepfunctions' as string)) as Peer;
      const { machine, tasks, input } = definition(size);
      const made = new StateMachine(machine, { validationOptions: { noValidate: true } });
      const read = async () => JSON.parse(ACCOUNT_RECORD) as unknown;
      const taskResourceLocalHandlers = Object.fromEntries(tasks.map((name) => [name, read]));
      return async () => {
        await made.run(input, { overrides: { taskResourceLocalHandlers } }).result;
      };
    },
  };
}

function chain(size: number) {
  const tasks = Array.from({ length: size }, (_, index) => `step ${index}`);
  const states = tasks.map((name, index) => [name, task(tasks[index + 1])] as const);
  return { machine: { StartAt: tasks[0], States: Object.fromEntries(states) }, tasks, input: {} };
}

function map(size: number) {
  const Iterator = { StartAt: 'read', States: { read: task(undefined) } };
  const machine = { StartAt: 'loop', States: { loop: { Type: 'Map', MaxConcurrency: 1, Iterator, End: true } } };
  return { machine, tasks: ['read'], input: Array.from({ length: size }, (_, index) => ({ index })) };
}

function parallel(size: number) {
  const tasks = Array.from({ length: size }, (_, index) => `read ${index}`);
  const Branches = tasks.map((name) => ({ StartAt: name, States: { [name]: task(undefined) } }));
  return { machine: { StartAt: 'all', States: { all: { Type: 'Parallel', Branches, End: true } } }, tasks, input: {} };
}

export const ASL_TRIALS = {
  aslLine: trial(chain),
  aslLoop: trial(map),
  aslBranches: trial(parallel),
} as const satisfies Record<string, Trial>;
