/**
 * The house rules as functions over texts: each takes sources by path and gives sentences about what breaks it. They read
 * no file, so that each can be shown to fail.
 */
import { posix } from 'node:path';

/** Path from the root of the project, `src/base/clock.ts`, to its text. */
export type Sources = Readonly<Record<string, string>>;

/** Which folders a folder of `src` may import, beside itself (ARCHITECTURE.md). */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  venue: ['base'],
  journal: ['base', 'venue'],
  gateway: ['base', 'venue', 'journal'],
  runbook: ['base', 'venue'],
  engine: ['base', 'venue', 'journal', 'runbook'],
  report: ['base', 'venue', 'journal'],
  app: ['base', 'venue', 'journal', 'gateway', 'runbook', 'engine', 'report'],
  cli: ['base', 'venue', 'journal', 'gateway', 'runbook', 'engine', 'report', 'app'],
};

/**
 * Which rooms of its own layer a room may import. A room is a folder below a layer. The files directly in a layer's folder are
 * its vocabulary and its entrance: every room of the layer may import them, and they may import every room.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  'app/account': ['stores'],
  'app/editor': ['files', 'project'],
  'app/files': [],
  'app/kill': ['account', 'files', 'run', 'stores'],
  'app/paper': ['account', 'files', 'rehearsal', 'run'],
  'app/project': ['files', 'testing', 'testing/file'],
  'app/reconciliation': ['account'],
  'app/rehearsal': ['files', 'stores'],
  'app/run': ['account', 'files', 'reconciliation', 'rehearsal'],
  'app/schedule': ['account', 'reconciliation', 'run', 'schedule/runs', 'stores'],
  'app/schedule/runs': ['account', 'files', 'paper', 'run'],
  'app/stores': [],
  'app/sweep': ['files', 'rehearsal', 'run'],
  'app/testing': ['files', 'run', 'testing/file', 'testing/venue'],
  'app/testing/file': ['files'],
  'app/testing/venue': ['testing/file'],
  'cli/actions': [],
  'cli/audit': ['actions', 'terminal'],
  'cli/authoring': ['actions', 'commands', 'terminal'],
  'cli/commands': ['actions', 'terminal'],
  'cli/generate': ['actions', 'serve'],
  'cli/ledger': ['actions', 'terminal'],
  'cli/rehearsal': ['actions', 'terminal'],
  'cli/serve': ['actions', 'audit', 'commands', 'terminal'],
  'cli/terminal': [],
  'engine/chart': [],
  'engine/deadman': [],
  'engine/orders': ['readings'],
  'engine/playback': [],
  'engine/schedule': [],
  'engine/readings': [],
  'engine/steps': ['orders', 'readings'],
  'gateway/fixture': ['live'],
  'gateway/limits': [],
  'gateway/live': ['tokens'],
  'gateway/simulator': ['simulator/config', 'simulator/market'],
  'gateway/simulator/config': [],
  'gateway/simulator/market': ['simulator/config', 'simulator/price'],
  'gateway/simulator/price': ['simulator/config'],
  'gateway/tokens': [],
  'journal/account': ['sql'],
  'journal/anchors': [],
  'journal/archive': ['anchors'],
  'journal/rounds': [],
  'journal/schedule': ['account', 'sql'],
  'journal/shared': ['sql'],
  'journal/sql': [],
  'journal/stores': ['account', 'sql'],
  'report/answers': ['compare', 'folds'],
  'report/compare': ['folds'],
  'report/drawing': ['folds', 'html', 'results'],
  'report/export': ['folds', 'results', 'timeline'],
  'report/folds': ['results'],
  'report/html': ['answers', 'compare', 'folds', 'results', 'timeline'],
  'report/page': ['compare', 'folds', 'html'],
  'report/results': [],
  'report/timeline': [],
  'report/trading': ['folds', 'results'],
  'runbook/check': ['codes', 'document', 'expression', 'flow', 'functions', 'plan', 'shape', 'steps'],
  'runbook/codes': [],
  'runbook/document': ['codes'],
  'runbook/expression': ['codes', 'document', 'functions'],
  'runbook/functions': ['codes'],
  'runbook/flow': ['expression', 'steps'],
  'runbook/plan': ['expression', 'functions', 'plan/load', 'steps'],
  'runbook/plan/load': ['steps'],
  'runbook/schedule': ['codes', 'document'],
  'runbook/shape': ['codes', 'document', 'steps'],
  'runbook/steps': ['functions'],
  'venue/limits': [],
  'venue/order': [],
  'venue/position': ['order'],
  'venue/profile': ['limits', 'tokens'],
  'venue/tokens': [],
  'venue/wire': ['profile', 'tokens'],
};

/** The most TypeScript files that a folder of `src` holds: more are two rooms. */
export const WIDEST = 15;

interface Door {
  readonly what: string;
  /** Found in a text where the door is used. */
  readonly uses: RegExp;
  /** The only places that may: files, or a folder of `src` with `/` behind it. */
  readonly through: readonly string[];
}

/** Uses of a property of `process`: read from it, taken out of it, imported from its module. */
const ofProcess = (names: string) =>
  new RegExp(
    `\\bprocess\\s*\\.\\s*(?:${names})\\b|\\{[^}]*\\b(?:${names})\\b[^}]*\\}\\s*(?:=\\s*process\\b|from\\s*['"](?:node:)?process['"])`,
  );

const importOf = (names: string) => new RegExp(`(?:from|import|import\\()\\s*['"](?:${names})(?:/[^'"]*)?['"]`);

const DOORS: readonly Door[] = [
  { what: 'got', uses: importOf('got'), through: ['src/gateway/live/transport.ts', 'src/gateway/live/webhook.ts'] },
  { what: 'ajv', uses: importOf('ajv|ajv-formats'), through: ['src/base/ajv.ts'] },
  {
    what: 'yaml',
    uses: importOf('yaml'),
    through: ['src/runbook/document/document.ts', 'src/runbook/document/format.ts'],
  },
  { what: 'csv-parse', uses: importOf('csv-parse'), through: ['src/app/files/series.ts'] },
  // Every request takes the one path: the exchange sends it, and the session around the transport adds the credentials.
  {
    what: 'a request to the venue',
    uses: /\btransport\s*\??\.\s*send\b|\{[^}]*\bsend\b[^}]*\}\s*=\s*[\w.]*\btransport\b/,
    through: ['src/gateway/exchange.ts', 'src/gateway/live/session.ts'],
  },
  {
    what: 'tokens of the budget',
    uses: /\bbudget\s*\??\.\s*acquire\b/,
    through: ['src/gateway/exchange.ts', 'src/gateway/live/session.ts'],
  },
  // What a request does is a column of the catalogue. The others tell requests apart by what they carry, or act for the venue.
  {
    what: "a comparison with an endpoint's name",
    uses: /(?:[=!]==|\bcase)\s*'(?:GET|POST|PUT|DELETE) \//,
    through: ['src/gateway/simulator/', 'src/app/', 'src/engine/', 'src/journal/', 'src/report/', 'src/runbook/'],
  },
  {
    what: 'the SQL driver',
    uses: importOf('@photostructure/sqlite|node:sqlite'),
    through: ['src/journal/sql/sqlite-driver.ts'],
  },
  { what: 'the PostgreSQL driver', uses: importOf('pg'), through: ['src/journal/sql/postgres.ts'] },
  { what: 'the queue of the workers', uses: importOf('bullmq'), through: ['src/app/schedule/account-queue.ts'] },
  {
    what: 'a server that listens',
    uses: /\bcreateServer\b/,
    through: ['src/gateway/simulator/server.ts', 'src/app/schedule/endpoints.ts', 'src/cli/serve/serve.ts'],
  },
  {
    what: 'the language server protocol',
    uses: importOf('vscode-languageserver|vscode-languageserver-textdocument'),
    through: ['src/cli/authoring/lsp.ts'],
  },
  { what: 'a child process', uses: importOf('node:child_process'), through: ['src/app/account/ssh-key.ts'] },
  { what: 'commander', uses: importOf('commander'), through: ['src/cli/program.ts'] },
  {
    what: 'process.env',
    uses: /\bprocess\s*(?:\.\s*env\b|\[\s*['"]env)|\bprocess\b[^;\n]*\benv\b[^;\n]*=\s*process\b|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/,
    through: ['src/app/environment.ts'],
  },
  // `app` returns and throws: only the command line prints, hears signals and exits, each in one place.
  { what: 'a standard stream', uses: ofProcess('stdin|stdout|stderr'), through: ['src/cli/terminal/streams.ts'] },
  { what: 'the console', uses: /\bconsole\s*\./, through: [] },
  {
    what: 'the end of the process',
    uses: ofProcess('exit|exitCode|reallyExit|abort'),
    through: ['src/cli/exit.ts'],
  },
  {
    what: 'signals of the process',
    uses: ofProcess('on|once|off|(?:add|prepend|remove)\\w*Listeners?|kill(?=\\(\\s*process\\b)'),
    // What was thrown and caught nowhere ends the process.
    through: ['src/cli/terminal/signals.ts', 'src/cli/exit.ts'],
  },
  {
    what: 'the real time',
    uses: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bDateTime\.(?:now|local|utc)\(\s*\)|\bhrtime\b/,
    // The command line decides when a run begins; the machine's own clock is what processes compare leases by.
    through: ['src/base/clock.ts', 'src/cli/', 'src/app/', 'src/journal/shared/machine.ts'],
  },
  {
    what: 'real timers',
    uses: /\bset(?:Timeout|Interval|Immediate)\b|node:timers/,
    // A database waits for another process's lock or for its server, which is no time of a run; a page pushes to browsers.
    through: ['src/base/clock.ts', 'src/journal/sql/sqlite-connection.ts', 'src/journal/sql/postgres.ts'],
  },
  {
    what: 'real randomness',
    uses: /\bMath\.random\b|\brandom(?:Bytes|UUID|Int)\b|\bgetRandomValues\b/,
    through: ['src/cli/', 'src/app/'],
  },
];

export function layerBreaches(sources: Sources, layers = LAYERS): string[] {
  return imports(sources).flatMap(({ from, to }) => {
    const [own, other] = [layerOf(from), layerOf(to)];
    if (own === undefined || other === undefined || own === other) return [];
    return layers[own]?.includes(other)
      ? []
      : [`${from} imports ${to}: ${own} may import only ${layers[own]?.join(', ') || 'nothing'}`];
  });
}

/** Rooms that ROOMS does not name, and arrows between rooms that it does not allow. */
export function roomBreaches(sources: Sources, rooms = ROOMS): string[] {
  const unknown = [...new Set(Object.keys(sources).map(roomOf))].filter(
    (room) => room !== undefined && !(room in rooms),
  );
  const arrows = imports(sources).flatMap(({ from, to }) => {
    const [own, other] = [roomOf(from), roomOf(to)];
    if (own === undefined || other === undefined || own === other || layerOf(from) !== layerOf(to)) return [];
    const name = other.slice(other.indexOf('/') + 1);
    return rooms[own]?.includes(name)
      ? []
      : [`${from} imports ${to}: ${own} may import only ${rooms[own]?.join(', ') || 'no other room'}`];
  });
  return [...unknown.map((room) => `${room} is not in ROOMS`), ...arrows];
}

/** Rooms that import each other, directly or around others. */
export function roomRings(rooms = ROOMS): string[] {
  const texts = Object.entries(rooms).map(([room, may]) => [
    `src/${room}.ts`,
    may
      .map((other) => `import './${posix.relative(posix.dirname(room), `${room.split('/')[0]}/${other}`)}.ts';`)
      .join('\n'),
  ]);
  return importCycles(Object.fromEntries(texts));
}

/** Folders of `src` with more TypeScript files than `most`. */
export function wideFolders(paths: readonly string[], most = WIDEST): string[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > most).map(([folder, count]) => `${folder} holds ${count} files`);
}

/** `engine/orders` of `src/engine/orders/cancel.ts`; undefined for files directly in a layer's folder. */
function roomOf(path: string): string | undefined {
  const room = posix.dirname(path).split('/').slice(1).join('/');
  return room.includes('/') ? room : undefined;
}

/** Every ring of imports once, also through types. */
export function importCycles(sources: Sources): string[] {
  const edges = new Map<string, string[]>();
  for (const { from, to } of imports(sources)) edges.set(from, [...(edges.get(from) ?? []), to]);
  const rings = new Set<string>();
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]) => {
    const at = path.indexOf(file);
    if (at !== -1) return void rings.add(ring(path.slice(at)));
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) walk(next, [...path, file]);
    done.add(file);
  };
  for (const file of edges.keys()) walk(file, []);
  return [...rings];
}

/** A ring as text, begun at its first name so that it is the same wherever it was entered. */
function ring(files: readonly string[]): string {
  const first = files.indexOf([...files].sort()[0] ?? '');
  const turned = [...files.slice(first), ...files.slice(0, first)];
  return [...turned, turned[0]].join(' → ');
}

export function missingImports(sources: Sources): string[] {
  return imports(sources).flatMap(({ from, to }) =>
    to in sources || to.endsWith('.json') ? [] : [`${from} imports ${to}, which does not exist`],
  );
}

export function doorBreaches(sources: Sources, doors = DOORS): string[] {
  return Object.entries(sources).flatMap(([file, text]) => {
    const code = withoutComments(text);
    return doors
      .filter(
        (door) =>
          door.uses.test(code) &&
          !door.through.some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place)),
      )
      .map((door) => `${file} uses ${door.what}; only ${door.through.join(', ') || 'nothing'} may`);
  });
}

const LIBRARY = 'src/index.ts';
const HOMELESS = /(?:^|\/)(?:util|utils|helper|helpers|common|misc|shared-types|types|manager|index)\.[cm]?[jt]s$/;

/** A file is named after its noun. An `index` would be a barrel; the one of the package is its library. */
export function homelessFiles(paths: readonly string[]): string[] {
  return paths.filter((path) => HOMELESS.test(path) && path !== LIBRARY).map((path) => `${path}: find its noun`);
}

const ANY: readonly (readonly [string, RegExp])[] = [['the type any', /(?::|\bas|<|,|\|)\s*any\b(?!\s*[(.:'])/]];
const LOOSE: readonly (readonly [string, RegExp])[] = [
  ['a switched-off check', /@ts-(?:ignore|nocheck|expect-error)|biome-ignore(?! format:)|eslint-disable/],
  ['unfinished work', /\b(?:TODO|FIXME|XXX|not implemented)\b|Error\('being written/],
];

export function looseEnds(sources: Sources): string[] {
  return [...linesWith(sources, ANY, withoutComments), ...linesWith(sources, LOOSE, (text) => text)];
}

const ROUNDED: readonly (readonly [string, RegExp])[] = [
  ['parseFloat', /\bparseFloat\(/],
  ['toNumber()', /\.toNumber\(\)/],
  [
    'Number() of a price, size or the like',
    /\bNumber\((?:[\w.]*\.)?(?:\w*(?:[Pp]rice|[Ss]ize|[Bb]alance|[Ff]ee|[Nn]otional|[Ee]quity|[Ff]illed))\)/,
  ],
];

/** A decimal that becomes a JavaScript number. */
export function roundedDecimals(sources: Sources): string[] {
  return linesWith(sources, ROUNDED, withoutComments);
}

const MACHINE: readonly (readonly [string, RegExp])[] = [
  ['a path of one machine', /(?:^|[\s'"`(=])\/(?:work|home|Users|root|farm)\/[\w.]/],
];

export function machinePaths(sources: Sources): string[] {
  return linesWith(sources, MACHINE, (text) => text);
}

function linesWith(
  sources: Sources,
  patterns: readonly (readonly [string, RegExp])[],
  prepare: (text: string) => string,
): string[] {
  return Object.entries(sources).flatMap(([file, text]) =>
    prepare(text)
      .split('\n')
      .flatMap((line, index) =>
        patterns.filter(([, pattern]) => pattern.test(line)).map(([what]) => `${file}:${index + 1}: ${what}`),
      ),
  );
}

/** Comments blanked out, lines kept. Texts in quotes stay, so that `//` in an address is not taken for a comment. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(['"`])(?:\\.|(?!\1)[^\\\n])*\1|\/\/[^\n]*/g, (found) =>
    found.startsWith('/*') || found.startsWith('//') ? found.replace(/[^\n]/g, ' ') : found,
  );
}

interface Import {
  readonly from: string;
  readonly to: string;
}

const IMPORTED =
  /(?:^|[\s;}])(?:import|export)\s(?:[^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/g;

/** Imports of the project's own files: static, dynamic, of types. */
export function imports(sources: Sources): Import[] {
  return Object.entries(sources).flatMap(([from, text]) =>
    [...withoutComments(text).matchAll(IMPORTED)]
      .map((match) => match[1] ?? match[2] ?? '')
      .filter((to) => to.startsWith('.'))
      .map((to) => ({ from, to: posix.join(posix.dirname(from), to) })),
  );
}

function layerOf(path: string): string | undefined {
  const [top, layer] = path.split('/');
  return top === 'src' && path.split('/').length > 2 ? layer : undefined;
}
