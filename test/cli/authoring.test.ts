/** The commands for writing runbooks, as a person calls them. */
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/app/errors.ts';
import { folder } from './command.ts';

describe('explain', () => {
  const here = folder();

  it('prints meaning, example and what is accepted', () => {
    const { exit, out, err } = here.run('explain', 'cancel-all-not-explicit');
    expect({ exit, err }).toEqual({ exit: EXIT.done, err: '' });
    expect(out).toMatch(/^cancel-all-not-explicit {2}error\n/);
    expect(out).toContain('\n    cancel_all: {}\n');
    expect(out).toContain('cancel: {mine: MARKET}');
  });

  it('answers one document with --json', () => {
    const { exit, out } = here.run('explain', 'REFUSALS_EXCEEDED', '--json');
    expect([exit, JSON.parse(out)]).toEqual([
      EXIT.done,
      {
        code: 'REFUSALS_EXCEEDED',
        kind: 'denial',
        severity: 'denied',
        meaning: expect.any(String),
        example: expect.any(String),
        accepted: expect.any(String),
        endsRun: true,
      },
    ]);
  });

  it('names the nearest code for an unknown one, with exit 2', () => {
    const { exit, out } = here.run('explain', 'unkown-key', '--json');
    expect([exit, JSON.parse(out).error]).toEqual([
      EXIT.usage,
      { kind: 'usage', message: 'no code is called unkown-key; did you mean unknown-key?' },
    ]);
    const hostile = here.run('explain', '\u001b[31m');
    expect([hostile.exit, hostile.out]).toEqual([EXIT.usage, '']);
    expect(hostile.err).not.toContain('\u001b');
  });
});
