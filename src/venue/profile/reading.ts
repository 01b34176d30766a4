/**
 * Reads plain data by the table of settings: collects findings with their paths, never throws, and never repeats a value that
 * may be a secret. It checks forms and bounds; `conflicts.ts` checks settings against each other.
 */
import { decimal, formatDecimal, parseAuthoredDecimal } from '../../base/decimal.ts';
import { parseDurationMs, writeDuration } from '../../base/duration.ts';
import { makePrintable } from '../../base/printable.ts';
import { hintMeant, suggestSpelling } from '../../base/spelling.ts';
import { looksSecret } from './secret-like.ts';
import { RESULT_WORDS, type ResultShape, type ResultWord, type Setting, type SettingForm } from './setting-form.ts';
import { PROFILE_SETTINGS, type ReadProfile } from './settings.ts';

export type DataPath = readonly (string | number)[];

interface ProfileCodeRow {
  /** What is wrong, in half a sentence. */
  readonly summary: string;
  /** A line that causes it. */
  readonly example: string;
  /** What to do instead, in a sentence. */
  readonly fix: string;
}

export const PROFILE_CODES = {
  'profile-form': {
    summary: 'the value of a setting has the wrong form',
    example: 'ambiguity: {window: 90}',
    fix: 'Write what the message names: a duration such as 90s, a decimal, one of its words.',
  },
  'profile-missing': {
    summary: 'a required setting is missing',
    example: 'auth: {mode: api_key, api_key: {env: VENUE_API_KEY}}',
    fix: 'Add the setting that the message names.',
  },
  'profile-unknown': {
    summary: 'there is no such setting',
    example: 'limits: {max_ordre_size: 1}',
    fix: 'Correct the name, or remove the setting: one that is misspelt limits nothing.',
  },
  'profile-secret': {
    summary: 'the file holds a text that looks like a secret',
    example: 'auth: {api_key: 9f31…}',
    fix: 'Put it into an environment variable or a file of mode 0600, and write {env: NAME} or {file: PATH}.',
  },
  'profile-url': {
    summary: 'the base URL is not allowed',
    example: 'base_url: http://venue.example',
    fix: 'Use https; plain http is for a loopback address alone.',
  },
  'profile-conflict': {
    summary: 'settings contradict each other',
    example: 'store: {sqlite: runbook.db, postgres: {env: DATABASE_URL}}',
    fix: 'Keep one of the settings that the message names.',
  },
  'profile-ineffective': {
    summary: 'a setting has no effect',
    example: 'rate_limit: {costs: {"GET /account": 5}}',
    fix: 'Correct what it names, or remove it.',
  },
} as const satisfies Record<string, ProfileCodeRow>;
export type ProfileCode = keyof typeof PROFILE_CODES;

export interface ProfileFinding {
  readonly code: ProfileCode;
  readonly path: DataPath;
  readonly message: string;
  readonly hint?: string;
}

/** Reads the settings as far as possible; use them only where there are no findings. */
export function readSettings(data: unknown): {
  readonly settings: ReadProfile;
  readonly findings: readonly ProfileFinding[];
} {
  const reader = new SettingsReader();
  const settings = reader.readGroup(data, PROFILE_SETTINGS, []) as unknown as ReadProfile;
  return { settings, findings: reader.findings };
}

/** The most levels of nested shapes; a deeper one is a mistake. */
const DEEPEST_SHAPE = 6;

class SettingsReader {
  readonly findings: ProfileFinding[] = [];

  readGroup(
    data: unknown,
    fields: Readonly<Record<string, Setting>>,
    path: DataPath,
  ): Record<string, unknown> | undefined {
    const record = this.readRecord(data, path);
    if (record === undefined) return undefined;
    const read: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const key of Object.keys(record)) {
      const setting = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (setting === undefined) this.reportUnknown(key, Object.keys(fields), path);
      else if (record[key] === undefined) continue;
      else {
        const value = this.readValue(record[key], setting, [...path, key]);
        if (value !== undefined) read[key] = value;
      }
    }
    for (const [key, setting] of Object.entries(fields)) {
      if (setting.required === true && !Object.hasOwn(record, key))
        this.report('profile-missing', path, `${formatPath([...path, key])} is missing: ${setting.about}`);
    }
    return read;
  }

  private readValue(data: unknown, setting: SettingForm, path: DataPath): unknown {
    switch (setting.form) {
      case 'text':
        return this.readText(data, setting, path);
      case 'word':
        if (typeof data === 'string' && setting.of.includes(data)) return data;
        return this.reportWrong(
          path,
          `one of ${setting.of.join(', ')}`,
          data,
          typeof data === 'string' ? suggestSpelling(data, setting.of) : undefined,
        );
      case 'whole':
        return this.readWhole(data, setting, path);
      case 'decimal':
        return this.readDecimal(data, setting.positive === true, path);
      case 'ratio':
        return this.readRatio(data, path);
      case 'duration':
        return this.readDuration(data, setting, path);
      case 'flag':
        return typeof data === 'boolean' ? data : this.reportWrong(path, 'true or false', data);
      case 'secret':
        return this.readSecret(data, path);
      case 'shape':
        return this.readShape(data, path, DEEPEST_SHAPE);
      case 'list':
        if (!Array.isArray(data)) return this.reportWrong(path, 'a list', data);
        return data
          .map((item, index) => this.readValue(item, setting.of, [...path, index]))
          .filter((each) => each !== undefined);
      case 'map':
        return this.readMap(data, setting, path);
      case 'group':
        return this.readGroup(data, setting.fields, path);
      default:
        return setting satisfies never;
    }
  }

  private readText(data: unknown, setting: Extract<SettingForm, { form: 'text' }>, path: DataPath): string | undefined {
    const fits =
      typeof data === 'string' && (setting.pattern === undefined || new RegExp(setting.pattern, 'u').test(data));
    return fits ? data : this.reportWrong(path, setting.accepts, data);
  }

  /** A number may be given as the text that was written. */
  private readWhole(
    data: unknown,
    { min, max }: Extract<SettingForm, { form: 'whole' }>,
    path: DataPath,
  ): number | undefined {
    const number = typeof data === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(data) ? Number(data) : data;
    if (typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max) return number;
    return this.reportWrong(path, `a whole number from ${min} to ${max}`, data);
  }

  /** Above 1 it is a percentage without its sign, and would hold nothing back. */
  private readRatio(data: unknown, path: DataPath): string | undefined {
    const text = typeof data === 'number' ? toExactText(data) : data;
    const [, digits, percent] = typeof text === 'string' ? (/^([\d.]+)(%?)$/.exec(text) ?? []) : [];
    const value = digits === undefined ? undefined : parseAuthoredDecimal(digits)?.div(percent === '%' ? 100 : 1);
    return value?.lessThanOrEqualTo(1)
      ? formatDecimal(value)
      : this.reportWrong(path, 'a part such as 3% or 0.03, at most 100%', data);
  }

  private readDecimal(data: unknown, positive: boolean, path: DataPath): string | undefined {
    const text = typeof data === 'number' ? toExactText(data) : data;
    const value = typeof text === 'string' ? parseAuthoredDecimal(text) : undefined;
    if (value === undefined)
      return this.reportWrong(path, 'a plain decimal such as "0.0001", in quotes where it is long', data);
    const inRange = positive ? value.greaterThan(0) : !value.lessThan(0);
    return inRange
      ? formatDecimal(value)
      : this.reportWrong(path, positive ? 'a decimal above 0' : 'a decimal of at least 0', data);
  }

  private readDuration(
    data: unknown,
    { minMs, maxMs }: Extract<SettingForm, { form: 'duration' }>,
    path: DataPath,
  ): number | undefined {
    const ms = typeof data === 'string' ? parseDurationMs(data) : undefined;
    if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
    return this.reportWrong(
      path,
      `a duration such as 20s or 1h30m, from ${writeDuration(minMs)} to ${writeDuration(maxMs)}`,
      data,
    );
  }

  /** Never repeats the value: where it is wrong, it is most likely the secret itself. */
  private readSecret(data: unknown, path: DataPath): unknown {
    const wanted = `${formatPath(path)} must say where the secret is: {env: NAME} or {file: PATH}`;
    if (data === null || typeof data !== 'object' || Array.isArray(data))
      return this.report('profile-secret', path, wanted, 'Do not write a secret into a profile.');
    const record = data as Readonly<Record<string, unknown>>;
    const keys = Object.keys(record);
    const [key] = keys;
    if (keys.length !== 1 || (key !== 'env' && key !== 'file')) return this.report('profile-form', path, wanted);
    const text = record[key];
    if (key === 'file')
      return typeof text === 'string' && text !== '' && !text.includes('\0')
        ? { file: text }
        : this.report('profile-form', [...path, key], wanted);
    if (typeof text === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text) && !looksSecret(text))
      return { env: text };
    return this.report(
      'profile-form',
      [...path, key],
      `${formatPath([...path, key])} must be the name of an environment variable: letters, digits and _, no digit first`,
    );
  }

  private readMap(
    data: unknown,
    { of, key: pattern, keys, names }: Extract<SettingForm, { form: 'map' }>,
    path: DataPath,
  ): unknown {
    const record = this.readRecord(data, path);
    if (record === undefined) return undefined;
    const read: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const key of Object.keys(record)) {
      const known =
        keys === undefined ? new RegExp(pattern ?? '.').test(key) && !RESERVED.has(key) : keys.includes(key);
      if (known) {
        const value = this.readValue(record[key], of, [...path, key]);
        if (value !== undefined) read[key] = value;
      } else if (keys !== undefined) this.reportUnknown(key, keys, path);
      else
        this.report(
          'profile-form',
          [...path, key],
          `${formatPath(path)} has keys that are ${names}; found ${formatValue(key)}`,
        );
    }
    return read;
  }

  private readShape(data: unknown, path: DataPath, depth: number): ResultShape | undefined {
    if (depth === 0)
      return this.report('profile-form', path, `${formatPath(path)} is nested more than ${DEEPEST_SHAPE} levels deep`);
    if (typeof data === 'string') {
      const word = data.endsWith('?') ? data.slice(0, -1) : data;
      if (isResultWord(word)) return { kind: 'value', type: word, optional: word !== data };
      return this.reportWrong(
        path,
        `a type: one of ${RESULT_WORDS.join(', ')}`,
        data,
        suggestSpelling(word, RESULT_WORDS),
      );
    }
    const record = this.readRecord(data, path);
    if (record === undefined) return undefined;
    const { type, of } = record;
    if ((type === 'list' || type === 'map') && of !== undefined && Object.keys(record).length === 2) {
      const inner = this.readShape(of, [...path, 'of'], depth - 1);
      return inner === undefined ? undefined : { kind: type, of: inner };
    }
    const fields: Record<string, ResultShape> = Object.create(null) as Record<string, ResultShape>;
    for (const [key, value] of Object.entries(record)) {
      if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key) || RESERVED.has(key))
        this.report(
          'profile-form',
          [...path, key],
          `${formatPath(path)}: ${formatValue(key)} is not the name of a field`,
        );
      const field = this.readShape(value, [...path, key], depth - 1);
      if (field !== undefined) fields[key] = field;
    }
    return { kind: 'record', fields };
  }

  private readRecord(data: unknown, path: DataPath): Readonly<Record<string, unknown>> | undefined {
    if (data !== null && typeof data === 'object' && !Array.isArray(data))
      return data as Readonly<Record<string, unknown>>;
    return this.reportWrong(path, 'a map', data);
  }

  private reportUnknown(key: string, known: readonly string[], path: DataPath): undefined {
    const where = path.length === 0 ? 'a profile' : formatPath(path);
    this.report(
      'profile-unknown',
      [...path, key],
      `${where} has no ${formatValue(key)}`,
      hintMeant(suggestSpelling(key, known)) ?? `Accepted: ${known.join(', ')}.`,
    );
  }

  private reportWrong(path: DataPath, accepts: string, data: unknown, meant?: string): undefined {
    // A value below auth is never repeated, whatever it looks like.
    const found = path[0] === 'auth' ? describe(data) : `found ${formatValue(data)}`;
    const what = path.length === 0 ? 'a profile' : formatPath(path);
    return this.report('profile-form', path, `${what} must be ${accepts}, ${found}`, hintMeant(meant));
  }

  private report(code: ProfileCode, path: DataPath, message: string, hint?: string): undefined {
    if (this.findings.length < 50) this.findings.push({ code, path, message, ...(hint === undefined ? {} : { hint }) });
    return undefined;
  }
}

const RESERVED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

function isResultWord(word: string): word is ResultWord {
  return (RESULT_WORDS as readonly string[]).includes(word);
}

/** The literal of a JavaScript number, where it is certainly the one that was written. */
function toExactText(value: number): string | undefined {
  const text = String(value);
  return /^\d{1,15}$|^(?=[\d.]{3,16}$)\d+\.\d+$/.test(text) ? formatDecimal(decimal(text)) : undefined;
}

export function formatPath(path: DataPath): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? formatKey(part) : `${text}.${formatKey(part)}`,
    '',
  );
}

function formatKey(key: string): string {
  return looksSecret(key) ? '[not shown]' : makePrintable(key, 60);
}

function formatValue(data: unknown): string {
  if (typeof data === 'string')
    return looksSecret(data) ? 'what looks like a secret (not shown)' : `"${makePrintable(data, 60)}"`;
  if (typeof data === 'number' || typeof data === 'boolean') return String(data);
  return describe(data).replace('found ', '');
}

function describe(data: unknown): string {
  if (data === null) return 'found nothing';
  if (Array.isArray(data)) return 'found a list';
  return typeof data === 'object' ? 'found a map' : `found a ${typeof data === 'string' ? 'text' : typeof data}`;
}
