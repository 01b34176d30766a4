/**
 * Journals written by released versions stay readable: a later version reports the same about them as the version that wrote
 * them. The page in each folder of test/golden/journals says how they were made, and why they are never made again.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { environmentOf } from '../../src/app/environment.ts';
import { EXIT, UserError } from '../../src/app/errors.ts';
import { stateFolder } from '../../src/app/state.ts';
import { ENGINE_VERSION } from '../../src/app/version.ts';
import { COMMANDS } from '../../src/cli/actions/actions.ts';
import { runCommand } from '../../src/cli/implementations.ts';
import { invocationAt } from '../../src/cli/invocation.ts';
import { type Call, isHandled, program } from '../../src/cli/program.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';
import { ORIGIN } from '../../src/journal/entry.ts';
import { toCurrentType } from '../../src/journal/entry-v1.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';

const WRITTEN_BY = '0.1.0';
const GOLDEN = fileURLToPath(new URL(`../golden/journals/${WRITTEN_BY}`, import.meta.url));

/** The report of version 0.1.0 about a run. */
interface RecordedReport {
  readonly name: string;
  /** Its state folder. */
  readonly state: string;
  readonly run: string;
  readonly runbook: string;
  readonly mode: string;
  readonly trigger: string;
  readonly outcome: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly entries: number;
  readonly lastHash: string;
  readonly anchors: number;
  readonly types: Readonly<Record<string, number>>;
  /** From `audit orders`, with moves only counted. */
  readonly orders: readonly { readonly clientOrderId: string; readonly moves: number }[];
  readonly fills: number;
  readonly requests: number;
  readonly tokens: number;
  readonly peak: number;
  readonly tones: readonly string[];
  readonly kills: number;
  /** Exit codes. */
  readonly audit: { readonly verify: number; readonly show: number; readonly summary: number; readonly replay: number };
  readonly replay: { readonly exit: number; readonly ok: boolean | null; readonly divergesAt?: number };
}
const manifest = JSON.parse(readFileSync(join(GOLDEN, 'manifest.json'), 'utf8')) as {
  readonly version: string;
  readonly kills: readonly object[];
  /** Types of entries that none of the journals has. */
  readonly missingTypes: readonly string[];
  readonly runs: readonly RecordedReport[];
};

/** Types of entries that came after 0.1.0. */
const LATER_TYPES: readonly string[] = [
  'store.moved',
  'notification.settled',
  'run.residual',
  'round.idle',
  'call.waiting',
];

interface Answered {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** Copies the folder and gives the command on it, in this process, which saves a tenth of a second. */
function copyState() {
  const path = mkdtempSync(join(tmpdir(), 'runbook-golden-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  cpSync(GOLDEN, path, { recursive: true });
  const environment = environmentOf({ HOME: join(path, 'home'), XDG_STATE_HOME: join(path, 'home'), NO_COLOR: '1' });
  const run = async (state: string, ...words: readonly string[]): Promise<Answered> => {
    let [out, err] = ['', ''];
    const written = {
      out: (text: string) => {
        out += text;
      },
      err: (text: string) => {
        err += text;
      },
    };
    let exit: number = EXIT.done;
    const called = async (call: Call) => {
      const { globals } = call;
      const terminal = new Terminal({
        out: { write: written.out },
        err: { write: written.err },
        environment,
        ...globals,
      });
      try {
        exit = await runCommand(call, invocationAt(terminal, environment, stateFolder(state, environment, path)));
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        terminal.complain(error.message);
        if (globals.json) out += JSON.stringify({ error: { kind: error.kind, message: error.message } });
        exit = error.exit;
      }
    };
    try {
      await program(COMMANDS, ENGINE_VERSION, written, called).parseAsync(words, { from: 'user' });
    } catch (error) {
      if (!isHandled(error)) throw error;
      exit = EXIT.usage;
    }
    return { exit, out, err };
  };
  const json = async (state: string, ...words: readonly string[]) => {
    const { exit, out } = await run(state, ...words, '--json');
    return { exit, document: JSON.parse(out) };
  };
  return { path, run, json };
}

/** `replay` and `audit replay` refuse a journal of an older entry version and name the version that can replay it. */
async function expectReplay({ run, json }: ReturnType<typeof copyState>, recorded: RecordedReport) {
  const { exit, document } = await json(recorded.state, 'replay', recorded.run);
  expect({ exit, kind: document.error.kind }).toEqual({ exit: EXIT.usage, kind: 'version' });
  expect(document.error.message).toContain(`perp-runbook ${WRITTEN_BY}`);
  expect((await run(recorded.state, 'audit', 'replay', recorded.run)).exit).toBe(EXIT.usage);
}

describe(`the journals of ${WRITTEN_BY}`, () => {
  const here = copyState();
  const { run, json } = here;
  let listed: Readonly<Record<string, readonly RecordedReport[]>>;
  beforeAll(async () => {
    const states = [...new Set(manifest.runs.map(({ state }) => state))];
    const lists = states.map(async (state) => [state, (await json(state, 'audit', 'list')).document.runs] as const);
    listed = Object.fromEntries(await Promise.all(lists));
  });

  it('are all listed, and no others', () => {
    const runs = Object.values(listed).flatMap((list) => list.map((each) => each.run));
    expect(runs.sort()).toEqual(manifest.runs.map((each) => each.run).sort());
  });

  it('contain every type of entry that their version wrote', () => {
    const found = new Set(manifest.runs.flatMap(({ types }) => Object.keys(types)));
    const current = [...found, ...manifest.missingTypes].map(toCurrentType);
    expect(current.sort()).toEqual(
      Object.keys(ORIGIN)
        .filter((type) => !LATER_TYPES.includes(type))
        .sort(),
    );
  });

  it('verify, archives and signed anchors included', async () => {
    expect(await json('state', 'audit', 'verify')).toMatchObject({ exit: EXIT.done, document: { ok: true } });
    const archive = join(here.path, 'state/archive/2026-10.jsonl.gz');
    expect(await json('state', 'audit', 'verify', '--archive', archive)).toMatchObject({
      exit: EXIT.done,
      document: { ok: true, runs: [{ run: manifest.runs.find(({ name }) => name === 'archived')?.run }] },
    });
    const signed = await json('signed', 'audit', 'verify', '--key', join(here.path, 'anchor.pub'));
    expect(signed).toMatchObject({ exit: EXIT.done, document: { ok: true } });
  });

  it('have the kills and releases of their time', async () => {
    expect((await json('state', 'audit', 'kills')).document.kills).toMatchObject(manifest.kills);
  });

  describe.each(manifest.runs)('$name', (recorded) => {
    const { state } = recorded;

    it('is listed as it ended', () => {
      const { runbook, mode, trigger, outcome, startedAt, endedAt } = recorded;
      const row = { run: recorded.run, runbook, mode, trigger, outcome, startedAt, endedAt };
      expect(listed[state]?.find((each) => each.run === recorded.run)).toEqual(row);
    });

    it('verifies', async () => {
      expect(await json(state, 'audit', 'verify', recorded.run)).toMatchObject({
        exit: recorded.audit.verify,
        document: { ok: true, runs: [{ run: recorded.run, ok: true, entries: recorded.entries }] },
      });
    });

    it('is exported byte for byte', async () => {
      const { exit, out } = await run(state, 'audit', 'export', recorded.run, '--format', 'jsonl');
      expect(exit).toBe(EXIT.done);
      expect(out).toBe(readFileSync(join(GOLDEN, `${recorded.name}.jsonl`), 'utf8'));
      const entries = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly hash: string });
      expect([entries.length, entries.at(-1)?.hash]).toEqual([recorded.entries, recorded.lastHash]);
    });

    it('is shown as a timeline and as a summary', async () => {
      const shown = await run(state, 'audit', 'show', recorded.run, '--all');
      expect([shown.exit, shown.out.includes(recorded.run)]).toEqual([recorded.audit.show, true]);
      const { exit, document } = await json(state, 'audit', 'summary', recorded.run);
      expect(exit).toBe(recorded.audit.summary);
      const outcome = recorded.outcome ?? undefined;
      if (outcome !== undefined) expect(document.outcome).toBe(outcome);
      expect(document.kills.length).toBe(recorded.kills);
      expect(document.answers.map(({ tone }: { tone: string }) => tone)).toEqual(recorded.tones);
    });

    it('has the same orders, fills, requests and tokens', async () => {
      const { orders } = (await json(state, 'audit', 'orders', recorded.run)).document;
      expect(orders).toHaveLength(recorded.orders.length);
      // A later version may say more of an order, and nothing else.
      expect(
        orders.map(({ history, ...order }: { readonly history?: readonly object[] }) => ({
          ...order,
          moves: history?.length ?? 0,
        })),
      ).toMatchObject(recorded.orders);
      expect((await json(state, 'audit', 'fills', recorded.run)).document.fills).toHaveLength(recorded.fills);
      const { requests, used, peak } = (await json(state, 'audit', 'budget', recorded.run)).document;
      expect({ requests, tokens: used, peak }).toEqual({
        requests: recorded.requests,
        tokens: recorded.tokens,
        peak: recorded.peak,
      });
    });

    it('is not replayed by this version, which says so', () => expectReplay(here, recorded));
  });
});

describe('a copy in which one byte was changed', () => {
  const { path, json } = copyState();
  const recorded = manifest.runs.find(({ name }) => name === 'failed') as RecordedReport;

  it('does not verify, and its neighbours still do', async () => {
    const database = await openDatabase(join(path, recorded.state, 'runbook.db'));
    const { changes } = database
      .statement(
        'UPDATE entries SET line = replace(line, \'"account":"main"\', \'"account":"mein"\') WHERE run = ? AND seq = 7',
      )
      .run(recorded.run);
    database.close();
    expect(changes).toBe(1);
    expect(await json(recorded.state, 'audit', 'verify', recorded.run)).toMatchObject({
      exit: EXIT.failed,
      document: { ok: false, runs: [{ run: recorded.run, ok: false }] },
    });
    const { document } = await json(recorded.state, 'audit', 'verify');
    const broken = document.runs.filter(({ ok }: { ok: boolean }) => !ok).map((each: RecordedReport) => each.run);
    expect(broken).toEqual([recorded.run]);
  });
});
