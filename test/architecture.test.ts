import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  doorBreaches,
  homelessFiles,
  importCycles,
  imports,
  LAYERS,
  layerBreaches,
  looseEnds,
  machinePaths,
  missingImports,
  ROOMS,
  roomBreaches,
  roomRings,
  roundedDecimals,
  type Sources,
  wideFolders,
  withoutComments,
} from './architecture-rules.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Texts of the project below `folders`, by path. */
function texts(folders: readonly string[], ending: RegExp): Sources {
  const paths = folders.flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name.replaceAll('\\', '/')}`,
    ),
  );
  const files = paths.filter((path) => ending.test(path) && !path.includes('node_modules/'));
  return Object.fromEntries(files.map((path) => [path, readFileSync(`${ROOT}${path}`, 'utf8')]));
}

const source = texts(['src'], /\.ts$/);
const written = texts(
  ['src', 'test', 'bin', 'bench', 'docs', 'runbooks', 'schemas', 'scripts', '.ci'],
  /(?:\.(?:ts|js|md|ya?ml|json)|^\.ci\/run)$/,
);
/** They name what they forbid. */
const RULES = /^test\/architecture/;

describe('the house', () => {
  it('has the layers of the plan and no others', () => {
    const found = new Set(Object.keys(source).map((path) => path.split('/')[1]));
    expect([...found].sort()).toEqual([...Object.keys(LAYERS), 'index.ts'].sort());
  });
  it('imports downward only', () => expect(layerBreaches(source)).toEqual([]));
  it('has the rooms of the table, which import as it allows', () => {
    expect(roomBreaches(source)).toEqual([]);
    const rooms = new Set(Object.keys(source).map((path) => path.split('/').slice(1, -1).join('/')));
    expect(Object.keys(ROOMS).filter((room) => !rooms.has(room))).toEqual([]);
  });
  it('has no ring of rooms', () => expect(roomRings()).toEqual([]));
  it('has no folder of more than 15 files', () => expect(wideFolders(Object.keys(source))).toEqual([]));
  it('imports in no ring, not even through types', () => expect(importCycles(source)).toEqual([]));
  it('imports what exists', () => expect(missingImports(source)).toEqual([]));
  it('reaches the outside world through its doors', () => expect(doorBreaches(source)).toEqual([]));
  it('names files after nouns', () => expect(homelessFiles(Object.keys({ ...source, ...written }))).toEqual([]));
  it('leaves no loose ends', () => expect(looseEnds(source)).toEqual([]));
  it('keeps decimals exact', () => expect(roundedDecimals(source)).toEqual([]));
  it('names no machine', () => {
    const others = Object.fromEntries(Object.entries(written).filter(([path]) => !RULES.test(path)));
    expect(machinePaths(others)).toEqual([]);
  });
});

describe('each rule can fail', () => {
  it('sees imports of every form, and none in comments', () => {
    const text = `
      import { a } from './a.ts';
      import type { B } from '../venue/b.ts';
      export { c } from './c.ts';
      import './d.ts';
      const e = await import('./e.ts');
      import {
        f,
        type G,
      } from './f.ts';
      // import './no.ts';
      /* import './no.ts'; */
      const address = 'http://x'; import h from './h.ts';
      import fs from 'node:fs';
    `;
    expect(imports({ 'src/base/x.ts': text }).map(({ to }) => to)).toEqual([
      'src/base/a.ts',
      'src/venue/b.ts',
      'src/base/c.ts',
      'src/base/d.ts',
      'src/base/e.ts',
      'src/base/f.ts',
      'src/base/h.ts',
    ]);
  });

  it('layers', () => {
    const upward = {
      'src/venue/x.ts': "import type { Y } from '../engine/y.ts';",
      'src/cli/z.ts': "import '../venue/x.ts';",
    };
    expect(layerBreaches(upward)).toEqual(['src/venue/x.ts imports src/engine/y.ts: venue may import only base']);
    expect(layerBreaches({ 'src/gateway/x.ts': "export * from '../runbook/y.ts';" })).toHaveLength(1);
    expect(layerBreaches({ 'src/gateway/x.ts': "import '../journal/y.ts';" })).toEqual([]);
  });

  it('rooms', () => {
    const rooms = { 'venue/order': [], 'venue/limits': ['order'] };
    const sources = (from: string, to: string) => ({ [from]: `import '${to}';` });
    expect(roomBreaches(sources('src/venue/limits/a.ts', '../order/b.ts'), rooms)).toEqual([]);
    expect(roomBreaches(sources('src/venue/order/b.ts', '../limits/a.ts'), rooms)).toEqual([
      'src/venue/order/b.ts imports src/venue/limits/a.ts: venue/order may import only no other room',
    ]);
    expect(roomBreaches(sources('src/venue/new/c.ts', '../port.ts'), rooms)).toEqual(['venue/new is not in ROOMS']);
    expect(roomBreaches(sources('src/venue/port.ts', './limits/a.ts'), rooms)).toEqual([]);
  });

  it('rings of rooms', () => {
    expect(roomRings({ 'a/x': ['y'], 'a/y': ['y/z'], 'a/y/z': ['x'] })).toHaveLength(1);
    expect(roomRings({ 'a/x': ['y'], 'a/y': ['y/z'], 'a/y/z': [] })).toEqual([]);
  });

  it('wide folders', () => {
    const files = (count: number) => Array.from({ length: count }, (_, index) => `src/a/b/${index}.ts`);
    expect(wideFolders(files(16))).toEqual(['src/a/b holds 16 files']);
    expect(wideFolders(files(15))).toEqual([]);
  });

  it('rings', () => {
    const three = {
      'src/a/a.ts': "import './b.ts';",
      'src/a/b.ts': "import type { C } from './c.ts';",
      'src/a/c.ts': "const a = import('./a.ts');",
      'src/a/d.ts': "import './a.ts';",
    };
    expect(importCycles(three)).toEqual(['src/a/a.ts → src/a/b.ts → src/a/c.ts → src/a/a.ts']);
    expect(importCycles({ 'src/a/a.ts': "import './a.ts';" })).toEqual(['src/a/a.ts → src/a/a.ts']);
    expect(
      importCycles({ 'src/a/a.ts': "import './b.ts'; import './c.ts';", 'src/a/b.ts': "import './c.ts';" }),
    ).toEqual([]);
  });

  it('imports of nothing', () => {
    expect(missingImports({ 'src/a/a.ts': "import './b.ts';" })).toEqual([
      'src/a/a.ts imports src/a/b.ts, which does not exist',
    ]);
  });

  it.each([
    "import got from 'got';",
    "const { Ajv } = await import('ajv/dist/2020.js');",
    "import { parse } from 'yaml';",
    'const reply = await this.parts.transport.send(request, { timeoutMs: 1 });',
    'const { send } = account.transport;',
    'const granted = await budget.acquire(request);',
    "import { DatabaseSync } from '@photostructure/sqlite';",
    'const server = createServer(answer);',
    'const home = process.env.HOME;',
    "const home = process['env'].HOME;",
    'const { env } = process;',
    'const at = Date.now();',
    'const at = new Date();',
    'setTimeout(() => {}, 5);',
    'const a = Math.random();',
    'process.exit(1);',
    'process.exitCode = 1;',
    "process.on('SIGINT', stop);",
    'for (const signal of SIGNALS) process.once(signal, stop);',
    "process.off('SIGTERM', stop);",
    "process.removeAllListeners('SIGHUP');",
    "process.kill(process.pid, 'SIGINT');",
    'process.stdout.write(text);',
    'process.stderr.isTTY',
    'read(process.stdin);',
    "console.error('no');",
    'const { exit } = process;',
    "import { stdout } from 'node:process';",
  ])('doors: %s', (text) => {
    expect(doorBreaches({ 'src/engine/x.ts': text })).toHaveLength(1);
    expect(doorBreaches({ 'src/engine/x.ts': `// ${text}` })).toEqual([]);
  });

  it('an action is asked for, not a name', () => {
    const text = "if (call.endpoint === 'POST /orders') place();";
    expect(doorBreaches({ 'src/gateway/x.ts': text, 'src/venue/x.ts': text })).toHaveLength(2);
  });

  it.each(['app/run/x.ts', 'cli/commands/x.ts', 'cli/main.ts'])(
    'only one place of each ends, hears and prints: %s',
    (file) => {
      const text = "process.exit(0); process.on('SIGINT', stop); process.stdout.write('a'); console.log('b');";
      expect(doorBreaches({ [`src/${file}`]: text })).toHaveLength(4);
    },
  );

  it('a process may be asked about', () => {
    expect(doorBreaches({ 'src/journal/x.ts': 'process.kill(pid, 0); process.pid; process.platform;' })).toEqual([]);
    expect(doorBreaches({ 'src/cli/exit.ts': 'process.exit(0);' })).toEqual([]);
  });

  it('doors are open where they stand', () => {
    expect(
      doorBreaches({ 'src/gateway/live/transport.ts': "import got from 'got';", 'src/base/clock.ts': 'Date.now();' }),
    ).toEqual([]);
    expect(doorBreaches({ 'src/engine/x.ts': "import { gotcha } from './got.ts'; const d = new Date(5);" })).toEqual(
      [],
    );
  });

  it('names', () => {
    expect(
      homelessFiles(['src/base/utils.ts', 'src/venue/order-types.ts', 'src/venue/types.ts', 'test/helpers.ts']),
    ).toHaveLength(3);
  });

  it.each([
    'const a: any = 1;',
    'const a = b as any;',
    'let a: Map<string, any>;',
    '// @ts-ignore',
    '// TODO later',
    "throw new Error('not implemented');",
  ])('loose ends: %s', (text) => expect(looseEnds({ 'src/a/a.ts': text })).toHaveLength(1));
  it('a word is no loose end', () => {
    expect(looseEnds({ 'src/a/a.ts': "/** Takes any value: any at all. */ const any = join === 'any';" })).toEqual([]);
    expect(looseEnds({ 'src/a/a.ts': "if (join === 'any') return anything;" })).toEqual([]);
  });

  it.each(['parseFloat(text)', 'price.toNumber()', 'Number(order.limitPrice)', 'Number(size)'])(
    'rounding: %s',
    (text) => {
      expect(roundedDecimals({ 'src/a/a.ts': text })).toHaveLength(1);
    },
  );
  it('counts may be numbers', () =>
    expect(roundedDecimals({ 'src/a/a.ts': 'Number(count); Number(sizes.length)' })).toEqual([]));

  it('machines', () => {
    expect(machinePaths({ 'docs/a.md': 'see /home/me/x', 'src/a/a.ts': "'/Users/me/src'" })).toHaveLength(2);
    expect(machinePaths({ 'docs/a.md': 'GET /orders and https://x/home/a' })).toEqual([]);
  });

  it('comments end where they end', () => {
    expect(withoutComments("a /* b\nc */ d // e\n'// f'")).toBe("a     \n     d     \n'// f'");
  });
});
