import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, describe, expect, it } from 'vitest';
import { UserError } from '../../src/app/errors.ts';
import { detectKind } from '../../src/app/files/kinds.ts';
import { formatAnnotations } from '../../src/app/project/annotations.ts';
import { type CheckedFile, checkProject } from '../../src/app/project/checks.ts';
import { listExplanations } from '../../src/app/project/explanation.ts';
import { formatJunit } from '../../src/app/project/junit.ts';
import { formatSarif, makeSarif } from '../../src/app/project/sarif.ts';
import { placeDiagnostic } from '../../src/base/diagnostic.ts';

const RUNBOOK =
  'runbook: entry\ndsl: 1\ninputs: {size: {type: size, default: 0.1}}\nsteps:\n  - id: r\n    read_account: {}\noutputs: {size: inputs.size, r: r.account_equity}\n';
const TEST = 'tests: entry\ncases:\n  - name: reads\n    expect: {outcome: succeeded}\n';
const FIXTURE =
  'fixture: 1\nrecorded_at: "2026-01-05T08:01:31.291Z"\nstart: "2026-01-05T08:00:00.000Z"\nmarkets: {}\nexchanges: []\n';
const PROFILE =
  'profile: local\nbase_url: http://127.0.0.1:8080\naccount: main\nauth: {mode: jwt, jwt: {env: VENUE_JWT}}\n';
const SIMULATOR = 'markets: {BTC-USD: {path: {kind: points, points: [{afterMs: 0, price: "64000"}]}}}\n';

const root = mkdtempSync(join(tmpdir(), 'runbook-project-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let projects = 0;
function project(files: Readonly<Record<string, string>>): string {
  projects += 1;
  const folder = join(root, String(projects));
  mkdirSync(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const show = (folder: string, { file, kind, diagnostics, refused }: CheckedFile) => [
  file.slice(folder.length + 1),
  kind,
  ...(refused === undefined ? [] : [refused.kind]),
  ...diagnostics.map(placeDiagnostic).map(({ line, column, code }) => `${line}:${column} ${code}`),
];

describe('the kind of a file', () => {
  it.each([
    ['a.yaml', RUNBOOK, 'runbook'],
    ['a.yaml', '# note\n\nstepps: []\ndsl: 1\n', 'runbook'],
    ['a.test.yaml', TEST, 'test'],
    ['odd.yaml', TEST, 'test'],
    ['a.test.yaml', 'test: entry\n', 'test'],
    ['a.yaml', FIXTURE, 'fixture'],
    ['a.yaml', `${FIXTURE}runbook: entry\n`, 'fixture'],
    ['a.jsonl', '{"fixture":1}\n', 'fixture'],
    ['a.jsonl', '{"seq":1,"type":"run.started"}\n', undefined],
    ['a.har', '{}', 'fixture'],
    ['a.yaml', PROFILE, 'profile'],
    ['a.yaml', SIMULATOR, 'simulator'],
    ['a.json', '{"markets": {}, "faults": []}', 'simulator'],
    ['a.sim.yaml', 'marketts: {}\n', 'simulator'],
    ['package.json', '{"name": "x", "scripts": {}}', undefined],
    ['ci.yml', 'name: ci\non: push\njobs: {}\n', undefined],
    ['docker-compose.yaml', 'services: {}\n', undefined],
    ['README.md', 'runbook: x\n', undefined],
    ['a.yaml', '', undefined],
  ])('of %s with %j is %s', (path, text, kind) => expect(detectKind(path, text)).toBe(kind));
});

describe('a folder', () => {
  it('is checked file by file, each by its kind; what is no part of a project is named as skipped', async () => {
    const folder = project({
      'entry.yaml': RUNBOOK,
      'entry.test.yaml': TEST,
      'fixtures/entry.yaml': FIXTURE,
      'fixtures/entry.sim.yaml': SIMULATOR,
      'profiles/local.yaml': PROFILE,
      'README.md': '# notes\n',
      'ci.yml': 'jobs: {}\n',
      'node_modules/x/a.yaml': 'runbook: 1\n',
      '.git/a.yaml': 'runbook: 1\n',
      '.hidden.yaml': 'runbook: 1\n',
    });
    symlinkSync(folder, join(folder, 'loop'));
    const { files, skipped } = await checkProject([folder]);
    expect(files.map((each) => show(folder, each))).toEqual([
      ['entry.test.yaml', 'test'],
      ['entry.yaml', 'runbook'],
      ['fixtures/entry.sim.yaml', 'simulator'],
      ['fixtures/entry.yaml', 'fixture'],
      ['profiles/local.yaml', 'profile'],
    ]);
    expect(skipped?.map((file) => file.slice(folder.length + 1))).toEqual(['README.md', 'ci.yml']);
  });

  it('shows the mistakes of every file at their places', async () => {
    const folder = project({
      'entry.yaml': RUNBOOK.replace('read_account', 'read_acount').replace(', r: r.account_equity', ''),
      'entry.test.yaml': TEST,
      'other.test.yaml': 'tests: nowhere\ncases:\n  - name: reads\n    expcet: {outcome: succeeded}\n',
      'a.sim.yaml': 'markets:\n  BTC-USD: {tick: "0", spreadBp: 1}\nfaults:\n  - {on: POST /ordres, do: delay}\n',
      'fixture.yaml': FIXTURE.replace('markets: {}', 'markets: []'),
      'profile.yaml': `${PROFILE}limits: {max_ordre_size: 1}\n`,
      'fixture.jsonl': '{"fixture":1}\n{"after"\n',
      'secret.yaml': `${PROFILE}notify: {ops: {webhook: {env: A}}}\nstore: {sqlite: eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U}\n`,
    });
    const { files } = await checkProject([folder]);
    const shown = Object.fromEntries(files.map((each) => show(folder, each)).map(([name, ...rest]) => [name, rest]));
    expect(shown).toMatchObject({
      'entry.yaml': ['runbook', '6:5 unknown-key'],
      'entry.test.yaml': ['test', '1:1 called-runbook-invalid'],
      'other.test.yaml': ['test', '4:5 unknown-key', '1:1 unknown-runbook'],
      'fixture.yaml': ['fixture', '4:10 fixture-invalid'],
      'fixture.jsonl': ['fixture', '2:1 fixture-invalid'],
      'profile.yaml': ['profile', '5:26 profile-unknown'],
    });
    expect(shown['a.sim.yaml']).toEqual([
      'simulator',
      ...Array((shown['a.sim.yaml']?.length ?? 0) - 1).fill(expect.stringMatching(/ simulator-invalid$/)),
    ]);
    expect(shown['a.sim.yaml']).toContain('2:24 simulator-invalid');
    const [first] = files.find(({ file }) => file.endsWith('a.sim.yaml'))?.diagnostics ?? [];
    expect(first?.hint).toBe('Did you mean spreadBps?');
    expect(shown['secret.yaml']).toContain('6:17 profile-secret');
    expect(JSON.stringify(files.map(({ diagnostics }) => diagnostics))).not.toContain('dozjgNryP4J3jVmNHl0w5N');
  });

  it('is not refused because of what another program keeps in it, however large or odd', async () => {
    const folder = project({ 'entry.yaml': RUNBOOK, 'data.json': `{"rows": [${'0,'.repeat(5_000_000)}0]}` });
    writeFileSync(join(folder, 'odd.yaml'), Buffer.from([0xff, 0xfe, 0x00, 0x80]));
    const { files, skipped } = await checkProject([folder]);
    expect(files.map((each) => show(folder, each))).toEqual([['entry.yaml', 'runbook']]);
    expect(skipped?.map((file) => file.slice(folder.length + 1))).toEqual(['data.json', 'odd.yaml']);
  });

  it('with nothing to check is wrong usage, as is one that is not there', async () => {
    const folder = project({ 'README.md': '' });
    await expect(checkProject([folder])).rejects.toThrow(UserError);
    const { files } = await checkProject([join(folder, 'missing')]);
    expect(files.map(({ refused }) => refused?.exit)).toEqual([2]);
  });
});

describe('a test file', () => {
  const check = async (text: string) => {
    const folder = project({ 'entry.yaml': RUNBOOK, 'entry.test.yaml': text });
    const { files } = await checkProject([join(folder, 'entry.test.yaml')]);
    return files.flatMap((each) => show(folder, each)).slice(2);
  };

  it('shows mistakes of shape, of content and of names in one go', async () => {
    const text = `tests: entry
defaults: {clok: 2026-01-05T08:00:00Z}
cases:
  - name: one
    inputs: {sise: 1}
    clock: yesterday
    expect: {outcome: suceeded, outputs: {sice: "1"}, steps: [rr]}
  - name: one
    venue: [{on: GET /acount, http: 500}]
    expect: {outcome: succeeded}
`;
    expect((await check(text)).sort()).toEqual(
      [
        '2:12 unknown-key',
        '5:14 unknown-input',
        '6:12 invalid-text',
        '7:23 unknown-word',
        '7:43 unknown-key',
        '7:55 unknown-step',
        '8:11 name-taken',
        '9:18 unknown-word',
      ].sort(),
    );
  });

  it.each(['tests: entry\ncases: [{name: a, expect: 1}]\n', 'cases: []\n', 'tests: 1\n', 'tests: [a]\ncases: {}\n'])(
    'that is wrong from the beginning has findings and no crash: %j',
    async (text) => expect(await check(text)).not.toEqual([]),
  );
});

/** What SARIF 2.1.0 requires of the parts that are written here (sarif-schema-2.1.0.json, definitions of the same names). */
const MESSAGE = {
  type: 'object',
  required: ['text'],
  properties: { text: { type: 'string' } },
  additionalProperties: false,
} as const;
const POSITIVE = { type: 'integer', minimum: 1 } as const;
const LEVEL = { enum: ['none', 'note', 'warning', 'error'] } as const;
const LOCATION = {
  type: 'object',
  required: ['physicalLocation'],
  additionalProperties: false,
  properties: {
    physicalLocation: {
      type: 'object',
      required: ['artifactLocation'],
      additionalProperties: false,
      properties: {
        artifactLocation: {
          type: 'object',
          required: ['uri'],
          additionalProperties: false,
          properties: { uri: { type: 'string', pattern: "^(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+$" } },
        },
        region: {
          type: 'object',
          required: ['startLine'],
          additionalProperties: false,
          properties: { startLine: POSITIVE, startColumn: POSITIVE, endLine: POSITIVE, endColumn: POSITIVE },
        },
      },
    },
  },
} as const;
const SARIF = {
  type: 'object',
  required: ['version', 'runs'],
  additionalProperties: false,
  properties: {
    $schema: { type: 'string' },
    version: { const: '2.1.0' },
    runs: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['tool', 'results'],
        additionalProperties: false,
        properties: {
          columnKind: { enum: ['utf16CodeUnits', 'unicodeCodePoints'] },
          tool: {
            type: 'object',
            required: ['driver'],
            additionalProperties: false,
            properties: {
              driver: {
                type: 'object',
                required: ['name'],
                additionalProperties: false,
                properties: {
                  name: { type: 'string' },
                  semanticVersion: { type: 'string', pattern: '^\\d+\\.\\d+\\.\\d+' },
                  rules: {
                    type: 'array',
                    uniqueItems: true,
                    items: {
                      type: 'object',
                      required: ['id'],
                      additionalProperties: false,
                      properties: {
                        id: { type: 'string' },
                        shortDescription: MESSAGE,
                        fullDescription: MESSAGE,
                        help: MESSAGE,
                        defaultConfiguration: {
                          type: 'object',
                          additionalProperties: false,
                          properties: { level: LEVEL },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
          invocations: {
            type: 'array',
            items: {
              type: 'object',
              required: ['executionSuccessful'],
              additionalProperties: false,
              properties: {
                executionSuccessful: { type: 'boolean' },
                toolExecutionNotifications: {
                  type: 'array',
                  items: {
                    type: 'object',
                    required: ['message'],
                    additionalProperties: false,
                    properties: { level: LEVEL, message: MESSAGE, locations: { type: 'array', items: LOCATION } },
                  },
                },
              },
            },
          },
          results: {
            type: 'array',
            items: {
              type: 'object',
              required: ['message'],
              additionalProperties: false,
              properties: {
                ruleId: { type: 'string' },
                ruleIndex: { type: 'integer', minimum: 0 },
                level: LEVEL,
                message: MESSAGE,
                locations: { type: 'array', items: LOCATION },
              },
            },
          },
        },
      },
    },
  },
} as const;

const HOSTILE = '%\r\n::error::x, <b>&"\' ]]> \u001b[2J\u202e\ufffe';
const hostile: CheckedFile = {
  file: `runs/a,b:c %3C"<\u001b.yaml`,
  kind: 'runbook',
  refused: undefined,
  diagnostics: (['error', 'warning'] as const).map((severity) => ({
    severity,
    code: severity === 'error' ? 'unknown-key' : 'unused-input',
    message: HOSTILE,
    hint: HOSTILE,
    source: { file: `runs/a,b:c %3C"<\u001b.yaml`, text: 'one\ntwo\n' },
    span: { start: 4, end: 7 },
  })),
};
const lost: CheckedFile = { file: 'lost.yaml', kind: 'runbook', diagnostics: [], refused: new UserError(HOSTILE) };
const fine: CheckedFile = { file: 'fine.test.yaml', kind: 'test', diagnostics: [], refused: undefined };

/** Control characters that no format may pass on to a terminal or a parser. */
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/;

describe('findings for other programs', () => {
  it('as SARIF have the shape of its schema, and a rule for every code that a result can have', () => {
    const validate = new Ajv2020({ strict: true, allErrors: true }).compile(SARIF);
    const document = makeSarif([hostile, lost, fine]);
    expect([validate(document), validate.errors]).toEqual([true, null]);
    const [run] = document.runs;
    const rules = run?.tool.driver.rules.map(({ id }) => id) ?? [];
    expect(rules).toEqual(
      listExplanations()
        .filter(({ kind }) => kind === 'diagnostic' || kind === 'profile')
        .map(({ code }) => code),
    );
    for (const { ruleId, ruleIndex } of run?.results ?? []) expect(rules[ruleIndex]).toBe(ruleId);
    expect(run?.results.map(({ level }) => level)).toEqual(['error', 'warning']);
    expect(run?.results[0]?.locations[0]?.physicalLocation).toEqual({
      artifactLocation: { uri: 'runs/a%2Cb%3Ac%20%253C%22%3C%1B.yaml' },
      region: { startLine: 2, startColumn: 1, endLine: 2, endColumn: 4 },
    });
    expect(run?.invocations[0]?.executionSuccessful).toBe(false);
    expect(CONTROL.test(formatSarif([hostile]))).toBe(false);
    expect(JSON.parse(formatSarif([fine])).runs[0].invocations[0].executionSuccessful).toBe(true);
  });

  it('as annotations are one command a line, whatever a name or a message holds', () => {
    const text = formatAnnotations([hostile, lost, fine]);
    expect(text).not.toMatch(CONTROL);
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      const [, properties = '', message = ''] = /^::(?:error|warning) ([^:]*)::(.*)$/.exec(line) ?? [];
      expect(properties.split(',').map((each) => each.split('=')[0])[0]).toBe('file');
      expect(message).toContain('%25');
    }
    expect(lines[0]).toMatch(
      /^::error file=runs\/a%2Cb%3Ac %253C"<\\u001b\.yaml,line=2,endLine=2,col=1,endColumn=3,title=unknown-key::/,
    );
  });

  it('as JUnit are well-formed, whatever a name or a message holds, and their counts are right', () => {
    const text = formatJunit([hostile, lost, fine]);
    expect(text).not.toMatch(CONTROL);
    expect(text).not.toMatch(/[\ufffe\uffff]/);
    expect(text).toContain('<testsuites name="runbook validate" tests="3" failures="1" errors="1">');
    expect(tags(text)).toEqual([
      'testsuites',
      'testsuite',
      'testcase',
      'failure',
      'system-out',
      'testsuite',
      'testcase',
      'error',
      'testsuite',
      'testcase',
    ]);
  });
});

/** The elements of a text in sequence; throws where it is not well-formed. */
function tags(xml: string): readonly string[] {
  const seen: string[] = [];
  const open: string[] = [];
  const body = xml.replace(/^<\?xml[^>]*\?>/, '');
  const rest = body.replace(
    /<(\/?)([a-z-]+)((?:\s+[a-z]+="(?:[^<&"]|&(?:amp|lt|gt|quot|apos|#10);)*")*)\s*(\/?)>/g,
    (_whole, close: string, name: string, _attributes: string, empty: string) => {
      if (close === '/') expect(open.pop()).toBe(name);
      else {
        seen.push(name);
        if (empty === '') open.push(name);
      }
      return '';
    },
  );
  expect(open).toEqual([]);
  expect(rest.replaceAll(/&(?:amp|lt|gt|quot|apos|#10);/g, '')).not.toMatch(/[<&]/);
  return seen;
}
