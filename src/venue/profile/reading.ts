/**
 * Reads plain data by the table of settings: collects what is wrong with paths, never throws, and never repeats a value
 * that may be a secret. It knows forms and bounds; what settings mean together is `profile.ts`'s business.
 */
import { decimal, decimalText, parseAuthoredDecimal } from '../../base/decimal.ts';
import { durationWord, parseDurationMs } from '../../base/duration.ts';
import { printable } from '../../base/printable.ts';
import { didYouMean } from '../../base/spelling.ts';
import { looksSecret } from './secret-like.ts';
import {
  PROFILE_SETTINGS,
  RESULT_WORDS,
  type ReadProfile,
  type ResultShape,
  type ResultWord,
  type Setting,
  type SettingForm,
} from './settings.ts';

export type DataPath = readonly (string | number)[];

export const PROFILE_CODES = {
  'profile-form': 'a setting has another form than it must have',
  'profile-missing': 'a setting that is needed is not there',
  'profile-unknown': 'there is no such setting',
  'profile-secret': 'what looks like a secret stands in the file',
  'profile-url': 'the base URL is not one that may be used',
  'profile-conflict': 'settings contradict each other',
  'profile-ineffective': 'a setting has no effect',
} as const satisfies Record<string, string>;
export type ProfileCode = keyof typeof PROFILE_CODES;

export interface ProfileFinding {
  readonly code: ProfileCode;
  readonly path: DataPath;
  readonly message: string;
  readonly hint?: string;
}

/** What was read, as far as it could be; to be used only where nothing was found wrong. */
export function readSettings(data: unknown): {
  readonly settings: ReadProfile;
  readonly findings: readonly ProfileFinding[];
} {
  const reader = new SettingsReader();
  const settings = reader.group(data, PROFILE_SETTINGS, []) as unknown as ReadProfile;
  return { settings, findings: reader.findings };
}

/** Longest path of nested shapes: deeper is an accident. */
const DEEPEST_SHAPE = 6;

class SettingsReader {
  readonly findings: ProfileFinding[] = [];

  group(data: unknown, fields: Readonly<Record<string, Setting>>, path: DataPath): Record<string, unknown> | undefined {
    const record = this.record(data, path);
    if (record === undefined) return undefined;
    const read: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const key of Object.keys(record)) {
      const setting = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (setting === undefined) this.unknown(key, Object.keys(fields), path);
      else if (record[key] === undefined) continue;
      else {
        const value = this.value(record[key], setting, [...path, key]);
        if (value !== undefined) read[key] = value;
      }
    }
    for (const [key, setting] of Object.entries(fields)) {
      if (setting.required === true && !Object.hasOwn(record, key))
        this.add('profile-missing', path, `${dotted([...path, key])} is missing: ${setting.about}`);
    }
    return read;
  }

  private value(data: unknown, setting: SettingForm, path: DataPath): unknown {
    switch (setting.form) {
      case 'text':
        return this.text(data, setting, path);
      case 'word':
        if (typeof data === 'string' && setting.of.includes(data)) return data;
        return this.wrong(
          path,
          `one of ${setting.of.join(', ')}`,
          data,
          typeof data === 'string' ? didYouMean(data, setting.of) : undefined,
        );
      case 'whole':
        return this.whole(data, setting, path);
      case 'decimal':
        return this.decimal(data, setting.positive === true, path);
      case 'duration':
        return this.duration(data, setting, path);
      case 'flag':
        return typeof data === 'boolean' ? data : this.wrong(path, 'true or false', data);
      case 'secret':
        return this.secret(data, path);
      case 'shape':
        return this.shape(data, path, DEEPEST_SHAPE);
      case 'list':
        if (!Array.isArray(data)) return this.wrong(path, 'a list', data);
        return data
          .map((item, index) => this.value(item, setting.of, [...path, index]))
          .filter((each) => each !== undefined);
      case 'map':
        return this.map(data, setting, path);
      case 'group':
        return this.group(data, setting.fields, path);
      default:
        return setting satisfies never;
    }
  }

  private text(data: unknown, setting: Extract<SettingForm, { form: 'text' }>, path: DataPath): string | undefined {
    const fits =
      typeof data === 'string' && (setting.pattern === undefined || new RegExp(setting.pattern, 'u').test(data));
    return fits ? data : this.wrong(path, setting.accepts, data);
  }

  /** A number may come as the text it was written as. */
  private whole(
    data: unknown,
    { min, max }: Extract<SettingForm, { form: 'whole' }>,
    path: DataPath,
  ): number | undefined {
    const number = typeof data === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(data) ? Number(data) : data;
    if (typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max) return number;
    return this.wrong(path, `a whole number from ${min} to ${max}`, data);
  }

  private decimal(data: unknown, positive: boolean, path: DataPath): string | undefined {
    const text = typeof data === 'number' ? exactText(data) : data;
    const value = typeof text === 'string' ? parseAuthoredDecimal(text) : undefined;
    if (value === undefined)
      return this.wrong(path, 'a plain decimal such as "0.0001", in quotes where it is long', data);
    const inRange = positive ? value.greaterThan(0) : !value.lessThan(0);
    return inRange
      ? decimalText(value)
      : this.wrong(path, positive ? 'a decimal above 0' : 'a decimal of at least 0', data);
  }

  private duration(
    data: unknown,
    { minMs, maxMs }: Extract<SettingForm, { form: 'duration' }>,
    path: DataPath,
  ): number | undefined {
    const ms = typeof data === 'string' ? parseDurationMs(data) : undefined;
    if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
    return this.wrong(
      path,
      `a duration such as 20s or 1h30m, from ${durationWord(minMs)} to ${durationWord(maxMs)}`,
      data,
    );
  }

  /** The value is never repeated: whoever gets this wrong has most likely written the secret itself here. */
  private secret(data: unknown, path: DataPath): unknown {
    const wanted = `${dotted(path)} must say where the secret is: {env: NAME} or {file: PATH}`;
    if (data === null || typeof data !== 'object' || Array.isArray(data))
      return this.add('profile-secret', path, wanted, 'A secret never stands in a profile.');
    const record = data as Readonly<Record<string, unknown>>;
    const keys = Object.keys(record);
    const [key] = keys;
    if (keys.length !== 1 || (key !== 'env' && key !== 'file')) return this.add('profile-form', path, wanted);
    const text = record[key];
    if (key === 'file')
      return typeof text === 'string' && text !== '' && !text.includes('\0')
        ? { file: text }
        : this.add('profile-form', [...path, key], wanted);
    if (typeof text === 'string' && /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(text) && !looksSecret(text))
      return { env: text };
    return this.add(
      'profile-form',
      [...path, key],
      `${dotted([...path, key])} must be the name of an environment variable: letters, digits and _, no digit first`,
    );
  }

  private map(
    data: unknown,
    { of, key: pattern, keys, names }: Extract<SettingForm, { form: 'map' }>,
    path: DataPath,
  ): unknown {
    const record = this.record(data, path);
    if (record === undefined) return undefined;
    const read: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const key of Object.keys(record)) {
      const known =
        keys === undefined ? new RegExp(pattern ?? '.').test(key) && !RESERVED.has(key) : keys.includes(key);
      if (known) {
        const value = this.value(record[key], of, [...path, key]);
        if (value !== undefined) read[key] = value;
      } else if (keys !== undefined) this.unknown(key, keys, path);
      else this.add('profile-form', [...path, key], `${dotted(path)} has keys that are ${names}; found ${shown(key)}`);
    }
    return read;
  }

  private shape(data: unknown, path: DataPath, depth: number): ResultShape | undefined {
    if (depth === 0)
      return this.add('profile-form', path, `${dotted(path)} is nested more than ${DEEPEST_SHAPE} levels deep`);
    if (typeof data === 'string') {
      const word = data.endsWith('?') ? data.slice(0, -1) : data;
      if (isResultWord(word)) return { kind: 'value', type: word, optional: word !== data };
      return this.wrong(path, `a type: one of ${RESULT_WORDS.join(', ')}`, data, didYouMean(word, RESULT_WORDS));
    }
    const record = this.record(data, path);
    if (record === undefined) return undefined;
    const { type, of } = record;
    if ((type === 'list' || type === 'map') && of !== undefined && Object.keys(record).length === 2) {
      const inner = this.shape(of, [...path, 'of'], depth - 1);
      return inner === undefined ? undefined : { kind: type, of: inner };
    }
    const fields: Record<string, ResultShape> = Object.create(null) as Record<string, ResultShape>;
    for (const [key, value] of Object.entries(record)) {
      if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(key) || RESERVED.has(key))
        this.add('profile-form', [...path, key], `${dotted(path)}: ${shown(key)} is not the name of a field`);
      const field = this.shape(value, [...path, key], depth - 1);
      if (field !== undefined) fields[key] = field;
    }
    return { kind: 'record', fields };
  }

  private record(data: unknown, path: DataPath): Readonly<Record<string, unknown>> | undefined {
    if (data !== null && typeof data === 'object' && !Array.isArray(data))
      return data as Readonly<Record<string, unknown>>;
    return this.wrong(path, 'a map', data);
  }

  private unknown(key: string, known: readonly string[], path: DataPath): undefined {
    const meant = didYouMean(key, known);
    const where = path.length === 0 ? 'a profile' : dotted(path);
    this.add(
      'profile-unknown',
      [...path, key],
      `${where} has no ${shown(key)}`,
      meant === undefined ? `There are ${known.join(', ')}.` : `Is ${meant} meant?`,
    );
  }

  private wrong(path: DataPath, accepts: string, data: unknown, meant?: string): undefined {
    // What stands below auth is never repeated, whatever it looks like.
    const found = path[0] === 'auth' ? describe(data) : `found ${shown(data)}`;
    const what = path.length === 0 ? 'a profile' : dotted(path);
    return this.add(
      'profile-form',
      path,
      `${what} must be ${accepts}, ${found}`,
      meant === undefined ? undefined : `Is ${meant} meant?`,
    );
  }

  private add(code: ProfileCode, path: DataPath, message: string, hint?: string): undefined {
    if (this.findings.length < 50) this.findings.push({ code, path, message, ...(hint === undefined ? {} : { hint }) });
    return undefined;
  }
}

const RESERVED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

function isResultWord(word: string): word is ResultWord {
  return (RESULT_WORDS as readonly string[]).includes(word);
}

/** A JavaScript number's literal, where it certainly is what was written. */
function exactText(value: number): string | undefined {
  const text = String(value);
  return /^\d{1,15}$|^(?=[\d.]{3,16}$)\d+\.\d+$/.test(text) ? decimalText(decimal(text)) : undefined;
}

export function dotted(path: DataPath): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? shownKey(part) : `${text}.${shownKey(part)}`,
    '',
  );
}

function shownKey(key: string): string {
  return looksSecret(key) ? '[not shown]' : printable(key, 60);
}

function shown(data: unknown): string {
  if (typeof data === 'string')
    return looksSecret(data) ? 'what looks like a secret (not shown)' : `"${printable(data, 60)}"`;
  if (typeof data === 'number' || typeof data === 'boolean') return String(data);
  return describe(data).replace('found ', '');
}

function describe(data: unknown): string {
  if (data === null) return 'found nothing';
  if (Array.isArray(data)) return 'found a list';
  return typeof data === 'object' ? 'found a map' : `found a ${typeof data === 'string' ? 'text' : typeof data}`;
}
