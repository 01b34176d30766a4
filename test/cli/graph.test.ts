import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXIT, UserError } from '../../src/app/errors.ts';
import { drawSvg } from '../../src/cli/terminal/svg.ts';
import { folder } from './command.ts';

const EXAMPLE = fileURLToPath(new URL('../../runbooks/ladder.yaml', import.meta.url));

describe('graph', () => {
  const here = folder();

  it('draws Mermaid unless told otherwise', () => {
    const { exit, out } = here.run('graph', EXAMPLE);
    expect(exit).toBe(EXIT.done);
    expect(out).toMatch(/^stateDiagram-v2\n/);
    expect(here.run('graph', EXAMPLE, '--format', 'mermaid').out).toBe(out);
    expect(JSON.parse(here.run('graph', EXAMPLE, '--json').out)).toEqual({
      runbook: 'ladder',
      format: 'mermaid',
      text: out,
    });
  });

  it('gives an XState machine as JSON', () => {
    const machine = JSON.parse(here.run('graph', EXAMPLE, '--format', 'xstate').out);
    expect(machine).toMatchObject({ id: 'ladder', initial: 'deadman' });
    expect(JSON.parse(here.run('graph', EXAMPLE, '--format', 'xstate', '--json').out)).toEqual({
      runbook: 'ladder',
      format: 'xstate',
      machine,
    });
  });

  it('gives DOT', () => {
    expect(here.run('graph', EXAMPLE, '--format', 'dot').out).toMatch(/^digraph "ladder" \{\n/);
  });

  it('draws an SVG, or says what it needs for that', () => {
    const { exit, out, err } = here.run('graph', EXAMPLE, '--format', 'svg');
    if (exit === EXIT.done) expect(out).toMatch(/<svg [\s\S]*for_each k in range\(inputs\.rungs\)/);
    else
      expect({ exit, err }).toEqual({
        exit: EXIT.usage,
        err: expect.stringContaining('which is not installed: `npm install @hpcc-js/wasm-graphviz`'),
      });
  });

  it('hands the chart to Graphviz as it is', async () => {
    expect(await drawSvg('digraph {}', async () => ({ dot: (source) => `<svg>${source}</svg>` }))).toBe(
      '<svg>digraph {}</svg>',
    );
    await expect(drawSvg('', () => Promise.reject(new UserError('absent')))).rejects.toThrow('absent');
  });

  it('draws nothing of a runbook that is invalid', () => {
    here.write('bad.yaml', 'runbook: bad\ndsl: 1\nsteps:\n  - read_acount: {}\n');
    expect(here.run('graph', 'bad.yaml')).toMatchObject({
      exit: EXIT.failed,
      out: '',
      err: expect.stringContaining('bad.yaml:4:5'),
    });
    expect(JSON.parse(here.run('graph', 'bad.yaml', '--json').out)).toMatchObject({ error: { kind: 'invalid' } });
    expect(here.run('graph', EXAMPLE, '--format', 'png')).toMatchObject({
      exit: EXIT.usage,
      err: expect.stringContaining('mermaid, svg, xstate, dot'),
    });
  });
});
