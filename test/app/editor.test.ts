import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextDocument } from 'vscode-languageserver-textdocument';
import { analyse } from '../../src/app/editor/analysis.ts';
import { listInlayHints, listLenses } from '../../src/app/editor/annotations.ts';
import { complete } from '../../src/app/editor/completion.ts';
import { listFixes } from '../../src/app/editor/fixes.ts';
import { hover } from '../../src/app/editor/hover.ts';
import { applyEdits, rename } from '../../src/app/editor/rename.ts';
import { LanguageService } from '../../src/app/editor/service.ts';
import { findSymbol } from '../../src/app/editor/symbols.ts';
import { placeDiagnostic } from '../../src/base/diagnostic.ts';
import { itHolds } from '../property.ts';

const NONE = () => undefined;
const SHIPPED = new URL('../../runbooks/', import.meta.url);
const shipped = readdirSync(SHIPPED)
  .filter((name) => name.endsWith('.yaml') && !name.endsWith('.test.yaml'))
  .map((name) => [name, readFileSync(new URL(name, SHIPPED), 'utf8')] as const);

/** The text without its cursor, and where it was. */
function cursorOf(marked: string): { readonly text: string; readonly offset: number } {
  return { text: marked.replace('¦', ''), offset: marked.indexOf('¦') };
}
const HEAD = `runbook: case
dsl: 1
leaves: {position: open, because: the names matter here}
inputs:
  market: {type: market, default: BTC-USD}
  side: {type: side, default: long, about: which way}
  size: {type: size, default: 0.1}
feeds:
  mid: {type: price, max_age: 5s}
let:
  half: inputs.size / 2
  fixed: 0.25
def:
  near: feeds.mid * 0.999
vars:
  done: {type: size, init: 0}
`;
const ENTRY = `steps:
  - id: entry
    place: {type: limit, market: "\${inputs.market}", side: "\${inputs.side}", size: half, price: near}
  - wait_for: {order: entry, is: filled, within: 10m}
  - set: {done: entry.filled}
`;

describe('completion', () => {
  const labels = (marked: string, head = HEAD) => {
    const { text, offset } = cursorOf(head + marked);
    return complete('case.yaml', text, offset, NONE).map(({ label }) => label);
  };
  it.each([
    ['keys of the file', 'ste¦', ['steps', 'on_error', 'finally', 'limits', 'deadman'], ['inputs', 'place']],
    ['keys of the file on an empty line', '¦\nsteps: []\n', ['outputs', 'limits'], ['steps', 'inputs']],
    ['steps and modifiers', 'steps:\n  - ¦\n', ['place', 'wait_for', 'id', 'if'], ['market']],
    [
      'modifiers of the step that is written',
      'steps:\n  - place: {type: limit}\n    ¦\n',
      ['catch', 'retry', 'await'],
      ['place', 'protect'],
    ],
    [
      'modifiers of a read, without those of an order',
      'steps:\n  - read_account: {}\n    a¦\n',
      ['retry', 'id'],
      ['await', 'undo', 'place'],
    ],
    ['fields inside braces', 'steps:\n  - place: {type: limit, ¦}\n', ['market', 'price', 'tif'], ['trigger', 'type']],
    [
      'fields inside a brace that is not closed',
      'steps:\n  - place: {type: stop_limit, ¦\n',
      ['trigger', 'market'],
      ['type'],
    ],
    ['fields of a block', 'steps:\n  - place:\n      type: limit\n      ¦\n', ['market', 'size'], ['type', 'catch']],
    [
      'functions of the account, beside the fields of a step of that name',
      'steps:\n  - id: account\n    read_account: {}\n  - assert: account.¦ > 0\n',
      ['position', 'status'],
      ['avg_entry', 'account.position'],
    ],
    ['words', 'steps:\n  - place: {type: ¦}\n', ['limit', 'market', 'stop_limit'], ['post_only']],
    [
      'words of another field',
      'steps:\n  - place: {type: limit, tif: ¦}\n',
      ['post_only', 'good_till_cancel'],
      ['limit'],
    ],
    [
      'words of a block',
      'deadman:\n  market: BTC-USD\n  timeout: 60s\n  on_exit: ¦\nsteps: []\n',
      ['disarm', 'leave_armed'],
      [],
    ],
    ['types', 'outputs: {}\nsteps: []\n', [], []],
    [
      'names of an expression',
      'steps:\n  - place: {type: limit, size: ¦}\n',
      ['inputs', 'feeds', 'half', 'near', 'done', 'tick', 'min'],
      ['entry'],
    ],
    ['inputs', 'steps:\n  - place: {type: limit, size: inputs.¦}\n', ['size', 'market', 'side'], ['mid', 'half']],
    ['inputs inside a text', 'steps:\n  - place: {type: limit, market: "${inputs.¦}"}\n', ['size', 'market'], ['mid']],
    [
      'fields of an order, and only after its step',
      `${ENTRY}  - assert: entry.¦\n`,
      ['filled', 'avg_price', 'open'],
      ['orValue', 'inputs'],
    ],
    [
      'what handles an absent value',
      `steps:\n  - id: e\n    place: {type: limit, market: BTC-USD, side: long, size: 1, price: 1}\n  - assert: e.avg_price.¦\n`,
      ['orValue', 'hasValue'],
      ['map'],
    ],
    [
      'ids',
      `deadman: {market: BTC-USD, timeout: 60s, release_after: ¦, on_exit: disarm}\n${ENTRY}`,
      ['entry'],
      ['half'],
    ],
    [
      'members of an enum in a comparison',
      "steps:\n  - if: inputs.side == '¦'\n    read_account: {}\n",
      ['long', 'short'],
      ['inputs'],
    ],
    ['orders that steps name', `${ENTRY}  - cancel: ¦\n`, ['entry'], []],
    ['the blocks of an if', 'steps:\n  - if: inputs.size > 1\n    ¦\n', ['do', 'else', 'place', 'id'], ['if']],
    [
      'steps inside the blocks of an if',
      'steps:\n  - if: inputs.size > 1\n    do:\n      - ¦\n',
      ['place', 'wait_for'],
      ['do', 'else'],
    ],
    ['nothing in a comment', '# ¦\nsteps: []\n', [], ['steps']],
  ])('offers %s', (_name, marked, has, hasNot) => {
    const found = labels(marked);
    expect(found).toEqual(expect.arrayContaining(has));
    for (const label of hasNot) expect(found).not.toContain(label);
  });

  it('writes the colon behind a new key, and not behind one that has it', () => {
    const insert = (marked: string) => {
      const { text, offset } = cursorOf(HEAD + marked);
      return complete('case.yaml', text, offset, NONE).find(({ label }) => label === 'place')?.insert;
    };
    expect([insert('steps:\n  - pl¦\n'), insert('steps:\n  - pl¦: {type: limit}\n')]).toEqual(['place: ', 'place']);
  });

  it('offers types where one is declared', () => {
    const { text, offset } = cursorOf(HEAD.replace('type: size, init', 'type: ¦, init'));
    expect(complete('case.yaml', text, offset, NONE).map(({ label }) => label)).toEqual(
      expect.arrayContaining(['price', 'duration']),
    );
  });
});

describe('hover', () => {
  const shown = (marked: string) => {
    const { text, offset } = cursorOf(marked);
    return hover(analyse({ file: 'case.yaml', text }, NONE), offset)?.markdown;
  };
  it.each([
    [
      'an input with its unit and words',
      `${HEAD}${ENTRY.replace('size: half', 'size: inputs.si¦ze')}`,
      [/inputs\.size.*`size`.*base currency/, /default: 0\.1/],
    ],
    [
      'a function of the account',
      `${HEAD}steps:\n  - assert: account.posi¦tion('BTC-USD') > 1\n`,
      [/over all its runs/],
    ],
    [
      'a constant with its value',
      `${HEAD.replace('inputs.size / 2', 'fix¦ed * 1').replace('  half', '  zero: 1\n  half')}steps: []\n`
        .replace('  fixed: 0.25\n', '')
        .replace('  zero: 1\n', '  fixed: 0.25\n'),
      [/fixed/, /0\.25/],
    ],
    [
      'a field that may be absent',
      `${HEAD}${ENTRY}  - assert: entry.avg_pri¦ce > 1\n`,
      [/entry\.avg_price.*`.*price`/],
    ],
    [
      'a function with its form and an example',
      `${HEAD}${ENTRY.replace('price: near', 'price: ti¦ck(near)')}`,
      [/tick\(/, /gives/],
    ],
    ['a key with what it takes', `${HEAD}${ENTRY.replace('within', 'wit¦hin')}`, [/within.*duration/]],
    ['a step', `${HEAD}${ENTRY.replace('wait_for', 'wait_¦for')}`, [/Waits until/]],
    [
      'a word of the head',
      `${HEAD}dead¦man: {market: BTC-USD, timeout: 60s, on_exit: disarm}\n${ENTRY}`,
      [/kept alive/],
    ],
  ])('says of %s what it is', (_name, marked, patterns) => {
    for (const pattern of patterns) expect(shown(marked)).toMatch(pattern);
  });
  it.each([
    ['an input', `${HEAD.replace('  size:', '  si¦ze:')}${ENTRY}`, /size.*`size`[\s\S]*1 use$/],
    ['a feed', `${HEAD.replace('  mid:', '  mi¦d:')}${ENTRY}`, /mid.*`price`/],
    ['a let', `${HEAD.replace('  half:', '  ha¦lf:')}${ENTRY}`, /half.*`size`[\s\S]*1 use$/],
    ['an id', `${HEAD}${ENTRY.replace('id: entry', 'id: en¦try')}`, /entry.*`Order`[\s\S]*2 uses$/],
  ])('says of %s, where it is declared, its type and how often it is used', (_name, marked, pattern) =>
    expect(shown(marked)).toMatch(pattern),
  );
  it('says nothing where nothing is', () => expect(shown(`${HEAD}${ENTRY}# her¦e\n`)).toBeUndefined());
});

describe('a name', () => {
  const text = `${HEAD}${ENTRY}  - for_each:
      each: k
      in: range(3)
      do:
        - let: {part: inputs.size * k}
        - assert: part > half
  - assert: "inputs.size > done && 'size' != 'half'"
outputs: {filled: entry.filled, size: inputs.size}
`;
  const analysis = analyse({ file: 'case.yaml', text }, NONE);
  const place = (needle: string, nth = 0) => {
    let at = -1;
    for (let count = 0; count <= nth; count += 1) at = text.indexOf(needle, at + 1);
    return at + needle.length - 1;
  };
  const used = (offset: number) => {
    const found = findSymbol(analysis, offset);
    return found === undefined ? undefined : [found.declaration.kind, found.declaration.name, found.uses.length];
  };

  it.each([
    ['inputs.size', 0, ['input', 'size', 4]],
    ['half', 0, ['let', 'half', 2]],
    ['feeds.mid', 0, ['feed', 'mid', 1]],
    ['price: near', 0, ['def', 'near', 1]],
    ['set: {done', 0, ['var', 'done', 2]],
    ['order: entry', 0, ['id', 'entry', 3]],
    ['each: k', 0, ['each', 'k', 1]],
    ['let: {part', 0, ['let', 'part', 1]],
  ])('%s is found with all of its uses', (needle, nth, expected) => expect(used(place(needle, nth))).toEqual(expected));

  it('is renamed everywhere and nowhere else', () => {
    const renaming = rename(analysis, place('inputs.size'), 'amount', NONE);
    if ('refused' in renaming) throw new Error(renaming.refused);
    const after = applyEdits(text, renaming.edits);
    expect(after).toBe(
      text
        .replaceAll('inputs.size', 'inputs.amount')
        .replace('  size: {type: size, default', '  amount: {type: size, default'),
    );
    expect(analyse({ file: 'case.yaml', text: after }, NONE).diagnostics.map(({ code }) => code)).toEqual(
      analysis.diagnostics.map(({ code }) => code),
    );
  });

  it.each([
    ['a name that is taken', 'half', 'near'],
    ['an id that is taken', 'half', 'entry'],
    ['an input that is taken', 'inputs.size', 'side'],
    ['a loop variable of another place', 'half', 'k'],
    ['a reserved name', 'half', 'inputs'],
    ['a keyword', 'half', 'true'],
    ['a name for no expression', 'half', 'my-half'],
    ['a name that gives access to more than data', 'half', '__proto__'],
  ])('is not renamed to %s', (_name, needle, to) =>
    expect(rename(analysis, place(needle), to, NONE)).toHaveProperty('refused'),
  );

  it('may have the name of an input, which is read behind its block', () =>
    expect(rename(analysis, place('half'), 'market', NONE)).toHaveProperty('edits'));
});

describe('a quick fix', () => {
  const fix = (text: string) => {
    const analysis = analyse({ file: 'case.yaml', text }, NONE);
    const found = listFixes(analysis, 0, text.length, NONE);
    return found.map(({ edit, diagnostic }) => [diagnostic.code, applyEdits(text, [edit])] as const);
  };
  it.each([
    ['a misspelt step', '  - red_account: {}\n', 'unknown-key', '  - read_account: {}\n'],
    [
      'a word',
      '  - place: {type: limit, market: BTC-USD, side: long, size: 1, price: 1, tif: gtc}\n',
      'unknown-word',
      'tif: good_till_cancel}',
    ],
    ['a duration without its unit', '  - wait: 30\n', 'wrong-type', '  - wait: 30s\n'],
    ['a misspelt input', '  - assert: inputs.sze > 1\n', 'unknown-field', 'inputs.size > 1'],
    ['a misspelt member', "  - assert: inputs.side == 'lnog'\n", 'not-a-member', "inputs.side == 'long'"],
    [
      'a template without quotes in braces, before what it hid',
      '  - place: {type: limt, market: ${inputs.markt}, side: long, size: half, price: 1}\n',
      'yaml-syntax',
      'market: "${inputs.markt}", side',
    ],
    [
      'an index without quotes in braces',
      '  - let: {one: half * sizes[0], two: 2}\n',
      'yaml-syntax',
      'one: "half * sizes[0]", two',
    ],
    [
      'a comma in braces',
      '  - place: {type: limit, market: BTC-USD, side: long, size: min(half, 1), price: 1}\n',
      'yaml-comma',
      'size: "min(half, 1)"',
    ],
  ])('corrects %s', (_name, step, code, expected) => {
    const fixes = fix(`${HEAD}steps:\n${step}`);
    expect(fixes.filter(([each]) => each === code).map(([, text]) => text.includes(expected))).toContain(true);
  });

  it('is offered only where it corrects, in every runbook with a mistake', () => {
    const folder = new URL('../golden/runbooks/', import.meta.url);
    let offered = 0;
    for (const name of readdirSync(folder).filter((each) => each.startsWith('errors-'))) {
      const [text = ''] = readFileSync(new URL(name, folder), 'utf8').split(/^---\n/m);
      /** The errors, and where these are as many, the warnings. */
      const weigh = (each: string) => {
        const found = analyse({ file: 'case.yaml', text: each }, NONE).diagnostics;
        return 1000 * found.filter(({ severity }) => severity === 'error').length + found.length;
      };
      for (const [, after] of fix(text)) {
        offered += 1;
        expect(weigh(after)).toBeLessThan(weigh(text));
      }
    }
    expect(offered).toBeGreaterThan(3);
  });
});

describe('beside the text', () => {
  const whole = `${HEAD}${ENTRY}outputs: {filled: entry.filled}\n`;
  const analysis = analyse({ file: 'case.yaml', text: whole }, NONE);
  it('are the types of names that have none written', () => {
    const { text } = analysis.source;
    const hints = listInlayHints(analysis, 0, text.length).map((hint) => [
      /\w+$/.exec(text.slice(0, hint.offset))?.[0],
      hint.text,
    ]);
    expect(hints).toEqual([
      ['half', 'size'],
      ['fixed', 'number'],
      ['near', 'price'],
      ['filled', 'size'],
    ]);
  });
  it('is the worst case of the plan, or which inputs it needs', () => {
    expect(listLenses(analysis, 0).map(({ title, command }) => [title.replaceAll(/[\d.]+/g, 'N'), command])).toEqual([
      [expect.stringMatching(/^worst case: N orders.*tokens\/min$/), undefined],
      ['dry-run', 'runbook.dryRun'],
    ]);
    const needy = analyse({ file: 'case.yaml', text: analysis.source.text.replace(', default: 0.1', '') }, NONE);
    expect(listLenses(needy, 0).map(({ title }) => title)).toEqual(['plan and dry-run need size']);
    expect(listLenses(analyse({ file: 'case.yaml', text: 'steps: 1\n' }, NONE), 0)).toEqual([]);
  });
});

describe('the service', () => {
  const disk = { loadBeside: NONE, checkOther: () => [] };
  it('checks a caller anew when the runbook it calls is typed', () => {
    const service = new LanguageService(disk, () => 0);
    service.update('/p/caller.yaml', 'runbook: caller\ndsl: 1\nsteps:\n  - call: {runbook: callee}\n');
    expect(service.diagnose('/p/caller.yaml').map(({ code }) => code)).toEqual(['unknown-runbook']);
    service.update('/p/callee.yaml', 'runbook: callee\ndsl: 1\nsteps:\n  - read_account: {}\n');
    expect(service.diagnose('/p/caller.yaml')).toEqual([]);
    service.close('/p/callee.yaml');
    service.update('/p/caller.yaml', 'runbook: caller\ndsl: 1\nsteps:\n  - call: {runbook: callee}\n# \n');
    expect(service.diagnose('/p/caller.yaml')).toHaveLength(1);
  });
  it('does not check again what a change does not concern', () => {
    let asked = 0;
    const checkOther = () => {
      asked += 1;
      return [];
    };
    const service = new LanguageService({ loadBeside: NONE, checkOther }, () => 0);
    service.update('/p/a.test.yaml', 'tests: a\ncases: []\n');
    service.update('/q/a.yaml', 'runbook: a\ndsl: 1\nsteps: []\n');
    for (let edit = 0; edit < 5; edit += 1) {
      service.update('/q/a.yaml', `runbook: a\ndsl: 1\nsteps: []\n# ${edit}\n`);
      service.diagnose('/p/a.test.yaml');
    }
    expect(asked).toBe(1);
    service.update('/p/a.yaml', 'runbook: a\ndsl: 1\nsteps: []\n');
    service.diagnose('/p/a.test.yaml');
    expect(asked).toBe(2);
    // What is beside it is read from the disk: a save may change what was found.
    service.forget('/p/a.yaml');
    service.diagnose('/p/a.test.yaml');
    expect(asked).toBe(3);
  });
  it('dry-runs what is typed', async () => {
    const service = new LanguageService(disk, () => Date.UTC(2026, 0, 5, 8));
    service.update(
      '/p/a.yaml',
      'runbook: a\ndsl: 1\nsteps:\n  - id: r\n    read_account: {}\noutputs: {e: r.account_equity}\n',
    );
    expect(await service.dryRun('/p/a.yaml')).toMatch(/^dry-run succeeded; 0 orders, \d+ requests$/);
  });
  it('has no findings for a file of another program', () => {
    const service = new LanguageService(disk, () => 0);
    service.update('/p/ci.yml', 'jobs: {}\n');
    expect([service.diagnose('/p/ci.yml'), service.complete('/p/ci.yml', 3), service.hover('/p/ci.yml', 1)]).toEqual([
      [],
      [],
      undefined,
    ]);
  });
});

describe('places', () => {
  it('are UTF-16, and the same as those of validate --json', () => {
    const found = analyse(
      { file: 'a.yaml', text: `# 😀\n${HEAD}steps:\n  - assert: "'😀' == 'x' && inputs.sze > 1"\n` },
      NONE,
    ).diagnostics.find(({ code }) => code === 'unknown-field');
    if (found === undefined) throw new Error('the misspelt input is not found');
    const { line, column } = placeDiagnostic(found);
    const document = TextDocument.create('', '', 1, found.source.text);
    expect(document.positionAt(found.span.start)).toEqual({ line: line - 1, character: column - 1 });
  });

  itHolds('anywhere in any text have an answer, and never a crash', 60, (numRuns) => {
    fc.assert(
      fc.property(
        fc.constantFrom(...shipped.map(([, text]) => text)),
        fc.nat(),
        fc.nat(40),
        fc.constantFrom('', '.', ': ', '{', '"', '\n  - ', "'", '${'),
        (text, at, cut, typed) => {
          const offset = at % text.length;
          const broken = text.slice(0, offset) + typed + text.slice(offset + cut);
          const cursor = Math.min(broken.length, offset + typed.length);
          complete('a.yaml', broken, cursor, NONE);
          const analysis = analyse({ file: 'a.yaml', text: broken }, NONE);
          hover(analysis, cursor);
          const renaming = rename(analysis, cursor, 'zz_other', NONE);
          if ('edits' in renaming) expect(applyEdits(broken, renaming.edits).length).toBeGreaterThan(0);
          listInlayHints(analysis, 0, broken.length);
        },
      ),
      { numRuns, seed: 7 },
    );
  });
});
