import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Anchor } from '../../src/journal/anchors/anchors.ts';
import { type ArchiveContents, ArchiveWriter, readContents, removeRemains } from '../../src/journal/archive/archive.ts';
import { openArchive } from '../../src/journal/archive/store.ts';
import type { RunRow, StoredEntry } from '../../src/journal/store.ts';
import { MemoryStore } from '../../src/journal/stores/memory.ts';
import { verifyJournal, verifyRun } from '../../src/report/compare/verify.ts';
import { exportJsonl } from '../report/whole-run.ts';
import { appendMany, newWriter } from './sample.ts';

const ABOUT = { month: '2026-01', made: '2026-02-01T00:00:00.000Z' };
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'archive-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

interface Sample {
  readonly row: RunRow;
  readonly entries: readonly StoredEntry[];
  readonly anchors: readonly Anchor[];
}

async function makeRun(run: string, count: number): Promise<Sample> {
  const store = new MemoryStore();
  const writer = newWriter(store, run);
  appendMany(writer, count);
  await writer.flush();
  const entries = await store.read(run);
  const { hash } = entries[9] as StoredEntry;
  const anchor: Anchor = { v: 1, run, seq: 10, head: hash, count: 10, time: '2026-01-05T08:00:00.000Z' };
  return { row: (await store.run(run)) as RunRow, entries, anchors: [anchor] };
}

function writeArchive(samples: readonly Sample[]): string {
  const writer = new ArchiveWriter(folder, ABOUT, process.pid);
  for (const { row, entries, anchors } of samples) writer.add(row, entries, anchors);
  writer.finish();
  return writer.publish();
}

/** Writes the same archive with one run's member replaced and a correct table of contents, as a forger who knows the format would. */
function forgeArchive(file: string, run: string, change: (lines: readonly string[]) => readonly string[]): string {
  const bytes = readFileSync(file);
  const contents = readContents(file);
  const writer = new ArchiveWriter(join(folder, 'forged'), ABOUT, process.pid);
  const forged = contents.runs.map(({ row, at, length, entries }) => {
    const lines = gunzipSync(bytes.subarray(at, at + length))
      .toString()
      .trimEnd()
      .split('\n');
    return { row, entries, lines: row.run === run ? change(lines) : lines };
  });
  const stored = (line: string): StoredEntry => ({
    run,
    seq: 0,
    at: 0,
    type: '',
    step: '',
    line: line.replace(/,"hash":"[0-9a-f]{64}"\}$/, '}'),
    hash: /"hash":"([0-9a-f]{64})"\}$/.exec(line)?.[1] ?? '',
  });
  for (const { row, lines } of forged)
    writer.add(
      row,
      lines.map(stored),
      contents.anchors.filter((anchor) => anchor.run === row.run),
    );
  writer.finish();
  return writer.publish();
}

describe('an archive', () => {
  it('gives every run back byte for byte, with its row and anchors', async () => {
    const samples = [await makeRun('r1', 57), await makeRun('r2', 12), await makeRun('r3', 7000)];
    const archive = openArchive(writeArchive(samples));
    for (const { row, entries } of samples) {
      expect(await archive.read(row.run)).toEqual(entries);
      expect(await archive.run(row.run)).toEqual(row);
    }
    expect(await archive.read('r3', { after: 5000, limit: 3 })).toEqual(samples[2]?.entries.slice(5000, 5003));
    expect(await archive.read('unknown')).toEqual([]);
    expect(archive.contents.anchors).toEqual(samples.flatMap((sample) => sample.anchors));
    const verdicts = await verifyJournal(archive, [...archive.contents.anchors, ...archive.ends]);
    expect(verdicts.map(({ run, ok, entries, anchors }) => [run, ok, entries, anchors])).toEqual([
      ['r1', true, 57, 2],
      ['r2', true, 12, 2],
      ['r3', true, 7000, 2],
    ]);
  });

  it('is read by gunzip, as lines that can be verified without this program', async () => {
    const sample = await makeRun('r1', 20);
    const lines = execFileSync('gunzip', ['-c', writeArchive([sample])], { encoding: 'utf8' }).split('\n');
    expect(lines.slice(1, 21).join('\n')).toBe(exportJsonl(sample.entries).trimEnd());
    expect(JSON.parse(lines[0] ?? '')).toEqual({ v: 1, archive: 'perp-runbook archive', ...ABOUT });
    expect((JSON.parse(lines[21] ?? '') as ArchiveContents).runs).toHaveLength(1);
  });

  it('never replaces another, and leaves no partial files', async () => {
    const first = writeArchive([await makeRun('r1', 20)]);
    const second = writeArchive([await makeRun('r2', 20)]);
    expect([first, second].map((file) => file.slice(folder.length + 1))).toEqual([
      '2026-01.jsonl.gz',
      '2026-01.2.jsonl.gz',
    ]);
    const abandoned = new ArchiveWriter(folder, ABOUT, process.pid);
    abandoned.abandon();
    writeFileSync(join(folder, '.2026-01.999999999.part'), 'of a process that died');
    writeFileSync(join(folder, `.2026-01.${process.pid}.part`), 'of one that lives');
    removeRemains(folder);
    expect(readdirSync(folder).sort()).toEqual([
      `.2026-01.${process.pid}.part`,
      '2026-01.2.jsonl.gz',
      '2026-01.jsonl.gz',
    ]);
  });

  it('names the changed entry, even when everything was packed again', async () => {
    const samples = [await makeRun('r1', 57), await makeRun('r2', 57)];
    const file = writeArchive(samples);
    const anchors = samples.flatMap((sample) => sample.anchors);
    const verdict = async (change: (lines: readonly string[]) => readonly string[]) => {
      const forged = openArchive(forgeArchive(file, 'r1', change));
      expect(await verifyRun(forged, 'r2', [...anchors, ...forged.ends])).toMatchObject({ ok: true });
      const { problem } = await verifyRun(forged, 'r1', [...anchors, ...forged.ends]);
      return [problem?.kind, problem?.sequence];
    };
    const edit = (line: string) => line.replace('"actor":"engine"', '"actor":"engina"');
    expect(await verdict((lines) => lines.with(29, edit(lines[29] ?? '')))).toEqual(['edited', 30]);
    expect(await verdict((lines) => lines.toSpliced(29, 1))).toEqual(['missing', 30]);
    expect(await verdict((lines) => lines.with(29, 'no entry'))).toEqual(['unreadable', 30]);
    expect(await verdict((lines) => lines.slice(0, 40))).toEqual(['truncated', 41]);
    expect(await verdict((lines) => lines.slice(0, 8))).toEqual(['truncated', 9]);
  });

  it('reports in one sentence that it is truncated, or is not an archive', async () => {
    const file = writeArchive([await makeRun('r1', 20)]);
    const bytes = readFileSync(file);
    for (const left of [0, 10, bytes.length >> 1, bytes.length - 1]) {
      writeFileSync(file, bytes.subarray(0, left));
      expect(() => openArchive(file)).toThrow(/2026-01\.jsonl\.gz is not a whole archive: /);
    }
    writeFileSync(file, gzipSync('something else\n'.repeat(100)));
    expect(() => openArchive(file)).toThrow('is not a whole archive');
    writeFileSync(file, bytes);
    appendFileSync(file, 'x');
    expect(() => openArchive(file)).toThrow('is not a whole archive');
    expect(() => openArchive(join(folder, 'nothing.jsonl.gz'))).toThrow('cannot be read or written');
  });

  it('loses only one run to a damaged member, and names the first lost entry', () => damagedAt(6));

  it('loses only one run to a member damaged at any of 60 places', { tags: ['long'] }, () => damagedAt(60));
});

/** Flips a bit at so many places of the first run's member. */
async function damagedAt(trials: number): Promise<void> {
  const samples = [await makeRun('r1', 4000), await makeRun('r2', 57)];
  const file = writeArchive(samples);
  const bytes = readFileSync(file);
  const part = readContents(file).runs[0];
  if (part === undefined) throw new Error('r1 is not there');
  for (let trial = 0; trial < trials; trial += 1) {
    const at = part.at + Math.floor(((trial + 0.5) / trials) * part.length);
    const damaged = Buffer.from(bytes);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (trial % 8));
    writeFileSync(file, damaged);
    const archive = openArchive(file);
    const verdict = await verifyRun(archive, 'r1', archive.ends);
    // A flag or a time in the member's header does not affect the contents.
    if (verdict.ok) {
      expect(at - part.at).toBeLessThan(10);
      continue;
    }
    expect(verdict.problem).toMatchObject({ kind: 'unreadable', detail: expect.stringContaining('is damaged') });
    const lost = verdict.problem?.sequence ?? 0;
    expect(lost).toBeGreaterThan(Math.floor((trial / trials) * 3000) - 1200);
    expect(lost).toBeLessThanOrEqual(4001);
    expect(await verifyRun(archive, 'r2', archive.ends)).toMatchObject({ ok: true, entries: 57 });
  }
}
