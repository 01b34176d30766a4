/**
 * Generates the reference in Markdown from the tables, one page per table; a page contains nothing that its table does not.
 */
import { toSentence } from '../../base/format.ts';
import { ALARM_MEANINGS, type AlarmRow } from '../../report/results/alarm-meaning.ts';
import { DEADMAN_EVENT_ROWS } from '../../report/results/deadman-event.ts';
import { SCHEDULER_ALARMS } from '../../report/results/scheduler-alarms.ts';
import { renderErrorReference } from '../../runbook/codes/codes.ts';
import { ERROR_KIND_ROWS } from '../../runbook/codes/error-kinds.ts';
import type { FunctionRow } from '../../runbook/functions/function-row.ts';
import { FUNCTIONS } from '../../runbook/functions/functions.ts';
import { RECORDS, type RecordRow } from '../../runbook/functions/records.ts';
import { formatSignatures } from '../../runbook/functions/signature-text.ts';
import { formatType } from '../../runbook/functions/typing.ts';
import { FILE, MODIFIERS } from '../../runbook/shape/grammar.ts';
import type { Field, Fields, FieldsShape, Shape } from '../../runbook/shapes.ts';
import { listEndpoints, STEPS, type StepRow } from '../../runbook/steps/steps.ts';
import { ASSUMPTIONS, type Assumption } from '../../venue/assumptions.ts';
import { CATALOGUE, type Endpoint, type Parameter } from '../../venue/catalogue.ts';
import { DENIALS } from '../../venue/limits/denials.ts';
import { OBSTACLES } from '../../venue/limits/obstacles.ts';
import { PROFILE_CODES } from '../../venue/profile/reading.ts';
import { COMMANDS } from '../actions/actions.ts';
import type { CommandRow, Options } from '../command-row.ts';
import { GLOBAL_OPTIONS } from '../global-options.ts';

/** Page name to text, each ending with a line break. */
export function makeReferencePages(): Readonly<Record<string, string>> {
  return {
    assumptions: makeAssumptionsPage(ASSUMPTIONS),
    'command-line': makeCommandLinePage(COMMANDS),
    endpoints: makeEndpointsPage(CATALOGUE),
    errors: [
      renderErrorReference().trimEnd(),
      makeProfileCodes().trimEnd(),
      makeDenialCodes().trimEnd(),
      makeRunWords(),
    ].join('\n\n'),
    file: makeFilePage(FILE.fields),
    functions: makeFunctionsPage(FUNCTIONS),
    records: makeRecordsPage(RECORDS),
    steps: makeStepsPage(STEPS),
  };
}

/** Error codes of a profile, which have a table of their own: diagnostics show them like the codes of a runbook. */
function makeProfileCodes(): string {
  const rows = Object.entries(PROFILE_CODES).map(([name, { summary, example, fix }]) => [
    formatCode(name),
    summary,
    formatCode(example),
    fix,
  ]);
  return `## Profiles\n\nCodes of problems in a profile; \`profile-ineffective\` is a warning.\n\n${makeTable(['code', 'meaning', 'example', 'what to do'], rows)}\n`;
}

/** Codes with which a limit, or something else, keeps a request of a run back. */
function makeDenialCodes(): string {
  const list = (table: Readonly<Record<string, { summary: string; example: string; fix: string }>>) =>
    makeTable(
      ['code', 'meaning', 'example', 'what to do'],
      Object.entries(table).map(([name, { summary, example, fix }]) => [formatCode(name), summary, example, fix]),
    );
  return [
    '## Denials',
    'Codes with which a limit denies a request before it is sent; kind `denied`.',
    list(DENIALS),
    'Codes with which a request is not sent for another reason; kind `denied` too, but for `NO_SESSION`.',
    `${list(OBSTACLES)}\n`,
  ].join('\n\n');
}

/** What the end of a run, its report and its notices name, with what to do now. */
function makeRunWords(): string {
  const list = (table: Readonly<Record<string, AlarmRow & { readonly summary: string }>>) =>
    makeTable(
      ['name', 'meaning', 'example', 'what to do now'],
      Object.entries(table).map(([name, { summary, example, now }]) => [formatCode(name), summary, example, now]),
    );
  return [
    '## Error kinds',
    'The kind of the error with which a step or a run ends (docs/language.md, When a step fails).',
    list(ERROR_KIND_ROWS),
    '## Alarms',
    'What a person should look at, in the report of a run, `audit summary` and the notices to `ops`.',
    list(ALARM_MEANINGS),
    '## Alarms of the scheduler',
    'What it logs and sends to `ops` beside the alarms of its runs.',
    list(SCHEDULER_ALARMS),
    '## Events of the deadman switch',
    'What `deadman` in the report of a run, and the story, say of it.',
    `${list(DEADMAN_EVENT_ROWS)}\n`,
  ].join('\n\n');
}

type Row = readonly string[];

function makePage(title: string, about: string, ...parts: readonly string[]): string {
  return `${[`# ${title}`, about, ...parts.filter((part) => part !== '')].join('\n\n')}\n`;
}

function makeTable(head: Row, rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const line = (cells: Row) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function formatCode(text: string): string {
  return `\`${text}\``;
}

function makeCommandLinePage(commands: readonly CommandRow[]): string {
  const sections = commands.map((row) =>
    [`## runbook ${row.name}`, toSentence(row.summary), formatCode(formatSynopsis(row)), makeOptionTable(row)]
      .filter((part) => part !== '')
      .join('\n\n'),
  );
  return makePage(
    'Command line',
    'Generated from the command table.',
    ...sections,
    '## Options of every command',
    makeTable(['option', 'meaning'], listOptionCells(GLOBAL_OPTIONS)),
  );
}

/** The synopsis of a command: `runbook record --from <FILE> --to <FILE>`. */
function formatSynopsis({ name, arguments: args, options }: CommandRow): string {
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

function makeOptionTable({ arguments: args, options }: CommandRow): string {
  const words = Object.entries(args).map(([word, { doc }]) => [formatCode(word), doc]);
  return makeTable(['argument or option', 'meaning'], [...words, ...listOptionCells(options)]);
}

function listOptionCells(options: Options): Row[] {
  return Object.entries(options).map(([flag, { value, doc }]) => [
    formatCode(`--${flag}${value === undefined ? '' : ` ${value}`}`),
    doc,
  ]);
}

function makeAssumptionsPage(assumptions: Readonly<Record<string, Assumption>>): string {
  const rows = Object.entries(assumptions).map(([key, row]) => [
    formatCode(key),
    `${row.open} (${row.section})`,
    typeof row.default === 'string' ? formatCode(row.default) : formatCode(JSON.stringify(row.default)),
    row.setting === undefined ? '' : formatCode(row.setting),
    row.alsoSeen,
    row.reason,
  ]);
  const about =
    'Generated from the table of assumptions: what venue-api.md leaves open, and what is assumed until the profile says otherwise. None of it has been checked against a live server.';
  return makePage('Assumptions', about, makeTable(['key', 'open', 'default', 'setting', 'also seen', 'reason'], rows));
}

function makeEndpointsPage(catalogue: Readonly<Record<string, Endpoint>>): string {
  const overview = makeTable(
    ['endpoint', 'tokens', 'activity for the deadman switch', 'only lowers risk', 'repeated'],
    Object.entries(catalogue).map(([name, row]) => [
      formatCode(name),
      row.tokens === undefined ? 'a setting' : String(row.tokens),
      row.qualifies ? 'yes' : 'no',
      row.protective ? 'yes' : 'no',
      REPEATED[row.repeatable],
    ]),
  );
  const sections = Object.entries(catalogue).map(([name, row]) => {
    const parameters = Object.entries(row.parameters).map(([key, each]) => [
      formatCode(key),
      formatParameterType(each),
      each.required ? 'yes' : 'no',
      each.doc,
    ]);
    const about = `${row.about} (venue-api.md, ${row.section})`;
    return [`## ${name}`, about, makeTable(['parameter', 'type', 'required', 'meaning'], parameters)]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  return makePage(
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

function formatParameterType(parameter: Parameter): string {
  switch (parameter.type) {
    case 'enum':
      return parameter.values.map(formatCode).join(' ');
    case 'decimal':
      return `decimal ${formatBound('above', '0')}`;
    case 'integer':
      return ['integer', formatBound('from', parameter.min), formatBound('to', parameter.max)]
        .filter(Boolean)
        .join(' ');
    default:
      return parameter.type.replaceAll('_', ' ');
  }
}

function formatBound(word: string, value: string | number | undefined): string {
  return value === undefined ? '' : `${word} ${value}`;
}

function makeStepsPage(steps: Readonly<Record<string, StepRow>>): string {
  const sections = Object.entries(steps).map(([name, row]) => {
    const endpoints = listEndpoints(row);
    const calls = endpoints.length === 0 ? '' : `Calls ${endpoints.map(formatCode).join(', ')}.`;
    const yields = row.yields === 'nothing' ? '' : `Its id stands for ${row.yieldsDoc}.`;
    const modifiers = row.modifiers.length === 0 ? '' : `Modifiers: ${row.modifiers.map(formatCode).join(', ')}.`;
    const beside =
      row.beside === undefined ? '' : `Beside its name:\n\n${makeFieldTable({ kind: 'fields', fields: row.beside })}`;
    return [`## ${name}`, toSentence(row.summary), describeShape(row.takes), beside, calls, yields, modifiers]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  return makePage(
    'Steps',
    'Generated from the step table: every step of the language, and the [modifiers](#modifiers) that a step can have.',
    ...sections,
    '## Modifiers',
    makeFieldTable({ kind: 'fields', fields: MODIFIERS }),
    ...makeInnerTables(MODIFIERS),
  );
}

function makeFilePage(fields: Fields): string {
  return makePage(
    'The file',
    'Generated from the grammar: the keys of a runbook. [steps.md](steps.md) describes the entries of `steps`.',
    makeFieldTable({ kind: 'fields', fields }),
    ...makeInnerTables(fields),
  );
}

/** Tables of the maps inside fields, each under the field's name. */
function makeInnerTables(fields: Fields): readonly string[] {
  return Object.entries(fields).flatMap(([name, { shape }]) => {
    const inner = findFields(shape);
    return inner === undefined ? [] : [`### ${name}`, makeFieldTable(inner), ...makeInnerTables(inner.fields)];
  });
}

function findFields(shape: Shape): FieldsShape | undefined {
  switch (shape.kind) {
    case 'fields':
      return shape;
    case 'list':
    case 'names':
      return findFields(shape.of);
    case 'choice':
      return [shape.list, ...(shape.maps ?? []).map((each) => each.shape)]
        .map((each) => each && findFields(each))
        .find((each) => each !== undefined);
    default:
      return undefined;
  }
}

function makeRecordsPage(records: readonly RecordRow[]): string {
  const sections = records.map(({ type, about, fields }) => {
    const rows = Object.entries(type.fields).map(([name, of]) => [
      formatCode(name),
      formatType(of),
      fields?.[name] ?? '',
    ]);
    return `## ${type.name}\n\n${toSentence(about)}\n\n${makeTable(['field', 'type', 'meaning'], rows)}`;
  });
  const about =
    'Generated from the table of records: what an expression can read of a step’s result, and of `run` and `error`. A field of an optional type may be absent: use `.orValue(x)` or `.hasValue()`.';
  return makePage('Records', about, ...sections);
}

/** The value of a step: a table of its fields, one for each variant, or one line. */
function describeShape(shape: Shape): string {
  switch (shape.kind) {
    case 'fields':
      return [makeFieldTable(shape), ...describeMaps(shape.fields)].join('\n\n');
    case 'variants':
      return Object.entries(shape.variants)
        .map(([word, fields]) => `With ${formatCode(`${shape.by}: ${word}`)}:\n\n${makeFieldTable(fields)}`)
        .join('\n\n');
    case 'choice':
      return [`Takes ${shape.accepts}.`, ...(shape.maps ?? []).map((each) => describeShape(each.shape))]
        .filter((part) => part !== '')
        .join('\n\n');
    default:
      return `Takes ${nameShape(shape)}.`;
  }
}

/** Tables of the maps that fields take; fields with the same one share it. */
function describeMaps(fields: Fields): readonly string[] {
  const names = new Map<string, string[]>();
  for (const [name, { shape }] of Object.entries(fields)) {
    if (shape.kind !== 'fields') continue;
    const table = makeFieldTable(shape);
    names.set(table, [...(names.get(table) ?? []), formatCode(name)]);
  }
  return [...names].map(([table, of]) => `In ${of.join(' and in ')}:\n\n${table}`);
}

function makeFieldTable({ fields }: FieldsShape): string {
  return makeTable(
    ['field', 'type', 'required', 'meaning', 'default'],
    Object.entries(fields).map(([name, each]: [string, Field]) => [
      formatCode(name),
      nameShape(each.shape),
      each.required ? 'yes' : 'no',
      each.doc,
      each.default === undefined ? '' : each.default,
    ]),
  );
}

function nameShape(shape: Shape): string {
  switch (shape.kind) {
    case 'value':
      return shape.spelling;
    case 'word':
      return shape.values.map(formatCode).join(' ');
    case 'text':
      return shape.accepts ?? 'text';
    case 'integer':
      if (shape.min === shape.max) return formatCode(String(shape.min));
      return ['integer', formatBound('from', shape.min), formatBound('to', shape.max)].filter(Boolean).join(' ');
    case 'number':
      return `number ${formatBound('from', shape.min)}`;
    case 'flag':
      return shape.only === true ? formatCode('true') : 'flag';
    case 'list':
      return `list of ${nameShape(shape.of)}`;
    case 'names':
      return `map of ${nameShape(shape.of)}`;
    case 'fields':
      return `{${Object.keys(shape.fields).join(', ')}}`;
    case 'variants':
      return `{${shape.by}: ${Object.keys(shape.variants).join(', ')}}`;
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

function makeFunctionsPage(functions: Readonly<Record<string, FunctionRow>>): string {
  const sections = Object.entries(functions).map(([name, row]) => {
    const forms = formatSignatures(name, row).map(formatCode);
    const examples = row.examples.map(({ expression, value, given }) => [
      formatCode(expression),
      formatCode(value),
      given ?? '',
    ]);
    const method = row.method === true ? `Also ${formatCode(`x.${name}()`)}.` : '';
    return [
      `## ${name}`,
      forms.join('  \n'),
      toSentence(row.doc),
      method,
      makeTable(['expression', 'gives', 'given'], examples),
    ]
      .filter((part) => part !== '')
      .join('\n\n');
  });
  return makePage('Functions', 'Generated from the function table; every example is a test.', ...sections);
}
