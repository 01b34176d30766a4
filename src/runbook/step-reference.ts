/** The text of docs/reference/steps.md, written from the grammar: what a table knows, nobody retypes. */
import { FILE, MODIFIERS } from './grammar.ts';
import type { Field, FieldsShape, Shape } from './shape.ts';
import { MODIFIER_NAMES, STEPS, type StepRow, stepRow, VERBS } from './steps.ts';

export function stepReference(): string {
  const group = (name: StepRow['group']): string[] => VERBS.filter((verb) => STEPS[verb].group === name).map((verb) => section(verb, stepRow(verb)));
  return [
    '# Steps\n',
    'Generated from the step table. A step is exactly one verb and its modifiers.\n',
    '## Verbs that call the venue\n',
    ...group('venue'),
    '## Verbs of control\n',
    ...group('control'),
    '## Modifiers\n',
    table(Object.entries(MODIFIERS)),
    '\n## Keys of a file\n',
    table(Object.entries(FILE.fields)),
    '',
  ].join('\n');
}

function section(verb: string, row: StepRow): string {
  const lines = [`### ${verb}\n`, `${row.summary}\n`, ...takes(row.takes)];
  if (row.endpoints.length > 0) lines.push(`Calls: ${row.endpoints.map((name) => `\`${name}\``).join(', ')}. `);
  lines.push(`Yields ${row.yieldsDoc}. Modifiers: ${MODIFIER_NAMES.filter((name) => row.modifiers.includes(name)).join(', ')}.`);
  if (row.await !== undefined) lines.push(`\`await\`: ${row.await.allowed.join(', ')}${row.await.default === undefined ? '' : ` (default ${row.await.default})`}.`);
  return `${lines.join('\n')}\n`;
}

function takes(shape: Shape): readonly string[] {
  switch (shape.kind) {
    case 'fields':
      return Object.keys(shape.fields).length === 0 ? ['Takes `{}`.\n'] : [fieldTable(shape)];
    case 'variants':
      return Object.entries(shape.variants).flatMap(([word, variant]) => [`\`${shape.by}: ${word}\`\n`, fieldTable(variant)]);
    case 'choice':
      return [`Takes ${shape.accepts}.\n`, ...(shape.maps ?? []).flatMap(({ shape: each }) => takes(each))];
    case 'list':
      return ['Takes a list.\n', ...takes(shape.of)];
    default:
      return [`Takes ${spelling(shape)}.\n`];
  }
}

function fieldTable(shape: FieldsShape): string {
  return `${table(Object.entries(shape.fields))}\n`;
}

function table(fields: readonly (readonly [string, Field])[]): string {
  const rows = fields.map(([name, field]) => `| \`${name}\` | ${spelling(field.shape)} | ${field.required ? 'yes' : ''} | ${field.default === undefined ? '' : `\`${field.default}\``} | ${cell(field.doc)} |`);
  return ['| key | takes | required | default | |', '|---|---|---|---|---|', ...rows].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

/** What stands there, in a few words. */
function spelling(shape: Shape): string {
  switch (shape.kind) {
    case 'value':
      return cell(shape.spelling);
    case 'word':
      return shape.values.map((word) => `\`${word}\``).join(' ');
    case 'integer':
      return 'whole number';
    case 'flag':
      return shape.only ? '`true`' : '`true` `false`';
    case 'list':
      return `list of ${spelling(shape.of)}`;
    case 'names':
      return `map from names to ${spelling(shape.of)}`;
    case 'fields':
      return `map: ${Object.entries(shape.fields).map(([name, field]) => `${name}${field.required ? '' : '?'}`).join(', ')}`;
    case 'variants':
      return `map, by its ${shape.by}`;
    case 'choice':
      return cell(shape.accepts);
    case 'step':
      return 'a step';
    case 'steps':
      return 'a list of steps';
    case 'literal':
      return 'literal';
    case 'text':
    case 'name':
    case 'number':
    case 'duration':
    case 'time':
    case 'type':
      return shape.kind;
    default:
      return shape satisfies never;
  }
}
