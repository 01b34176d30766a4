import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findPosition } from '../../src/base/diagnostic.ts';
import { type Node, nodeAt, plainData, readDocument, type ScalarNode } from '../../src/runbook/document/document.ts';
import { compileField, type TypeEnv } from '../../src/runbook/expression/expression.ts';
import { itHolds } from '../property.ts';

const read = (text: string) => readDocument({ file: 'a.yaml', text });

/** `code line:column` of each diagnostic. */
function faults(text: string): string[] {
  return read(text).diagnostics.map(({ code, source, span }) => {
    const { line, column } = findPosition(source.text, span.start);
    return `${code} ${line}:${column}`;
  });
}

function scalar(text: string, key = 'a'): ScalarNode {
  const { root } = read(text);
  const node = root?.kind === 'map' ? root.get(key) : undefined;
  if (node?.kind !== 'scalar') throw new Error('no scalar');
  return node;
}

describe('refused texts', () => {
  const cases: readonly (readonly [name: string, text: string, ...expected: string[]])[] = [
    ['an anchor', 'a: 1\nb: &x 2\n', 'yaml-anchor 2:4'],
    ['an alias', 'a: *x\n', 'yaml-alias 1:4'],
    ['an anchor and its alias', 'a: &x 1\nb: *x\n', 'yaml-anchor 1:4', 'yaml-alias 2:4'],
    ['an anchor inside a flow map', '{a: &x 1}', 'yaml-anchor 1:5'],
    ['an anchor on a key', '&k a: 1\n', 'yaml-anchor 1:1'],
    ['a tag', 'a: !!str 5\n', 'yaml-tag 1:4'],
    ['a tag of one’s own', 'a:\n  - !ruby/object x\n', 'yaml-tag 2:5'],
    ['a tag on a block text', 'a: !t |\n  x\n', 'yaml-tag 1:4'],
    ['a merge key', 'a: {b: 1}\nc:\n  <<: {d: 2}\n', 'yaml-merge-key 3:3'],
    ['the YAML 1.1 directive', '%YAML 1.1\n---\na: no\n', 'yaml-directive 1:1'],
    ['a TAG directive', '%TAG ! tag:x,2000:\n---\na: 1\n', 'yaml-directive 1:1'],
    ['two documents', 'a: 1\n---\nb: 2\n', 'yaml-several-documents 2:1'],
    ['three documents, once', 'a: 1\n---\nb: 2\n---\nc: 3\n', 'yaml-several-documents 2:1'],
    ['the key __proto__', '__proto__: {x: 1}\n', 'yaml-forbidden-key 1:1'],
    ['the key constructor', 'a:\n  constructor: 1\n', 'yaml-forbidden-key 2:3'],
    ['the key prototype in a flow map', 'a: {"prototype": 1}\n', 'yaml-forbidden-key 1:5'],
    ['a key twice', 'a: 1\nb: 2\na: 3\n', 'yaml-duplicate-key 3:1'],
    ['a key twice, once quoted', '{a: 1, "a": 2}', 'yaml-duplicate-key 1:8'],
    ['a list as a key', '? [a, b]\n: 1\n', 'yaml-complex-key 1:3'],
    ['a map as a key', '{{a: 1}: 2}', 'yaml-complex-key 1:2'],
    ['an empty key', ': 1\n', 'yaml-complex-key 1:1'],
    ['a number as a key', 'a:\n  1: x\n', 'yaml-key-form 2:3'],
    ['a boolean as a key', 'true: x\n', 'yaml-key-form 1:1'],
    ['null as a key', '~: x\n', 'yaml-key-form 1:1'],
    ['null', 'a: null\n', 'yaml-null 1:4'],
    ['a tilde', 'a: ~\n', 'yaml-null 1:4'],
    ['a key without a value', 'a:\nb: 1\n', 'yaml-null 1:3'],
    ['an item without a value', 'a:\n  -\n  - 1\n', 'yaml-null 2:4'],
    ['keys alone in a flow map', '{a, b: 1}', 'yaml-null 1:3'],
    ['NaN', 'a: .nan\n', 'yaml-number-form 1:4'],
    ['NaN as JavaScript spells it', 'a: NaN\n', 'yaml-number-form 1:4'],
    ['Infinity', 'a: Infinity\n', 'yaml-number-form 1:4'],
    ['-.inf', 'a: -.inf\n', 'yaml-number-form 1:4'],
    ['hexadecimal', 'a: 0x1F\n', 'yaml-number-form 1:4'],
    ['octal', 'a: 0o17\n', 'yaml-number-form 1:4'],
    ['binary', 'a: 0b11\n', 'yaml-number-form 1:4'],
    ['a leading zero', 'a: 0777\n', 'yaml-number-form 1:4'],
    ['an exponent', 'a: 1e-3\n', 'yaml-number-form 1:4'],
    ['a capital exponent', 'a: 1.5E3\n', 'yaml-number-form 1:4'],
    ['underscores', 'a: 1_000\n', 'yaml-number-form 1:4'],
    ['a plus sign', 'a: +5\n', 'yaml-number-form 1:4'],
    ['no digit before the point', 'a: .5\n', 'yaml-number-form 1:4'],
    ['no digit after the point', 'a: 5.\n', 'yaml-number-form 1:4'],
    ['37 digits', `a: ${'1'.repeat(37)}\n`, 'yaml-number-too-long 1:4'],
    ['19 digits after the point', 'a: 0.1234567890123456789\n', 'yaml-number-too-long 1:4'],
    ['True', 'a: True\n', 'yaml-boolean-form 1:4'],
    ['a control character', 'a: x\u001b[2J\n', 'yaml-control-character 1:5'],
    ['a NUL', 'a: x\u0000y\n', 'yaml-control-character 1:5'],
    ['a control character in a comment', 'a: 1 # \u0007\n', 'yaml-control-character 1:8'],
    ['a C1 character', 'a: x\u009b31m\n', 'yaml-control-character 1:5'],
    ['a control character by an escape', 'a: "x\\e[2J"\n', 'yaml-control-character 1:6'],
    ['a NUL by an escape', 'a: "ab\\0"\n', 'yaml-control-character 1:7'],
    ['half a surrogate pair', 'a: "\\ud800x"\n', 'yaml-control-character 1:5'],
    ['a direction override', 'a: BTC\u202e-USD\n', 'yaml-hidden-character 1:7'],
    ['a direction override by an escape', 'a: "BTC\\u202e-USD"\n', 'yaml-hidden-character 1:8'],
    ['an isolate in a comment', '# \u2066x\na: 1\n', 'yaml-hidden-character 1:3'],
    ['a zero-width space', 'a: BTC\u200b-USD\n', 'yaml-hidden-character 1:7'],
    ['an invisible character in a key', '"a\\u200bb": 1\n', 'yaml-hidden-character 1:3'],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, 'yaml-too-deep 1:33'],
    [
      '33 levels of maps',
      `${Array.from({ length: 33 }, (_, i) => `${' '.repeat(i)}a:\n`).join('')}${' '.repeat(33)}b: 1\n`,
      'yaml-too-deep 33:33',
    ],
    ['200,000 brackets', '['.repeat(200_000), 'yaml-too-deep 1:33'],
    ['more than 20,000 values', `a: [${'1,'.repeat(20_000)}]`, 'yaml-too-many-nodes 1:39999'],
    ['more than 256 KiB', `a: ${'x'.repeat(256 * 1024)}`, 'yaml-too-large 1:1'],
    ['256 KiB of two-byte characters', `a: ${'é'.repeat(131_080)}`, 'yaml-too-large 1:1'],
    ['an empty file', '', 'yaml-empty 1:1'],
    ['comments alone', '# nothing\n', 'yaml-empty 1:1'],
    ['an unclosed list', 'a: [1, 2\nb: 3\n', 'yaml-syntax 1:4'],
    ['a tab for indentation', 'a:\n\tb: 1\n', 'yaml-syntax 2:1'],
    ['text after a quoted one', 'a: "x" y\n', 'yaml-syntax 1:8'],
    [
      'each value without its quotes, once',
      'a: {b: ${c}, d: ${e}-${f}}\ng: {h: i[0][1]}\nj: {k: "${l}", m: n[o.p] + q[0]}\n',
      'yaml-syntax 1:8',
      'yaml-syntax 1:17',
      'yaml-syntax 2:9',
      'yaml-syntax 3:20',
    ],
    ['no other error behind a value without its quotes', 'a: {b: ${c}}\n\td: 1\n', 'yaml-syntax 1:8'],
  ];
  it.each(cases)('%s', (_, text, ...expected) => {
    expect(faults(text)).toEqual(expected);
  });

  it('says what was found and what to do', () => {
    const [diagnostic] = read('a: 1e-3').diagnostics;
    expect(diagnostic).toMatchObject({
      severity: 'error',
      message: expect.stringContaining('1e-3'),
    });
    expect(diagnostic?.hint).toContain('0.001');
  });

  it('reports at most fifty diagnostics', () => {
    expect(read('a: null\n'.repeat(500)).diagnostics).toHaveLength(50);
  });
});

describe('accepted texts', () => {
  it('keeps every digit and every trailing zero of a plain number', () => {
    const node = scalar('a: 123456789012345678.100000000000000000\n');
    expect([node.type, node.style, node.text]).toEqual(['number', 'plain', '123456789012345678.100000000000000000']);
  });

  it.each([
    ['a: no', 'text', 'no'],
    ['a: 1:30', 'text', '1:30'],
    ['a: 3%', 'text', '3%'],
    ['a: 30s', 'text', '30s'],
    ['a: 1-2', 'text', '1-2'],
    ['a: 3+', 'text', '3+'],
    ['a: "5"', 'text', '5'],
    ['a: true', 'boolean', 'true'],
    ['a: "true"', 'text', 'true'],
    ['a: -0.5', 'number', '-0.5'],
    ['a: "null"', 'text', 'null'],
    ['a: ${inputs.market}  # the market', 'text', '${inputs.market}'],
    ['a: 2026-01-05T08:00:00Z', 'text', '2026-01-05T08:00:00Z'],
    ['a: BTC-USD@11', 'text', 'BTC-USD@11'],
  ])('%s is a %s', (text, type, value) => {
    const node = scalar(text);
    expect([node.type, node.text]).toEqual([type, value]);
  });

  it('accepts nulls if the limits allow them', () => {
    const source = { file: 'recorded.yaml', text: 'result: null\n' };
    const { root, diagnostics } = readDocument(source, { maxBytes: 100, maxNodes: 10, maxDepth: 3, nulls: 'kept' });
    expect(diagnostics).toEqual([]);
    expect(plainData(root as Node)).toEqual({ result: null });
  });

  it('accepts a byte order mark and Windows line ends', () => {
    const { root, diagnostics } = read('\ufeffa: 1\r\nb: x\r\n');
    expect(diagnostics).toEqual([]);
    expect(plainData(root as Node)).toEqual({ a: 1, b: 'x' });
  });

  it('returns plain data without prototypes', () => {
    const data = plainData(read('a: {b: [1, "2", true]}').root as Node) as { a: object };
    expect(data).toEqual({ a: { b: [1, '2', true] } });
    expect(Object.getPrototypeOf(data)).toBeNull();
    expect(Object.getPrototypeOf(data.a)).toBeNull();
  });

  it('continues after a single error', () => {
    const { root, diagnostics } = read('a: 1\na: 2\nb: ~\nc: x\n');
    expect(diagnostics).toHaveLength(2);
    expect(plainData(root as Node)).toEqual({ a: 1, b: null, c: 'x' });
  });
});

describe('places', () => {
  const text = 'steps:\n  - id: entry   # first\n    place: {size: 0.5, side: "long"}\n';
  const slice = ({ start, end }: { start: number; end: number }): string => text.slice(start, end);

  it('knows the span of keys, values and entries', () => {
    const { root } = read(text);
    const { node, span, keySpan } = nodeAt(root as Node, ['steps', 0, 'place', 'size']);
    expect([node.kind, slice(span), slice(keySpan as typeof span)]).toEqual(['scalar', '0.5', 'size']);
    const steps = root?.kind === 'map' ? root.entry('steps') : undefined;
    expect(slice(steps?.span as typeof span)).toMatch(/^steps:[\s\S]*\}$/);
  });

  it('returns the nearest node on the way to a missing one', () => {
    const { span, keySpan } = nodeAt(read(text).root as Node, ['steps', 0, 'place', 'market', 'x']);
    expect([slice(span), slice(keySpan as typeof span)]).toEqual(['{size: 0.5, side: "long"}', 'place']);
  });

  it('finds a key that looks like a position', () => {
    const { node } = nodeAt(read('a: {"0": x}').root as Node, ['a', 0]);
    expect(node).toMatchObject({ text: 'x' });
  });

  const written: readonly (readonly [name: string, yaml: string])[] = [
    ['plain', 'a: inputs.size * 2 # c'],
    ['single quotes', "a: 'inputs.side == ''long'' && x'"],
    ['double quotes', 'a: "inputs.side == \'long\' && x"'],
    ['double quotes with escapes', 'a: "x\\ty \\"z\\" \\u0041 \\U0001F600 end"'],
    ['double quotes over lines', 'a: "one\n  two \\\n  three\n\n  four"'],
    ['a folded block', 'a: >-   # note\n  long ? min(x, y)\n       : max(x, y)\n  && z\n'],
    ['a literal block', 'a: |\n  first line\n    second\n\n  third\n'],
    ['plain over lines', 'a: one two\n   three\n   four\n'],
  ];
  it.each(written)('maps every visible character of %s to its offset', (_, yaml) => {
    const node = scalar(yaml);
    const escapes: Readonly<Record<string, string>> = { '"': '\\"', A: '\\u0041', '\t': '\\t' };
    const seen = [...node.text].length;
    expect(seen).toBeGreaterThan(5);
    for (let index = 0; index < node.text.length; index += 1) {
      const character = node.text[index] as string;
      if (/\s/.test(character) || /[\ud800-\udfff]/.test(character)) continue;
      const at = node.offset(index);
      const escaped = escapes[character];
      const there = yaml[at] === character || (escaped !== undefined && yaml.startsWith(escaped, at));
      expect(
        there,
        `${JSON.stringify(character)} at ${index} → ${at} (${JSON.stringify(yaml.slice(at, at + 6))})`,
      ).toBe(true);
    }
  });

  it('never leaves the span of the scalar', () => {
    fc.assert(
      fc.property(fc.constantFrom(...written), fc.integer({ min: -5, max: 200 }), ([, yaml], index) => {
        const node = scalar(yaml);
        const at = node.offset(index);
        expect(at).toBeGreaterThanOrEqual(node.span.start);
        expect(at).toBeLessThanOrEqual(node.span.end);
      }),
    );
  });
});

const RUNBOOK = `runbook: flatten   # emergency
dsl: 1
inputs:
  markets: {type: list<market>, default: [BTC-USD, "ETH-USD"]}
  slip:    {type: pct, default: 2, max: 5}
def:
  target: >-
    long ? min(a, inputs.worst)
         : max(b, inputs.worst)
steps:
  - if: net != 0
    place:
      market: \${m}
      side: "\${net > 0 ? 'short' : 'long'}"
      size: abs(net)
    await: terminal
  - notify: {to: ops, text: 'it''s \${left.orders.size()} open'}
`;

describe('hostile input', () => {
  it('reads the runbook before it is mangled', () => {
    expect(faults(RUNBOOK)).toEqual([]);
  });

  itHolds('never throws on a mangled runbook', 800, (numRuns) => {
    const noise = fc.constantFrom(
      '',
      ' ',
      '\n',
      ':',
      '-',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '&a ',
      '*a',
      '!x ',
      '|',
      '#',
      '\t',
      '\u0000',
      '~',
      '1e9',
    );
    const cut = fc.tuple(fc.nat(RUNBOOK.length), fc.nat(12), noise);
    const env: TypeEnv = { roots: new Map(), present: new Set() };
    fc.assert(
      fc.property(fc.array(cut, { minLength: 1, maxLength: 4 }), (cuts) => {
        const text = cuts.reduce(
          (each, [at, length, put]) => each.slice(0, at) + put + each.slice(at + length),
          RUNBOOK,
        );
        const source = { file: 'a.yaml', text };
        const { root, diagnostics } = readDocument(source);
        expect(root !== undefined || diagnostics.length > 0).toBe(true);
        const nodes: Node[] = root === undefined ? [] : [root];
        for (const node of nodes) {
          if (node.kind === 'scalar')
            for (const { span } of compileField(node, source, env, 'any').diagnostics)
              expect(span.end).toBeLessThanOrEqual(text.length + 1);
          else nodes.push(...(node.kind === 'map' ? node.entries.map(({ value }) => value) : node.items));
        }
      }),
      { numRuns },
    );
  });

  itHolds('never throws, and places every diagnostic inside the text', 1600, (numRuns) => {
    const fragment = fc.constantFrom(
      'a: ',
      '- ',
      '\n',
      '  ',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '|',
      '>-',
      '&x ',
      '*x',
      '!!t ',
      '? ',
      ': ',
      ', ',
      '#',
      '%',
      '---',
      '...',
      '\\',
      '\t',
      '\r',
      '<<',
      '0x',
      '~',
      'é',
      '\u202e',
      '😀',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (each) => {
        const { root, diagnostics } = read(each);
        expect(root !== undefined || diagnostics.length > 0).toBe(true);
        for (const { span } of diagnostics) {
          expect(span.start).toBeGreaterThanOrEqual(0);
          expect(span.end).toBeLessThanOrEqual(each.length + 3);
        }
        if (root !== undefined) JSON.stringify(plainData(root));
      }),
      { numRuns },
    );
  });

  it.each([
    ['many keys', Array.from({ length: 9_900 }, (_, i) => `k${i}: 1`).join('\n')],
    ['a long flow list', `[${'a,'.repeat(19_000)}]`],
    ['one long quoted text', `a: "${'x\\n'.repeat(60_000)}"`],
    ['one long folded text', `a: >\n${'  x\n'.repeat(60_000)}`],
    ['many comments', `${'# x\n'.repeat(60_000)}a: 1`],
    ['many open quotes', `a: ${"'".repeat(200_000)}`],
    ['many colons', `a${':'.repeat(200_000)}`],
    ['many dashes', '- '.repeat(100_000)],
  ])('reads or refuses %s in linear time', (_, text) => {
    const start = process.cpuUsage();
    const { root, diagnostics } = read(text);
    expect(root !== undefined || diagnostics.length > 0).toBe(true);
    // Its own time: what else the machine does meanwhile is no matter.
    expect(process.cpuUsage(start).user).toBeLessThan(3_000_000);
  });
});

describe('values that need quotes', () => {
  const lines = (count: number) => Array.from({ length: count }, (_, at) => `- log: a${at}: b c text here\n`).join('');

  it('are named up to twenty, and fewer in a long file, which is not read again for each', () => {
    expect(faults(lines(30))).toHaveLength(20);
    const found = faults(lines(2500));
    expect(found[0]).toBe('yaml-syntax 1:8');
    expect(found.length).toBeGreaterThan(1);
    expect(found.length).toBeLessThan(10);
  });
});
