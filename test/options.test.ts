import { describe, expect, it } from 'vitest';
import { parseWords } from './options.js';

const OPTIONS = {
  seeds: { kind: 'whole', means: 'how many' },
  minutes: { kind: 'number', means: 'how long' },
  bin: { kind: 'text', means: 'which' },
  record: { kind: 'flag', means: 'write' },
} as const;
const parse = (...words: string[]) => parseWords('a program', OPTIONS, false, words);

describe('the options of a program beside the product', () => {
  it('are read by their kind', () => {
    expect(parse('--seeds', '20', '--minutes', '1.5', '--bin', 'x', '--record')).toEqual({
      values: { seeds: 20, minutes: 1.5, bin: 'x', record: true },
      rest: [],
    });
    expect(parse()).toEqual({ values: {}, rest: [] });
  });

  it.each([
    ['--sedes', '20'],
    ['--seeds'],
    ['--seeds', '1e9'],
    ['--seeds', '-1'],
    ['--minutes', 'ten'],
    ['--record=yes'],
    ['20'],
  ])('are refused before anything is begun: %s %s', (...words) => expect(parse(...words)).toMatchObject({ exit: 2 }));

  it('stand in the help, each with what it means', () => {
    const help = parse('--help');
    for (const { means } of Object.values(OPTIONS))
      expect(help).toMatchObject({ said: expect.stringContaining(means) });
    expect(help).toMatchObject({ exit: 0 });
  });

  it('leave other words to a program that takes them', () =>
    expect(parseWords('a program', OPTIONS, true, ['a', '--record', 'b'])).toMatchObject({ rest: ['a', 'b'] }));
});
