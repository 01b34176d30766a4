/** Builds sample journals, shared by the journal and report tests. */
import { VirtualClock } from '../../src/base/clock.ts';
import type { DataOf } from '../../src/journal/entry.ts';
import type { JournalStore } from '../../src/journal/store.ts';
import { JournalWriter, type WriterOptions } from '../../src/journal/writer.ts';

export const START = Date.parse('2026-01-05T08:00:00.000Z');

export function startedData(overrides: Partial<DataOf<'run.started'>> = {}): DataOf<'run.started'> {
  return {
    runbook: 'sample',
    file: 'sample.yaml',
    mode: 'simulated',
    trigger: 'manual',
    inputs: { side: 'long' },
    seed: 1,
    startedAt: START,
    sources: [{ name: 'sample', file: 'sample.yaml', text: 'runbook: sample\n', sha256: 'ab'.repeat(32) }],
    settings: {},
    engine: '0.1.0',
    account: 'main',
    ...overrides,
  };
}

export function newWriter(store: JournalStore, run: string, overrides: Partial<WriterOptions> = {}): JournalWriter {
  return new JournalWriter(store, {
    run,
    account: 'main',
    def: 'abababababababab',
    boot: 'boot-1',
    epoch: 1,
    actor: 'engine',
    clock: new VirtualClock(START),
    durable: true,
    ...overrides,
  });
}

/** Appends `run.started`, `count - 2` variables with various texts, and `run.ended`. */
export function appendMany(writer: JournalWriter, count: number): void {
  writer.append('run.started', startedData());
  for (let index = 2; index < count; index += 1) {
    writer.append(
      'variable.set',
      { name: `v${index}`, value: `${index} \u001b[31mred\u202e\u0085 "quoted" ‱` },
      `steps/${index}:set`,
    );
  }
  writer.append('run.ended', { outcome: 'succeeded', outputs: {} });
}
