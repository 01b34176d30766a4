import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createMachine,
  fromPromise,
  initialTransition,
  transition,
} from 'xstate';
import type { SourceText } from '../../src/base/diagnostic.ts';
import { makeXstateChart, renderDotChart, renderMermaidChart } from '../../src/engine/chart/chart.ts';
import { escapeLabel } from '../../src/engine/chart/mermaid.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import { checkUnheld } from '../runbook/check-unheld.ts';
import { listArrows, listNodes } from './chart-machine.ts';

const FOLDER = fileURLToPath(new URL('../../runbooks/', import.meta.url));
const EXAMPLES = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml') && !name.endsWith('.test.yaml'));

function example(file: string): CheckedRunbook {
  const read = (name: string): SourceText => ({ file: name, text: readFileSync(`${FOLDER}${name}`, 'utf8') });
  const { runbook, diagnostics } = checkRunbook(read(file), (name) =>
    EXAMPLES.includes(`${name}.yaml`) ? read(`${name}.yaml`) : undefined,
  );
  if (runbook === undefined) throw new Error(diagnostics.map((each) => each.message).join('\n'));
  return runbook;
}

function written(steps: string, rest = ''): CheckedRunbook {
  const text = `runbook: written\ndsl: 1\ninputs:\n  n: {type: integer, default: 3}\n  x: {type: text, default: a}\n${rest}steps:\n${steps.replace(/^/gm, '  ')}\n`;
  const { runbook, diagnostics } = checkUnheld({ file: 'written.yaml', text }, () => undefined);
  if (runbook === undefined) throw new Error(diagnostics.map((each) => each.message).join('\n'));
  return runbook;
}

/** Paths of every step of a runbook, found without knowing how steps are nested. */
function pathsOf(value: unknown, found: string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return found;
  if ('verb' in value && 'path' in value) found.push(String(value.path));
  for (const [name, each] of Object.entries(value)) if (name !== 'calls' && name !== 'source') pathsOf(each, found);
  return found;
}

/** The machine with every guard answered by `holds`, every delay known and every verb an actor that is never started here. */
function machineOf(runbook: CheckedRunbook, holds: (guard: string) => boolean = () => true): AnyStateMachine {
  const chart = makeXstateChart(runbook);
  const guards = new Set(
    listNodes(chart)
      .flatMap(listArrows)
      .flatMap(({ guard }) => guard?.type ?? []),
  );
  const delays = new Set(listNodes(chart).flatMap((node) => Object.keys(node.after ?? {})));
  const verbs = new Set(listNodes(chart).flatMap((node) => node.invoke?.src ?? []));
  return createMachine(chart as never).provide({
    guards: Object.fromEntries([...guards].map((guard) => [guard, () => holds(guard)])),
    delays: Object.fromEntries([...delays].map((delay) => [delay, 1])),
    actors: Object.fromEntries([...verbs].map((verb) => [verb, fromPromise(async () => undefined)])),
  } as never);
}

/**
 * Walks the chart as a run would: every step succeeds, unless `fate` says otherwise. Gives the steps in their sequence;
 * `steps` is filled on the way, for guards that count.
 */
function walk(
  machine: AnyStateMachine,
  fate: (id: string) => 'done' | 'error' = () => 'done',
  steps: string[] = [],
): { readonly steps: string[]; readonly ended: unknown } {
  let [snapshot] = initialTransition(machine) as [AnyMachineSnapshot, unknown];
  for (let count = 0; count < 500 && snapshot.status === 'active'; count += 1) {
    const waiting = snapshot._nodes
      .filter(({ type, invoke, after }) => type === 'atomic' && (invoke.length > 0 || after.length > 0))
      .at(-1);
    if (waiting === undefined) break;
    const [asked] = waiting.invoke;
    const delayed = waiting.after[0]?.eventType;
    const step = asked?.id.replaceAll('.', '/') ?? '';
    if (asked !== undefined && step !== 'starting') steps.push(step);
    const type = asked === undefined ? String(delayed) : `xstate.${fate(step)}.actor.${asked.id}`;
    [snapshot] = transition(machine, snapshot, { type } as never) as [AnyMachineSnapshot, unknown];
  }
  return { steps, ended: snapshot.value };
}

/** Guards of what does not happen when all goes well. */
const UNUSUAL = /^(?:retry|an outcome|cancelled|its condition|a branch|every branch|it has stopped)/;

describe.each(EXAMPLES)('the chart of %s', (file) => {
  const runbook = example(file);
  const chart = makeXstateChart(runbook);

  it('is plain JSON, and a machine that XState accepts as it is, without a warning', () => {
    expect(JSON.parse(JSON.stringify(chart))).toStrictEqual(chart);
    const warn = vi.spyOn(console, 'warn');
    // Targets are resolved when the machine is made and when its states are first asked for.
    const machine = createMachine(JSON.parse(JSON.stringify(chart)));
    const targets = (node: (typeof machine)['root']): readonly (string | undefined)[] => [
      ...[...node.transitions.values(), node.always ?? []].flat().flatMap(({ target }) => target?.map(({ id }) => id)),
      ...Object.values(node.states).flatMap(targets),
    ];
    const found = targets(machine.root);
    expect(found.length).toBeGreaterThanOrEqual(listNodes(chart).flatMap(listArrows).length);
    expect(found).not.toContain(undefined);
    expect(warn).not.toHaveBeenCalled();
    expect(Object.keys(chart.states ?? {})).toEqual(
      expect.arrayContaining(['running', 'succeeded', 'stopped', 'failed', 'halted']),
    );
  });

  it('has every step exactly once, with its line', () => {
    const facts = listNodes(chart).flatMap(({ meta }) => (meta !== undefined && 'path' in meta ? [meta] : []));
    expect(facts.map(({ path }) => path).sort()).toEqual([...pathsOf(runbook)].sort());
    const lines = runbook.source.text.split('\n');
    for (const { verb, id, line } of facts) {
      const around = lines.slice((line ?? 0) - 1, (line ?? 0) + 4).join('\n');
      expect(around).toContain(`${verb}:`);
      if (id !== undefined) expect(around).toContain(id);
    }
  });

  it('can be left from every state but the final ones', () => {
    const stuck = listNodes(chart).filter((node) => {
      const leaves = listArrows(node).length > 0 || node.type === 'final' || node.states !== undefined;
      // Failing is what it is for: the failure goes to the block around it.
      return !leaves && node.invoke?.src !== 'fail';
    });
    expect(stuck).toEqual([]);
  });

  it('ends succeeded when all goes well, failed when the first request fails permanently', () => {
    const steps: string[] = [];
    const holds = (guard: string): boolean =>
      !UNUSUAL.test(guard) && (!/^another|within|rounds/.test(guard) || steps.length < 8);
    const went = walk(machineOf(runbook, holds), undefined, steps);
    // Some of them stop by a condition, which holds here.
    expect(['succeeded', 'stopped']).toContain(went.ended);
    expect(went.steps.length).toBeGreaterThan(0);
    const fails = (guard: string) => !UNUSUAL.test(guard) && !/^(?:the run|any error|error is)|newest/.test(guard);
    const failed = walk(machineOf(runbook, fails), (id) => (id.startsWith('steps/') ? 'error' : 'done'));
    expect(failed.ended).toBe('failed');
  });

  it('is text that Mermaid and Graphviz can read, whatever the author wrote', () => {
    const lines = renderMermaidChart(runbook).trimEnd().split('\n');
    expect(lines.slice(0, 2)).toEqual(['stateDiagram-v2', '  direction TB']);
    const grammar =
      /^ *(?:\[\*\] --> \w+|\w+ --> (?:\[\*\]|\w+)(?: : [^:;#"{}<>[\]%]*(?:#\d+;[^:;#"{}<>[\]%]*)*)?|\w+ : [^:;#"{}<>[\]%]*(?:#\d+;[^:;#"{}<>[\]%]*)*|state \w+ (?:\{|<<choice>>)|\}|--)$/;
    for (const line of lines.slice(2)) expect(line).toMatch(grammar);
    expect(lines.filter((line) => line.endsWith('{'))).toHaveLength(lines.filter((line) => line.trim() === '}').length);
    const dot = renderDotChart(runbook);
    // With the quoted texts taken out, what is left is structure alone.
    const bare = dot.replace(/"(?:[^"\\]|\\.)*"/g, 'Q');
    expect(bare.match(/\{/g)?.length).toBe(bare.match(/\}/g)?.length);
    for (const line of bare.split('\n').slice(5, -2))
      expect(line).toMatch(
        /^ *(?:Q \[[\w=, Q.]+\];|start -> Q(?: \[[\w=, Q]+\])?;|subgraph Q \{|label=Q; [\w=; Q.]+;|\}|Q -> Q(?: \[[\w=, Q]+\])?;)$/,
      );
  });
});

describe('mermaidChart', () => {
  it('gives the box of a stop another id than a step of its name', () => {
    const text = renderMermaidChart(
      written('- id: a\n  read_account: {}\n  catch: [{on: any, then: stop}]\n- id: a_ends\n  wait: 1s'),
    );
    expect(text).toContain('running_a_ends : a_ends#58; wait 1s');
    expect(text).toContain('running_a_ends_2 : stops the run');
    expect(text).toMatch(/running_a --> running_a_ends_2 : any error/);
  });

  it('is this for bracket-entry', async () => {
    await expect(renderMermaidChart(example('bracket-entry.yaml'))).toMatchFileSnapshot(
      '../golden/charts/bracket-entry.mmd',
    );
  });

  it.each([
    ['a:b;c#d', 'a#58;b#59;c#35;d'],
    [
      'x "y" {z} <<choice>> [[fork]] %% -->',
      'x #34;y#34; #123;z#125; #60;#60;choice#62;#62; #91;#91;fork#93;#93; #37;#37; --#62;',
    ],
    ['in Direction  TB\nof', 'in #68;irection TB of'],
    ['\u001b[31m\u202e', '#27;#91;31m#8238;'],
    ['  ', '#32;'],
  ])('writes the label %j as %j', (text, label) => {
    expect(escapeLabel(text)).toBe(label);
  });
});

describe('xstateChart', () => {
  it('is this for bracket-entry', async () => {
    const text = `${JSON.stringify(makeXstateChart(example('bracket-entry.yaml')), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot('../golden/charts/bracket-entry.json');
  });

  it('leads a failure to its catch, and what the catch does not take to the block around', () => {
    const runbook = written(`
- id: outer
  repeat:
    max: 2
    do:
      - id: inner
        read_account: {}
        catch: [{on: [rejected], then: continue}]
  catch: [{on: [timeout], do: [{notify: {to: ops, text: late}}], then: fail}]
- read_tier: {}`);
    const takes = (word: string) => machineOf(runbook, (guard) => guard.includes(word));
    // inner fails in each of two rounds.
    const asked: string[] = [];
    const twice = machineOf(
      runbook,
      (guard) => /^error is rejected|^the run has/.test(guard) || (guard.startsWith('fewer') && asked.length < 2),
    );
    const innerFails = (id: string) => (id.endsWith('/inner') || id.endsWith('/fails') ? 'error' : 'done');
    expect(walk(twice, innerFails, asked)).toEqual({
      steps: ['steps/outer/do/inner', 'steps/outer/do/inner', 'steps/2:read_tier'],
      ended: 'succeeded',
    });
    const outer = machineOf(runbook, (guard) => guard.includes('timeout') || guard.startsWith('fewer'));
    expect(walk(outer, innerFails)).toEqual({
      steps: ['steps/outer/do/inner', 'steps/outer/catch/1/1:notify', 'steps/outer/catch/1/fails'],
      ended: 'failed',
    });
    expect(walk(takes('fewer'), innerFails).ended).toBe('failed');
  });

  it('runs branches at the same time, and joins them when all have ended', () => {
    const branches = (join: string) =>
      written(
        `- parallel:\n    branches:\n      a: [{read_account: {}}]\n      b: [{read_tier: {}}]\n    join: ${join}\n    on_fail: cancel_others\n- refresh_session: {}`,
      );
    const bFails = (step: string) => (/read_tier|fails/.test(step) ? 'error' : 'done');
    const all = machineOf(branches('all'), (guard) => guard === 'a branch has failed');
    expect(walk(all, bFails)).toMatchObject({ ended: 'failed' });
    const any = machineOf(branches('any'), () => false);
    const went = walk(any, bFails);
    expect(went).toEqual({
      steps: [
        'steps/1:parallel/branches/b/1:read_tier',
        'steps/1:parallel/branches/a/1:read_account',
        'steps/2:refresh_session',
      ],
      ended: 'failed',
    });
    expect(makeXstateChart(branches('all')).states?.running?.states?.parallel_1?.type).toBe('parallel');
  });

  it('takes the events of a run: halted and resumed, stopped by --until, cancelled', () => {
    const runbook = written('- read_account: {}', 'on_error: [{read_tier: {}}]\nfinally: [{read_tier: {}}]\n');
    const machine = machineOf(runbook, (guard) => guard.startsWith('an outcome'));
    const reach = (...types: readonly string[]) =>
      types.reduce(
        (snapshot, type) => transition(machine, snapshot, { type } as never)[0] as AnyMachineSnapshot,
        initialTransition(machine)[0] as AnyMachineSnapshot,
      ).value;
    const begun = 'xstate.done.actor.starting';
    expect(reach('HALTED')).toBe('halted');
    expect(reach(begun, 'HALTED')).toHaveProperty('on_error');
    expect(reach(begun, 'FAILED')).toHaveProperty('on_error');
    expect(reach(begun, 'STOPPED')).toHaveProperty('finally');
    expect(reach(begun, 'HALTED', 'HALTED', 'HALTED')).toBe('halted');
    // What it settles ends halted once more, since an outcome is not known here.
    expect(reach(begun, 'HALTED', 'HALTED', 'HALTED', 'RESUMED')).toBe('halted');
    expect(makeXstateChart(runbook).states?.halted?.on).toEqual({ RESUMED: [{ target: 'settling' }] });
  });

  it('goes on with the next step of a clean-up where one halts', () => {
    const rest =
      'on_error:\n  - {id: a, cancel: {mine: BTC-USD}}\n  - {id: b, notify: {to: ops, text: x}}\nfinally:\n  - {id: c, cancel: {mine: BTC-USD}}\n';
    const { on_error: handled, finally: last } = makeXstateChart(written('- read_account: {}', rest)).states ?? {};
    const halts = (node: typeof handled, id: string) => node?.states?.[id]?.on?.['HALTED'];
    expect([halts(handled, 'a'), halts(handled, 'b'), halts(last, 'c')]).toEqual([
      [{ target: 'b' }],
      undefined,
      [{ target: 'done' }],
    ]);
    expect([handled?.on?.['HALTED'], last?.on?.['HALTED']]).toEqual([undefined, undefined]);
  });

  it('goes on with the next step of a clean-up where a wait for an order halts, and no other wait does', () => {
    const place = '- {id: o, place: {type: limit, market: BTC-USD, side: long, size: 1, price: 1}}';
    const waits = `finally:
  - {id: ended, if: o.hasValue(), wait_for: {order: o, is: terminal, within: 1s}}
  - {id: one, if: o.hasValue(), wait_for: {any: '[o]', is: terminal, within: 1s}}
  - {id: inner, if: o.hasValue(), do: [{wait_for: {order: o, is: terminal, within: 1s}}]}
  - {id: until, wait_for: {until: inputs.n > 1, within: 1s}}
  - {id: time, wait: 1s}
`;
    const { finally: last } = makeXstateChart(written(place, waits)).states ?? {};
    expect(['ended', 'one', 'inner', 'until', 'time'].map((id) => last?.states?.[id]?.on?.['HALTED'])).toEqual([
      [{ target: 'if_one' }],
      [{ target: 'inner' }],
      [{ target: 'until' }],
      undefined,
      undefined,
    ]);
  });

  it('stops into finally, and knows afterwards that it was stopped', () => {
    const runbook = written(
      `- if: inputs.n > 1\n  stop: {outcome: early, because: enough}\n- read_account: {}`,
      'finally: [{read_tier: {}}]\n',
    );
    const stopped = walk(machineOf(runbook, (guard) => guard === 'inputs.n > 1' || guard === 'the run was stopped'));
    expect(stopped).toEqual({ steps: ['steps/1:stop', 'finally/1:read_tier'], ended: 'stopped' });
    const went = walk(machineOf(runbook, (guard) => guard === 'the run has succeeded'));
    expect(went).toEqual({ steps: ['steps/2:read_account', 'finally/1:read_tier'], ended: 'succeeded' });
  });

  it('polls until the condition holds or the time is over', () => {
    const runbook = written(
      `- wait_for: {read: {id: acct, read_account: {}}, until: acct.health > 1, every: 1s, within: 1m}\n  on_timeout: [{fail: {because: never}}]`,
    );
    const asked: string[] = [];
    const polled = walk(
      machineOf(
        runbook,
        (guard) => guard === (asked.length > 2 ? 'acct.health > 1' : '') || guard.startsWith('the run has'),
      ),
      undefined,
      asked,
    );
    expect(polled).toEqual({ steps: Array(3).fill('steps/1:wait_for/acct'), ended: 'succeeded' });
    const state = makeXstateChart(runbook).states?.running?.states?.wait_for_1;
    expect(state?.after).toEqual({ '1m': [{ target: 'wait_for_1_on_timeout' }] });
  });

  it('undoes what was done, newest first, when the run fails', () => {
    const placing = (id: string) =>
      `- id: ${id}\n  place: {type: limit, market: BTC-USD, side: long, size: 1, price: 1}`;
    const runbook = written(`${placing('a')}\n${placing('b')}\n- read_account: {}`);
    const undone: string[] = [];
    const failed = walk(
      machineOf(runbook, (guard) => /newest/.test(guard) && !undone.includes(`${guard.split(' ')[0]}/undo`)),
      (id) => (id.endsWith('read_account') ? 'error' : 'done'),
      undone,
    );
    expect(failed).toEqual({
      steps: ['steps/a', 'steps/b', 'steps/3:read_account', 'steps/b/undo', 'steps/a/undo'],
      ended: 'failed',
    });
  });

  it('gives distinct keys to names that differ only in characters a key cannot hold', () => {
    const runbook = written(
      `- read_account: {}\n- id: read_account_1\n  read_account: {}\n- id: done\n  read_account: {}`,
    );
    expect(Object.keys(makeXstateChart(runbook).states?.running?.states ?? {})).toEqual([
      'read_account_1',
      'read_account_1_2',
      'done_2',
      'done',
    ]);
  });
});
