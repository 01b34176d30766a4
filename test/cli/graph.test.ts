import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXIT, UserError } from '../../src/app/errors.ts';
import { drawSvg } from '../../src/cli/terminal/svg.ts';
import { folder } from './command.ts';

const EXAMPLE = fileURLToPath(new URL('../../runbooks/ladder.yaml', import.meta.url));

describe('graph', () => {
  const here = folder();

  it('draws Mermaid by default', () => {
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

  it('prints an XState machine as JSON', () => {
    const machine = JSON.parse(here.run('graph', EXAMPLE, '--format', 'xstate').out);
    expect(machine).toMatchObject({ id: 'ladder', initial: 'starting' });
    expect(JSON.parse(here.run('graph', EXAMPLE, '--format', 'xstate', '--json').out)).toEqual({
      runbook: 'ladder',
      format: 'xstate',
      machine,
    });
  });

  it('prints DOT', () => {
    expect(here.run('graph', EXAMPLE, '--format', 'dot').out).toMatch(/^digraph "ladder" \{\n/);
  });

  it('draws an SVG, or names the missing package', () => {
    const { exit, out, err } = here.run('graph', EXAMPLE, '--format', 'svg');
    if (exit === EXIT.done) expect(out).toMatch(/<svg [\s\S]*for_each k in range\(inputs\.rungs\)/);
    else
      expect({ exit, err }).toEqual({
        exit: EXIT.usage,
        err: expect.stringContaining('which is not installed: `npm install @hpcc-js/wasm-graphviz`'),
      });
  });

  it('passes the chart to Graphviz unchanged', async () => {
    expect(await drawSvg('digraph {}', async () => ({ dot: (source) => `<svg>${source}</svg>` }))).toBe(
      '<svg>digraph {}</svg>',
    );
    await expect(drawSvg('', () => Promise.reject(new UserError('absent')))).rejects.toThrow('absent');
  });

  it('draws nothing for an invalid runbook', () => {
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
