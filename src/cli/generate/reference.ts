/**
 * Generates the reference in Markdown from the tables, one page per table; a page contains nothing that its table does not.
 */
import { errorReference } from '../../runbook/codes/codes.ts';
import { FUNCTIONS, type FunctionRow, type Shape as FunctionShape } from '../../runbook/functions/functions.ts';
import { RECORDS, type RecordRow } from '../../runbook/functions/records.ts';
import { typeName } from '../../runbook/functions/typing.ts';
import { FILE, MODIFIERS } from '../../runbook/shape/grammar.ts';
import type { Field, Fields, FieldsShape, Shape } from '../../runbook/shape/shape.ts';
import { STEPS, type StepRow } from '../../runbook/steps.ts';
import { ASSUMPTIONS, type Assumption } from '../../venue/assumptions.ts';
import { CATALOGUE, type Endpoint, type Parameter } from '../../venue/catalogue.ts';
import { PROFILE_CODES } from '../../venue/profile/reading.ts';
import { COMMANDS } from '../actions/actions.ts';
import type { Options, CommandRow } from '../command-row.ts';
import { GLOBAL_OPTIONS } from '../global-options.ts';

/** Page name to text, each ending with a line break. */
export function referencePages(): Readonly<Record<string, string>> {
  return {
    assumptions: assumptionsPage(ASSUMPTIONS),
    'command-line': commandLinePage(COMMANDS),
    endpoints: endpointsPage(CATALOGUE),
    errors: `${errorReference().trimEnd()}\n\n${profileMistakes()}`,
    file: filePage(FILE.fields),
    functions: functionsPage(FUNCTIONS),
    records: recordsPage(RECORDS),
    steps: stepsPage(STEPS),
  };
}

/** Error codes of a profile, which have a table of their own: diagnostics show them like the codes of a runbook. */
function profileMistakes(): string {
  const rows = Object.entries(PROFILE_CODES).map(([name, meaning]) => [code(name), meaning]);
  return `## Profiles\n\nCodes of problems in a profile; \`profile-ineffective\` is a warning.\n\n${table(['code', 'meaning'], rows)}\n`;
}

type Row = readonly string[];

function page(title: string, about: string, ...parts: readonly string[]): string {
  return `${[`# ${title}`, about, ...parts.filter((part) => part !== '')].join('\n\n')}\n`;
}

function table(head: Row, rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const line = (cells: Row) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function code(text: string): string {
  return `\`${text}\``;
}

function commandLinePage(commands: readonly CommandRow[]): string {
  const sections = commands.map((row) =>
    [`## runbook ${row.name}`, sentence(row.summary), code(synopsis(row)), optionTable(row)]
      .filter((part) => part !== '')
      .join('\n\n'),
  );
  return page(
    'Command line',
    'Generated from the command table.',
    ...sections,
    '## Options of every command',
    optionRows(GLOBAL_OPTIONS),
  );
}

/** The synopsis of a command: `runbook record --from <FILE> --to <FILE>`. */
function synopsis({ name, arguments: args, options }: CommandRow): string {
  const words = Object.entries(args).map(([word, { many, optional }]) => {
    const shown = many === true ? `${word}...` : word;
    return optional === true ? `[${shown}]` : `<${shown}>`;
  });
  const flags = Object.entries(options).map(([flag, { value, required, many }]) => {
    const shown = `--${flag}${value === undefined ? '' : ` <${value}>`}`;
    return required === true ? shown : `[${shown}]${many === true ? '...' : ''}`;
  });
  return ['runbook', name, ...words, ...flags].join(' ');
}

function optionTable({ arguments: args, options }: CommandRow): string {
  const words = Object.entries(args).map(([word, { doc }]) => [code(word), doc]);
  return table(['argument or option', 'meaning'], [...words, ...optionCells(options)]);
}

function optionRows(options: Options): string {
  return table(['option', 'meaning'], optionCells(options));
}

function optionCells(options: Options): Row[] {
  return Object.entries(options).map(([flag, { value, doc }]) => [
    code(`--${flag}${value === undefined ? '' : ` ${value}`}`),
    doc,
  ]);
}

function assumptionsPage(assumptions: Readonly<Record<string, Assumption>>): string {
  const rows = Object.entries(assumptions).map(([key, row]) => [
    code(key),
    `${row.open} (${row.section})`,
    typeof row.default === 'string' ? code(row.default) : code(JSON.stringify(row.default)),
    row.setting === undefined ? '' : code(row.setting),
    row.alsoSeen,
    row.reason,
  ]);
  const about =
    'Generated from the table of assumptions: what venue-api.md leaves open, and what is assumed until the profile says otherwise. None of it has been checked against a live server.';
  return page('Assumptions', about, table(['key', 'open', 'default', 'setting', 'also seen', 'reason'], rows));
}

function endpointsPage(catalogue: Readonly<Record<string, Endpoint>>): string {
  const overview = table(
    ['endpoint', 'tokens', 'activity for the deadman switch', 'only lowers risk', 'repeated'],
    Object.entries(catalogue).map(([name, row]) => [
      code(name),
      row.tokens === undefined ? 'a setting' : String(row.tokens),
      row.qualifies ? 'yes' : 'no',
      row.protective ? 'yes' : 'no',
      REPEATED[row.repeatable],
    ]),
  );
  const sections = Object.entries(catalogue).map(([name, row]) => {
    const parameters = Object.entries(row.parameters).map(([key, each]) => [
      code(key),
      parameterType(each),
      each.required ? 'yes' : 'no',
      each.doc,
    ]);
    const about = `${row.about} (venue-api.md, ${row.section})`;
    return [`## ${name}`, about, table(['parameter', 'type', 'required', 'meaning'], parameters)]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  return page(
    'Endpoints',
    'Generated from the endpoint table: the calls of the venue that this program makes.',
    overview,
    ...sections,
  );
}

const REPEATED: Readonly<Record<Endpoint['repeatable'], string>> = {
  safe: 'changes nothing',
  effect: 'has the same effect',
  value: 'sets the same value',
  never: 'may do it twice',
};

function parameterType(parameter: Parameter): string {
  switch (parameter.type) {
    case 'enum':
      return parameter.values.map(code).join(' ');
    case 'decimal':
      return [
        'decimal',
        bound('above', parameter.exclusiveMin),
        bound('from', parameter.min),
        bound('to', parameter.max),
      ]
        .filter(Boolean)
        .join(' ');
    case 'integer':
      return ['integer', bound('from', parameter.min), bound('to', parameter.max)].filter(Boolean).join(' ');
    default:
      return parameter.type.replaceAll('_', ' ');
  }
}

function bound(word: string, value: string | number | undefined): string {
  return value === undefined ? '' : `${word} ${value}`;
}

function stepsPage(steps: Readonly<Record<string, StepRow>>): string {
  const sections = Object.entries(steps).map(([name, row]) => {
    const calls = row.endpoints.length === 0 ? '' : `Calls ${row.endpoints.map(code).join(', ')}.`;
    const yields = row.yields === 'nothing' ? '' : `Its id stands for ${row.yieldsDoc}.`;
    const modifiers = row.modifiers.length === 0 ? '' : `Modifiers: ${row.modifiers.map(code).join(', ')}.`;
    return [`## ${name}`, sentence(row.summary), shapeText(row.takes), calls, yields, modifiers]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  return page(
    'Steps',
    'Generated from the step table: every step of the language, and the [modifiers](#modifiers) that a step can have.',
    ...sections,
    '## Modifiers',
    fieldTable({ kind: 'fields', fields: MODIFIERS }),
    ...innerTables(MODIFIERS),
  );
}

function filePage(fields: Fields): string {
  return page(
    'The file',
    'Generated from the grammar: the keys of a runbook. [steps.md](steps.md) describes the entries of `steps`.',
    fieldTable({ kind: 'fields', fields }),
    ...innerTables(fields),
  );
}

/** Tables of the maps inside fields, each under the field's name. */
function innerTables(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, { shape }]) => {
    const inner = fieldsWithin(shape);
    return inner === undefined ? [] : [`### ${name}`, fieldTable(inner), ...innerTables(inner.fields)];
  });
}

function fieldsWithin(shape: Shape): FieldsShape | undefined {
  switch (shape.kind) {
    case 'fields':
      return shape;
    case 'list':
    case 'names':
      return fieldsWithin(shape.of);
    case 'choice':
      return [shape.list, ...(shape.maps ?? []).map((each) => each.shape)]
        .map((each) => each && fieldsWithin(each))
        .find((each) => each !== undefined);
    default:
      return undefined;
  }
}

function recordsPage(records: readonly RecordRow[]): string {
  const sections = records.map(({ type, about, fields }) => {
    const rows = Object.entries(type.fields).map(([name, of]) => [code(name), typeName(of), fields?.[name] ?? '']);
    return `## ${type.name}\n\n${sentence(about)}\n\n${table(['field', 'type', 'meaning'], rows)}`;
  });
  const about =
    'Generated from the table of records: what an expression can read of a step’s result, and of `run` and `error`. A field of an optional type may be absent: use `.orValue(x)` or `.hasValue()`.';
  return page('Records', about, ...sections);
}

/** The value of a step: a table of its fields, one for each variant, or one line. */
function shapeText(shape: Shape): string {
  switch (shape.kind) {
    case 'fields':
      return fieldTable(shape);
    case 'variants':
      return Object.entries(shape.variants)
        .map(([word, fields]) => `With ${code(`${shape.by}: ${word}`)}:\n\n${fieldTable(fields)}`)
        .join('\n\n');
    case 'choice':
      return [`Takes ${shape.accepts}.`, ...(shape.maps ?? []).map((each) => shapeText(each.shape))]
        .filter((part) => part !== '')
        .join('\n\n');
    default:
      return `Takes ${shapeWord(shape)}.`;
  }
}

function fieldTable({ fields }: FieldsShape): string {
  return table(
    ['field', 'type', 'required', 'meaning', 'default'],
    Object.entries(fields).map(([name, each]: [string, Field]) => [
      code(name),
      shapeWord(each.shape),
      each.required ? 'yes' : 'no',
      each.doc,
      each.default === undefined ? '' : each.default,
    ]),
  );
}

function shapeWord(shape: Shape): string {
  switch (shape.kind) {
    case 'value':
      return shape.spelling;
    case 'word':
      return shape.values.map(code).join(' ');
    case 'text':
      return shape.accepts ?? 'text';
    case 'integer':
      if (shape.min === shape.max) return code(String(shape.min));
      return ['integer', bound('from', shape.min), bound('to', shape.max)].filter(Boolean).join(' ');
    case 'number':
      return `number ${bound('from', shape.min)}`;
    case 'flag':
      return shape.only === true ? code('true') : 'flag';
    case 'list':
      return `list of ${shapeWord(shape.of)}`;
    case 'names':
      return `map of ${shapeWord(shape.of)}`;
    case 'fields':
      return `{${Object.keys(shape.fields).join(', ')}}`;
    case 'variants':
      return `by ${shape.by}`;
    case 'choice':
      return shape.accepts;
    case 'name':
    case 'duration':
    case 'time':
    case 'type':
    case 'literal':
    case 'steps':
    case 'step':
      return shape.kind;
    default:
      return shape satisfies never;
  }
}

function functionsPage(functions: Readonly<Record<string, FunctionRow>>): string {
  const sections = Object.entries(functions).map(([name, row]) => {
    const forms = row.signatures.map(({ parameters, result }) => {
      const taken = parameters.map(({ name: parameter, shape, rest, implied }) => {
        const shown = `${parameter}: ${functionType(shape)}${rest === true ? ', …' : ''}`;
        return implied === true ? `[${shown}]` : shown;
      });
      return code(`${name}(${taken.join(', ')}) → ${result.kind === 'same' ? 'the same type' : typeName(result)}`);
    });
    const examples = row.examples.map(({ expression, value, given }) => [code(expression), code(value), given ?? '']);
    const method = row.method === true ? `Also ${code(`x.${name}()`)}.` : '';
    return [
      `## ${name}`,
      forms.join('  \n'),
      sentence(row.doc),
      method,
      table(['expression', 'gives', 'given'], examples),
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  return page('Functions', 'Generated from the function table; every example is a test.', ...sections);
}

function functionType(shape: FunctionShape): string {
  switch (shape.kind) {
    case 'unit':
      return 'number of any unit';
    case 'ordered':
      return 'number, time or duration';
    case 'any':
      return 'anything';
    case 'zone':
      return 'time zone';
    case 'list_of':
      return `list<${functionType(shape.of)}>`;
    case 'map_of':
      return `map<${functionType(shape.of)}>`;
    default:
      return typeName(shape);
  }
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return `${trimmed.charAt(0).toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`;
}
