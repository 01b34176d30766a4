/** Loads a runbook, checks it and reads its inputs: the first step of every command that plans or runs. */

import { parseDecimal } from '../../base/decimal.ts';
import {
  type Diagnostic,
  findPosition,
  placeDiagnostic,
  type SourceText,
  sortForReading,
} from '../../base/diagnostic.ts';
import { formatCount } from '../../base/format.ts';
import { mapFields } from '../../base/json.ts';
import { makePrintable } from '../../base/printable.ts';
import type { Entry, Json, JsonObject } from '../../journal/entry.ts';
import { parseValueJson, readInputs } from '../../runbook/check/inputs.ts';
import { checkRunbook } from '../../runbook/check.ts';
import type { CheckedRunbook, InputDeclaration } from '../../runbook/checked.ts';
import { readDocument, readExactData } from '../../runbook/document/document.ts';
import { writeRatio } from '../../runbook/expression/literals.ts';
import { walkSteps } from '../../runbook/steps/walk.ts';
import { toJson, type Value } from '../../runbook/values.ts';
import type { Profile } from '../../venue/profile/profile.ts';
import { EXIT, UserError } from '../errors.ts';
import type { Voice } from '../voice.ts';
import { readSource } from './files.ts';
import { refuseOtherKind } from './kinds.ts';
import { readRunbook } from './runbook.ts';

/** A runbook and all that it calls, with the texts to be pinned. */
export interface LoadedRunbook {
  readonly runbook: CheckedRunbook;
  readonly sources: readonly { readonly name: string; readonly source: SourceText }[];
}

/** Thrown after the voice got the diagnostics: nothing more needs to be printed. With `--json` they are beside the error. */
export class Invalid extends UserError {
  constructor(file: string, diagnostics: readonly Diagnostic[]) {
    const count = diagnostics.filter(({ severity }) => severity === 'error').length;
    super(`${makePrintable(file, 300)} is invalid: ${formatCount(count, 'error')}`, EXIT.failed, 'invalid', {
      diagnostics: sortForReading(diagnostics).map(placeDiagnostic),
    });
  }
}

/** Loads and checks a runbook, under the profile where one is given. The voice gets errors and warnings. Throws Invalid on errors. */
export function loadRunbook(
  path: string,
  voice: Pick<Voice, 'diagnostics'>,
  profile?: Pick<Profile, 'stopRoom'>,
): LoadedRunbook {
  const { source, load } = readRunbook(path);
  const { loaded, diagnostics } = checkSources(source, load, profile);
  if (loaded === undefined) refuseOtherKind(source, 'runbook');
  voice.diagnostics(diagnostics);
  if (loaded === undefined) throw new Invalid(path, diagnostics);
  return loaded;
}

/** The texts of a run, as its first entry has them. */
type Pinned = readonly { readonly name: string; readonly file: string; readonly text: string }[];

/** Checks the pinned texts of a recorded run again with this version's checker. */
export function loadPinned(pinned: Pinned, voice: Pick<Voice, 'diagnostics'>): LoadedRunbook {
  const [first] = pinned;
  if (first === undefined) throw new UserError('the journal holds no runbook', EXIT.failed, 'damaged');
  const { loaded, diagnostics } = checkPinned(first, pinned);
  if (loaded === undefined) {
    voice.diagnostics(diagnostics);
    throw new UserError(
      `the recorded runbook ${makePrintable(first.name, 100)} does not pass the checks of this version`,
      EXIT.failed,
      'invalid',
    );
  }
  return { ...loaded, sources: pinned.map(({ name, file, text }) => ({ name, source: { file, text } })) };
}

/** The pinned runbook of a run, for what is shown of it; undefined where it does not pass the checks of this version. */
export function readPinned(pinned: Pinned): CheckedRunbook | undefined {
  const [first] = pinned;
  return first && checkPinned(first, pinned).loaded?.runbook;
}

function checkPinned({ file, text }: Pinned[number], pinned: Pinned): CheckedSources {
  const sources = new Map(pinned.map((each) => [each.name, { file: each.file, text: each.text }]));
  return checkSources({ file, text }, (name) => sources.get(name));
}

/**
 * The first entry of a run with its inputs as they are given, a ratio as `2%` or `5bps`; as they were recorded where its texts cannot
 * be read. Every other entry as it is. For people: a document has them as they were recorded.
 */
export function showInputs<E extends Entry>(entry: E): E {
  if (entry.type !== 'run.started') return entry;
  const { inputs, sources } = entry.data;
  // Most runbooks have none, and the check of a large one takes its time.
  const runbook = /\b(?:pct|bps)\b/.test(sources[0]?.text ?? '') ? readPinned(sources) : undefined;
  return runbook === undefined ? entry : { ...entry, data: { ...entry.data, inputs: writeInputs(inputs, runbook) } };
}

/** `entry.yaml:7:5`, where a step of the runbook itself is written. `path`: with the rounds, as the engine names it. */
export function findStepPlace(runbook: CheckedRunbook, path: string): string | undefined {
  const written = path.replace(/\[\d+\]/g, '');
  const step = [...walkSteps([...runbook.steps, ...runbook.onError, ...runbook.finally])].find(
    (each) => each.path === written,
  );
  if (step === undefined) return undefined;
  const { file, text } = runbook.source;
  const { line, column } = findPosition(text, step.span.start);
  return `${file}:${line}:${column}`;
}

/** The inputs of a run, in their JSON, as they are given. */
export function writeInputs(inputs: JsonObject, runbook: CheckedRunbook): JsonObject {
  const words = new Map(runbook.inputs.map(({ name, typeText }) => [name, typeText]));
  return mapFields(inputs, (value, name) => {
    const word = words.get(name) ?? '';
    if (!Array.isArray(value)) return writeInput(value, word);
    const ofItem = LIST_OF.exec(word)?.[1] ?? '';
    return value.map((each) => writeInput(each, ofItem));
  });
}

const LIST_OF = /^list<(.+)>$/;

function writeInput(value: Json, word: string): Json {
  const ratio = typeof value === 'string' ? parseDecimal(value) : undefined;
  return (ratio === undefined ? undefined : writeRatio(word, ratio)) ?? value;
}

interface CheckedSources {
  /** Absent where a diagnostic is an error. */
  readonly loaded?: LoadedRunbook;
  readonly diagnostics: readonly Diagnostic[];
}

/** Checks a text and what it calls, which `load` gives by name. */
export function checkSources(
  source: SourceText,
  load: (name: string) => SourceText | undefined,
  profile?: Pick<Profile, 'stopRoom'>,
): CheckedSources {
  const called = new Map<string, SourceText>();
  const read = (name: string) => {
    const text = load(name);
    if (text !== undefined) called.set(name, text);
    return text;
  };
  const options = profile === undefined ? {} : { stopRoom: profile.stopRoom };
  const { runbook, diagnostics } = checkRunbook(source, read, options);
  if (runbook === undefined || diagnostics.some(({ severity }) => severity === 'error')) return { diagnostics };
  const others = [...called].map(([name, text]) => ({ name, source: text }));
  return { loaded: { runbook, sources: [{ name: runbook.name, source }, ...others] }, diagnostics };
}

/**
 * Reads inputs in order of precedence: `--input`, `--inputs`, the inputs the fixture was recorded with, defaults. One error
 * names everything that is wrong or missing.
 */
export function inputValues(
  runbook: CheckedRunbook,
  given: {
    readonly pairs: readonly string[];
    readonly file?: string | undefined;
    readonly recorded?: Readonly<Record<string, unknown>> | undefined;
  },
): Readonly<Record<string, Value>> {
  const recorded = readRecordedInputs(runbook, given.recorded);
  const texts: Record<string, string> = Object.create(null);
  if (given.file !== undefined) Object.assign(texts, readInputsFile(given.file));
  const named = new Set<string>();
  for (const pair of given.pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UserError(`--input takes name=value, found ${makePrintable(pair, 100)}`);
    const name = pair.slice(0, at);
    // With real money, the last of two values is not a safe guess.
    if (named.has(name))
      throw new UserError(`--input ${makePrintable(name, 100)} is given twice; give each input once`);
    named.add(name);
    texts[name] = pair.slice(at + 1);
  }
  const defaulted = runbook.inputs.map((input) =>
    Object.hasOwn(recorded, input.name) ? { ...input, default: recorded[input.name] } : input,
  );
  const read = readInputs({ ...runbook, inputs: defaulted }, texts);
  if ('problems' in read) {
    const missing = defaulted.filter((input) => input.default === undefined && !Object.hasOwn(texts, input.name));
    const hint = missing.length === 0 ? [] : [`give ${missing.map((input) => showInput(input)).join(' ')}`];
    throw new UserError(
      [...read.problems.map((each) => makePrintable(each, 400)), ...hint].join('\n'),
      EXIT.usage,
      'input',
    );
  }
  return read.values;
}

/** How the option is typed in a shell: a list or map is JSON. */
function showInput({ name, type }: InputDeclaration): string {
  if (type.kind === 'list') return `--input '${name}=["…"]'`;
  return type.kind === 'map' ? `--input '${name}={"…": …}'` : `--input ${name}=…`;
}

/** Inputs from a journal or a fixture; a value that does not fit its declaration is dropped, so that it counts as missing. */
function readRecordedInputs(
  runbook: CheckedRunbook,
  recorded: Readonly<Record<string, unknown>> = {},
): Record<string, Value> {
  const values: Record<string, Value> = Object.create(null);
  for (const { name, type } of runbook.inputs) {
    const value = Object.hasOwn(recorded, name) ? parseValueJson(type, recorded[name]) : undefined;
    if (value !== undefined) values[name] = value;
  }
  return values;
}

/** A file of inputs: a map in YAML or JSON, with all digits of numbers. */
function readInputsFile(path: string): Record<string, string> {
  const { root, diagnostics } = readDocument(readSource(path, 'inputs file'));
  if (root?.kind !== 'map' || diagnostics.length > 0) {
    throw new UserError(
      `the inputs file ${makePrintable(path, 300)} must be a map of inputs${diagnostics[0] === undefined ? '' : `: ${makePrintable(diagnostics[0].message, 300)}`}`,
    );
  }
  return Object.fromEntries(
    root.entries.map(({ key, value }) => [
      key,
      value.kind === 'scalar' ? value.text : JSON.stringify(readExactData(value)),
    ]),
  );
}

/** Inputs in the form in which journals and fixtures store them. */
export function formatInputs(inputs: Readonly<Record<string, Value>>): JsonObject {
  return mapFields(inputs, toJson) as JsonObject;
}
