/**
 * Writes a drawn runbook as YAML, and drops the steps at which the checker finds an error. A part of it can be left out: that is how
 * a failing one is made smaller.
 */
import type { SourceText } from '../../src/base/diagnostic.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';
import { checkUnheld } from '../runbook/check-unheld.ts';

export type Data = string | number | boolean | readonly Data[] | { readonly [key: string]: Data };

/** A step of a drawn runbook; distinct from other maps so that it can be dropped. */
export class Step {
  readonly fields: { [key: string]: Data | Block };

  constructor(fields: Readonly<Record<string, Data | Block>>) {
    this.fields = fields;
  }
}
export type Block = readonly Step[];

/** A map of a drawn runbook, whose values may hold steps. */
export type Draft = { readonly [key: string]: Drafted };
type Drafted = Data | Block | Step | Draft | readonly Draft[];

/** Where a step is in the text. */
interface Extent {
  readonly step: Step;
  readonly start: number;
  readonly end: number;
}

interface Written {
  readonly text: string;
  readonly extents: readonly Extent[];
}

export interface Settled {
  readonly runbook: CheckedRunbook;
  readonly source: SourceText;
  readonly dropped: readonly string[];
}

/** A part of a drawn runbook that can be left out: a whole step, or a key of a step or of another map. */
export interface Piece {
  readonly of: object;
  readonly key?: string;
}

/** Keys of a file and of a step that it can do without. */
const OPTIONAL: ReadonlySet<string> = new Set([
  'limits',
  'deadman',
  'on_error',
  'finally',
  'outputs',
  'retry',
  'timeout',
  'on_timeout',
  'catch',
  'undo',
  'await',
  'allow',
  'because',
  'else',
]);

/** The parts of a draft, outer ones first. */
export function listPieces(draft: Draft): readonly Piece[] {
  const pieces: Piece[] = [];
  const visit = (value: Drafted | Data): void => {
    if (typeof value !== 'object') return;
    if (Array.isArray(value)) {
      for (const item of value) visit(item);
      return;
    }
    if (value instanceof Step) pieces.push({ of: value });
    const fields = (value instanceof Step ? value.fields : value) as Draft;
    for (const [key, each] of Object.entries(fields)) {
      const isModifier = key === 'if' && value instanceof Step && typeof fields['do'] === 'undefined';
      if (OPTIONAL.has(key) || isModifier) pieces.push({ of: fields, key });
      if (key === 'limits') pieces.push(...Object.keys(each).map((limit) => ({ of: each as object, key: limit })));
      visit(each);
    }
  };
  visit(draft);
  return pieces;
}

/** What is left out of a draft. */
class Without {
  private readonly keys = new Map<object, Set<string>>();

  constructor(pieces: readonly Piece[]) {
    for (const piece of pieces) this.add(piece);
  }

  add({ of, key = '' }: Piece): void {
    this.keys.set(of, (this.keys.get(of) ?? new Set()).add(key));
  }

  has(of: object, key = ''): boolean {
    return this.keys.get(of)?.has(key) === true;
  }
}

/** Rounds of dropping after which the runbook is given up. */
const MOST_ROUNDS = 12;

interface Settling {
  readonly load?: (name: string) => SourceText | undefined;
  readonly leftOut?: readonly Piece[];
  /** It may certainly leave more than it declares: a run is held to its word all the same. */
  readonly unheld?: boolean;
}

/** The text of a runbook without errors, and how many of its steps were dropped for that; undefined where that fails. */
export function settle(
  name: string,
  draft: Draft,
  { load = () => undefined, leftOut = [], unheld = false }: Settling = {},
): Settled | undefined {
  const without = new Without(leftOut);
  const dropped: string[] = [];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const { text, extents } = write(draft, without);
    const source = { file: `${name}.yaml`, text };
    const { runbook, diagnostics } = (unheld ? checkUnheld : checkRunbook)(source, load);
    if (runbook !== undefined) return { runbook, source, dropped };
    for (const { severity, code, message, span } of diagnostics) {
      if (severity !== 'error' || (unheld && code === 'leaves-violated')) continue;
      const around = extents.filter(({ start, end }) => start <= span.start && span.start < end);
      const innermost = around.sort((a, b) => a.end - a.start - (b.end - b.start))[0];
      if (innermost === undefined) return undefined;
      if (!without.has(innermost.step)) dropped.push(`${code}: ${message}`);
      without.add({ of: innermost.step });
    }
  }
  return undefined;
}

function write(draft: Draft, without: Without): Written {
  const extents: Extent[] = [];
  let text = '';
  const put = (value: Drafted, indent: string): void => {
    if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
      const items = value.filter((item) => !(item instanceof Step && without.has(item)));
      // A block needs a step.
      for (const item of items.length === 0 ? [new Step({ wait: '10ms' })] : items) {
        text += `\n${indent}- `;
        const start = text.length;
        const fields = item instanceof Step ? item.fields : item;
        putFields(fields, `${indent}  `, true);
        if (item instanceof Step) extents.push({ step: item, start, end: text.length });
      }
    } else if (value instanceof Step) {
      putFields(value.fields, indent, false);
    } else if (
      typeof value === 'object' &&
      !Array.isArray(value) &&
      (value === draft['limits'] || holdsSteps(value as Draft))
    ) {
      putFields(value as Draft, indent, false);
    } else text += ` ${writeFlow(value as Data)}`;
  };
  const putFields = (fields: Draft, indent: string, inline: boolean): void => {
    const kept = Object.entries(fields).filter(([key]) => !without.has(fields, key));
    for (const [index, [key, value]] of kept.entries()) {
      text += `${inline && index === 0 ? '' : `\n${indent}`}${key}:`;
      put(value, `${indent}  `);
    }
  };
  putFields(draft, '', true);
  return { text: `${text}\n`, extents };
}

/** Words that a reader of YAML may take for something other than a text. */
const TAKEN: ReadonlySet<string> = new Set(['true', 'false', 'null', 'yes', 'no', 'on', 'off', 'y', 'n']);

function writeFlow(value: Data): string {
  if (Array.isArray(value)) return `[${value.map(writeFlow).join(', ')}]`;
  if (typeof value === 'string' && /^[a-z][a-z_]*$/.test(value) && !TAKEN.has(value)) return value;
  if (typeof value !== 'object') return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, each]) => `${key}: ${writeFlow(each)}`)
    .join(', ')}}`;
}

function holdsSteps(value: Drafted): boolean {
  if (value instanceof Step) return true;
  if (Array.isArray(value)) return value.some(holdsSteps);
  return typeof value === 'object' && Object.values(value).some(holdsSteps);
}
