/** Questions at the terminal, and the lines that answer them. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import { Questions } from '../../src/cli/terminal/questions.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';

/** A person who types, and the text they see. */
function openTerminal() {
  const input = new PassThrough();
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const screen = new Terminal({
    out: output,
    err: output,
    json: false,
    quiet: false,
    color: false,
    environment: environmentOf({}),
  });
  let seen = '';
  output.setEncoding('utf8').on('data', (text: string) => (seen += text));
  let interrupts = 0;
  const interrupt = () => {
    interrupts += 1;
  };
  const questions = new Questions(screen, { input, output, interrupt });
  const settle = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
  return {
    questions,
    screen,
    /** What the last line of the screen shows. */
    lastLine: () =>
      seen
        .split('\n')
        .at(-1)
        ?.split('\u001b[2K')
        .at(-1)
        ?.replace(/^.*\u001b\[\d*J/, '')
        .replace(/\u001b\[\d+G$/, ''),
    seen: () => seen,
    async types(text: string) {
      input.write(text);
      await settle();
    },
    settle,
    shown: () => [...seen.matchAll(/(\w+) \[y\/N\]/g)].map(([, word]) => word),
    interrupts: () => interrupts,
  };
}

/** Answers as they come. */
function told(answers: Readonly<Record<string, Promise<boolean>>>): Record<string, boolean> {
  const given: Record<string, boolean> = {};
  for (const [name, answer] of Object.entries(answers)) void answer.then((word) => (given[name] = word));
  return given;
}

it('one yes answers one question, and the next is shown afterwards', async () => {
  const { questions, types, settle, shown } = openTerminal();
  const given = told({ first: questions.ask('first'), second: questions.ask('second') });
  await settle();
  expect(shown()).toEqual(['first']);
  await types('y\n');
  expect([given, shown()]).toEqual([{ first: true }, ['first', 'second']]);
  await types('no\n');
  expect(given).toEqual({ first: true, second: false });
});

it('ignores what was typed before a question was shown', async () => {
  const { questions, types, settle } = openTerminal();
  const given = told({ first: questions.ask('first') });
  await settle();
  await types('y\ny\n');
  await types('y\n');
  const later = told({ second: questions.ask('second') });
  await settle();
  expect([given, later]).toEqual([{ first: true }, {}]);
  await types('\n');
  expect(later).toEqual({ second: false });
});

it('Ctrl-C answers every question with no, and interrupts once', async () => {
  const { questions, types, settle, interrupts } = openTerminal();
  const given = told({ first: questions.ask('first'), second: questions.ask('second') });
  await settle();
  await types('\u0003');
  expect([given, interrupts()]).toEqual([{ first: false, second: false }, 1]);
  expect(await questions.ask('third')).toBe(false);
});

it('a closed terminal answers no', async () => {
  const { questions, settle } = openTerminal();
  const given = told({ first: questions.ask('first') });
  await settle();
  questions.close();
  await settle();
  expect(given).toEqual({ first: false });
});

it('a withdrawn question ends, and text typed under it does not answer the next one', async () => {
  const { questions, types, settle } = openTerminal();
  let withdraw = () => {};
  const onWithdrawn = (listener: () => void) => {
    withdraw = listener;
    return () => {};
  };
  const wanted = { withdrawn: undefined, onWithdrawn };
  const given = told({ first: questions.ask('first', wanted), second: questions.ask('second') });
  await types('y');
  withdraw();
  await settle();
  expect(given).toEqual({ first: false });
  await types('\n');
  expect(given).toEqual({ first: false, second: false });
});

it('begins on a line of its own, and shows no progress until it is answered', async () => {
  const { questions, screen, types, settle, seen } = openTerminal();
  screen.progress('three orders open');
  const given = told({ first: questions.ask('first') });
  await settle();
  expect(seen()).toContain('three orders open\r\u001b[2Kfirst [y/N]\n');
  screen.progress('four orders open');
  await types('yes\n');
  screen.progress('five orders open');
  await settle();
  expect([given, seen().includes('four'), seen().includes('five')]).toEqual([{ first: true }, false, true]);
});

it('keeps what is being typed below the lines that come meanwhile', async () => {
  const { questions, screen, types, settle, lastLine, seen } = openTerminal();
  const given = told({ first: questions.ask('first') });
  await types('ye');
  screen.note('a stop was filled');
  screen.print('a result');
  await settle();
  expect(seen()).toMatch(/\r\u001b\[2Ka stop was filled\n/);
  expect(lastLine()).toBe('ye');
  await types('s\n');
  screen.note('placed');
  await settle();
  expect([given, seen().endsWith('placed\n')]).toEqual([{ first: true }, true]);
});
