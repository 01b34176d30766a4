/** Tests what is shown of a run that has ended, where its journal cannot be read and where no process reads the document. */
import { describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import { EXIT } from '../../src/app/errors.ts';
import { showEnd } from '../../src/cli/terminal/run-end.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';
import type { Entry } from '../../src/journal/entry.ts';
import { StoreAway } from '../../src/journal/store.ts';
import { RunOutlineFold } from '../../src/report/folds/run.ts';
import { sampleRun } from '../report/sample-run.ts';
import { makeRunReport } from '../report/whole-run.ts';

async function endRun(entries: () => AsyncIterable<Entry>, outcome?: 'succeeded' | 'halted') {
  const known = new RunOutlineFold();
  for (const entry of await sampleRun()) {
    if (outcome === undefined || entry.type !== 'run.ended') known.apply(entry);
    else known.apply({ ...entry, data: { outcome, outputs: {} } });
  }
  return { source: { known, entries }, residual: known.residual(), signal: undefined, recording: undefined };
}

async function* readSample(): AsyncGenerator<Entry> {
  yield* await sampleRun();
}

function makeTerminal(json: boolean, taken = Number.POSITIVE_INFINITY) {
  const written = { out: '', pieces: 0 };
  const out = {
    write(text: string, done?: () => void) {
      written.out += text;
      written.pieces += 1;
      queueMicrotask(() => done?.());
      return false;
    },
    get writable() {
      return written.pieces < taken;
    },
  };
  const err = { write() {} };
  const made = new Terminal({ out, err, json, quiet: false, color: false, environment: environmentOf({}) });
  return { made, written };
}

describe('the end of a run', () => {
  it('is one document, also where the output takes it slowly', async () => {
    const { made, written } = makeTerminal(true);
    const exit = await showEnd(await endRun(readSample), made);
    expect([exit, written.out]).toEqual([EXIT.failed, `${JSON.stringify(makeRunReport(await sampleRun()))}\n`]);
  });

  it.each([
    [true, 'succeeded', EXIT.failed],
    [false, 'succeeded', EXIT.failed],
    [false, 'halted', EXIT.halted],
  ] as const)(
    'is known where the store does not answer any more (JSON %s, %s: exit %i)',
    async (json, outcome, exit) => {
      const { made } = makeTerminal(json);
      const throwing = async function* () {
        yield* [];
        throw new StoreAway('the disk is gone');
      };
      expect(await showEnd(await endRun(throwing, outcome), made)).toBe(exit);
      expect(await showEnd(await endRun(readSample, outcome), made)).toBe(
        outcome === 'halted' ? EXIT.halted : EXIT.done,
      );
    },
  );

  it('is not written to a reader that has gone', async () => {
    const { made, written } = makeTerminal(true, 0);
    expect(await showEnd(await endRun(readSample), made)).toBe(EXIT.failed);
    expect(written.pieces).toBe(0);
  });
});

it('a long answer is written in pieces of its own', async () => {
  const { made, written } = makeTerminal(false);
  const lines = Array.from({ length: 5000 }, (_each, index) => `line ${index} of many, with some length\n`);
  const read = async function* () {
    yield* lines;
  };
  await made.answerInPieces(read(), read());
  expect(written.out).toBe(lines.join(''));
  expect(written.pieces).toBeLessThan(10);
});
