/** Writes a drawn runbook as YAML, and drops the steps at which the checker finds an error. */
import type { SourceText } from '../../src/base/diagnostic.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';

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

interface Settled {
  readonly runbook: CheckedRunbook;
  readonly source: SourceText;
  readonly dropped: readonly string[];
}

/** Rounds of dropping after which the runbook is given up. */
const MOST_ROUNDS = 12;

/** The text of a runbook without errors, and how many of its steps were dropped for that; undefined where that fails. */
export function settle(
  name: string,
  draft: Draft,
  load: (name: string) => SourceText | undefined,
): Settled | undefined {
  const without = new Set<Step>();
  const dropped: string[] = [];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const { text, extents } = write(draft, without);
    const source = { file: `${name}.yaml`, text };
    const { runbook, diagnostics } = checkRunbook(source, load);
    if (runbook !== undefined) return { runbook, source, dropped };
    for (const { severity, code, message, span } of diagnostics) {
      if (severity !== 'error') continue;
      const around = extents.filter(({ start, end }) => start <= span.start && span.start < end);
      const innermost = around.sort((a, b) => a.end - a.start - (b.end - b.start))[0];
      if (innermost === undefined) return undefined;
      if (!without.has(innermost.step)) dropped.push(`${code}: ${message}`);
      without.add(innermost.step);
    }
  }
  return undefined;
}

function write(draft: Draft, without: ReadonlySet<Step>): Written {
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
    } else if (typeof value === 'object' && !Array.isArray(value) && holdsSteps(value as Draft)) {
      putFields(value as Draft, indent, false);
    } else text += ` ${writeFlow(value as Data)}`;
  };
  const putFields = (fields: Draft, indent: string, inline: boolean): void => {
    for (const [index, [key, value]] of Object.entries(fields).entries()) {
      text += `${inline && index === 0 ? '' : `\n${indent}`}${key}:`;
      put(value, `${indent}  `);
    }
  };
  putFields(draft, '', true);
  return { text: `${text}\n`, extents };
}

function writeFlow(value: Data): string {
  if (Array.isArray(value)) return `[${value.map(writeFlow).join(', ')}]`;
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
