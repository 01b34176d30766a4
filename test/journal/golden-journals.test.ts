/**
 * Journals written by released versions stay readable for ever: what a later version says of them is what the version
 * said that wrote them. How they were made, and why they are never made again: the page in each folder of test/golden/journals.
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
import { invocationAt } from '../../src/cli/invocation.ts';
import { type Call, isHandled, program } from '../../src/cli/program.ts';
import { Terminal } from '../../src/cli/terminal/terminal.ts';
import { ORIGIN } from '../../src/journal/entry.ts';
import { currentType } from '../../src/journal/entry-v1.ts';
import { openDatabase } from '../../src/journal/sql/sqlite.ts';

const WRITTEN_BY = '0.1.0';
const GOLDEN = fileURLToPath(new URL(`../golden/journals/${WRITTEN_BY}`, import.meta.url));

/** What version 0.1.0 said of a run. */
interface Said {
  readonly name: string;
  /** The state folder it is in. */
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
  /** Of `audit orders`, the moves counted alone. */
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
  /** Types of entries that none of them has. */
  readonly missingTypes: readonly string[];
  readonly runs: readonly Said[];
};

interface Answered {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

/** A copy of the folder, and the command on it: as in a process of its own, a tenth of a second less. */
function copied() {
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
    const called = async ({ row, args, options, globals }: Call) => {
      const terminal = new Terminal({
        out: { write: written.out },
        err: { write: written.err },
        environment,
        ...globals,
      });
      try {
        exit = await row.run(args, options, invocationAt(terminal, environment, stateFolder(state, environment, path)));
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
async function expectReplay({ run, json }: ReturnType<typeof copied>, said: Said) {
  const { exit, document } = await json(said.state, 'replay', said.run);
  expect({ exit, kind: document.error.kind }).toEqual({ exit: EXIT.usage, kind: 'version' });
  expect(document.error.message).toContain(`perp-runbook ${WRITTEN_BY}`);
  expect((await run(said.state, 'audit', 'replay', said.run)).exit).toBe(EXIT.usage);
}

describe(`the journals of ${WRITTEN_BY}`, () => {
  const here = copied();
  const { run, json } = here;
  let listed: Readonly<Record<string, readonly Said[]>>;
  beforeAll(async () => {
    const states = [...new Set(manifest.runs.map(({ state }) => state))];
    const lists = states.map(async (state) => [state, (await json(state, 'audit', 'list')).document.runs] as const);
    listed = Object.fromEntries(await Promise.all(lists));
  });

  it('are all listed, and no others', () => {
    const runs = Object.values(listed).flatMap((list) => list.map((each) => each.run));
    expect(runs.sort()).toEqual(manifest.runs.map((each) => each.run).sort());
  });

  it('have every type of entry that their version wrote', () => {
    const found = new Set(manifest.runs.flatMap(({ types }) => Object.keys(types)));
    const current = [...found, ...manifest.missingTypes].map(currentType);
    expect(current.sort()).toEqual(Object.keys(ORIGIN).sort());
  });

  it('are what was written, archives and signed anchors too', async () => {
    expect(await json('state', 'audit', 'verify')).toMatchObject({ exit: EXIT.done, document: { ok: true } });
    const archive = join(here.path, 'state/archive/2026-10.jsonl.gz');
    expect(await json('state', 'audit', 'verify', '--archive', archive)).toMatchObject({
      exit: EXIT.done,
      document: { ok: true, runs: [{ run: manifest.runs.find(({ name }) => name === 'archived')?.run }] },
    });
    const signed = await json('signed', 'audit', 'verify', '--key', join(here.path, 'anchor.pub'));
    expect(signed).toMatchObject({ exit: EXIT.done, document: { ok: true } });
  });

  it('come with the kills and releases of their time', async () => {
    expect((await json('state', 'audit', 'kills')).document.kills).toMatchObject(manifest.kills);
  });

  describe.each(manifest.runs)('$name', (said) => {
    const { state } = said;

    it('is listed as it ended', () => {
      const { runbook, mode, trigger, outcome, startedAt, endedAt } = said;
      const row = { run: said.run, runbook, mode, trigger, outcome, startedAt, endedAt };
      expect(listed[state]?.find((each) => each.run === said.run)).toEqual(row);
    });

    it('is what was written', async () => {
      expect(await json(state, 'audit', 'verify', said.run)).toMatchObject({
        exit: said.audit.verify,
        document: { ok: true, runs: [{ run: said.run, ok: true, entries: said.entries }] },
      });
    });

    it('is exported byte for byte', async () => {
      const { exit, out } = await run(state, 'audit', 'export', said.run, '--format', 'jsonl');
      expect(exit).toBe(EXIT.done);
      expect(out).toBe(readFileSync(join(GOLDEN, `${said.name}.jsonl`), 'utf8'));
      const entries = out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly hash: string });
      expect([entries.length, entries.at(-1)?.hash]).toEqual([said.entries, said.lastHash]);
    });

    it('is told and summed up', async () => {
      const shown = await run(state, 'audit', 'show', said.run, '--all');
      expect([shown.exit, shown.out.includes(said.run)]).toEqual([said.audit.show, true]);
      const { exit, document } = await json(state, 'audit', 'summary', said.run);
      expect(exit).toBe(said.audit.summary);
      const outcome = said.outcome ?? undefined;
      if (outcome !== undefined) expect(document.outcome).toBe(outcome);
      expect(document.kills.length).toBe(said.kills);
      expect(document.answers.map(({ tone }: { tone: string }) => tone)).toEqual(said.tones);
    });

    it('has the same orders, fills, requests and tokens', async () => {
      const { orders } = (await json(state, 'audit', 'orders', said.run)).document;
      expect(
        orders.map(({ history, ...order }: { readonly history?: readonly object[] }) => ({
          ...order,
          moves: history?.length ?? 0,
        })),
      ).toEqual(said.orders);
      expect((await json(state, 'audit', 'fills', said.run)).document.fills).toHaveLength(said.fills);
      const { requests, used, peak } = (await json(state, 'audit', 'budget', said.run)).document;
      expect({ requests, tokens: used, peak }).toEqual({
        requests: said.requests,
        tokens: said.tokens,
        peak: said.peak,
      });
    });

    it('is not replayed by this version, which says so', () => expectReplay(here, said));
  });
});

describe('a copy in which one byte was changed', () => {
  const { path, json } = copied();
  const said = manifest.runs.find(({ name }) => name === 'failed') as Said;

  it('is not what was written, and its neighbours still are', async () => {
    const database = await openDatabase(join(path, said.state, 'runbook.db'));
    const { changes } = database
      .statement(
        'UPDATE entries SET line = replace(line, \'"account":"main"\', \'"account":"mein"\') WHERE run = ? AND seq = 7',
      )
      .run(said.run);
    database.close();
    expect(changes).toBe(1);
    expect(await json(said.state, 'audit', 'verify', said.run)).toMatchObject({
      exit: EXIT.failed,
      document: { ok: false, runs: [{ run: said.run, ok: false }] },
    });
    const { document } = await json(said.state, 'audit', 'verify');
    const broken = document.runs.filter(({ ok }: { ok: boolean }) => !ok).map((each: Said) => each.run);
    expect(broken).toEqual([said.run]);
  });
});
