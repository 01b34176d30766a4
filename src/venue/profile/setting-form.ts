/**
 * The forms that a setting of a profile may have, and the type that the reader gives for each.
 */
import type { DecimalString } from '../../base/decimal.ts';

/** The place of a secret. The secret itself is never in a profile. */
export type SecretReference = { readonly env: string } | { readonly file: string };

/** Types that the query and the result of a declared request may have: the words of the runbook language. */
export const RESULT_WORDS = [
  'price',
  'size',
  'money',
  'number',
  'integer',
  'text',
  'market',
  'side',
  'boolean',
  'time',
] as const;
export type ResultWord = (typeof RESULT_WORDS)[number];

/** The form of a notice's body: the documented JSON, or what a chat service takes. */
export const NOTICE_SHAPES = ['json', 'slack', 'mattermost', 'discord', 'telegram'] as const;
export type NoticeShape = (typeof NOTICE_SHAPES)[number];

/** How urgent a notice is, least first. */
export const NOTICE_SEVERITIES = ['info', 'warn', 'error'] as const;
export type NoticeSeverity = (typeof NOTICE_SEVERITIES)[number];

/** The form of the result of a declared request. Unlisted fields of a record cannot be read. */
export type ResultShape =
  | { readonly kind: 'value'; readonly type: ResultWord; readonly optional: boolean }
  | { readonly kind: 'list' | 'map'; readonly of: ResultShape }
  | { readonly kind: 'record'; readonly fields: Readonly<Record<string, ResultShape>> };

/** The form of a setting. Durations are written as `20s` or `1h30m` and kept in ms. */
export type SettingForm =
  | { readonly form: 'text'; readonly pattern?: string; readonly accepts: string; readonly path?: true }
  | { readonly form: 'word'; readonly of: readonly string[] }
  | { readonly form: 'whole'; readonly min: number; readonly max: number }
  | { readonly form: 'decimal'; readonly positive?: true }
  /** `3%` or `0.03`; at most 1. */
  | { readonly form: 'ratio' }
  | { readonly form: 'duration'; readonly minMs: number; readonly maxMs: number }
  | { readonly form: 'flag' }
  | { readonly form: 'secret' }
  | { readonly form: 'shape' }
  | { readonly form: 'list'; readonly of: SettingForm }
  /** `key`: the pattern of a key; `keys`: the only accepted keys. */
  | {
      readonly form: 'map';
      readonly of: SettingForm;
      readonly key?: string;
      readonly keys?: readonly string[];
      readonly names: string;
    }
  | { readonly form: 'group'; readonly fields: Readonly<Record<string, Setting>> };

export type Setting = SettingForm & { readonly about: string; readonly required?: true };

interface SettingTypes {
  readonly text: string;
  readonly whole: number;
  readonly decimal: DecimalString;
  readonly ratio: DecimalString;
  readonly duration: number;
  readonly flag: boolean;
  readonly secret: SecretReference;
  readonly shape: ResultShape;
}

/** The type that the reader gives for a form. */
type ReadSetting<S> = S extends { form: keyof SettingTypes }
  ? SettingTypes[S['form']]
  : S extends { form: 'word'; of: readonly (infer W)[] }
    ? W
    : S extends { form: 'list'; of: infer O }
      ? readonly ReadSetting<O>[]
      : S extends { form: 'map'; of: infer O }
        ? Readonly<Record<string, ReadSetting<O>>>
        : S extends { form: 'group'; fields: infer F }
          ? ReadGroup<F>
          : never;
export type ReadGroup<F> = {
  readonly [K in keyof F as F[K] extends { required: true } ? K : never]: ReadSetting<F[K]>;
} & {
  readonly [K in keyof F as F[K] extends { required: true } ? never : K]?: ReadSetting<F[K]>;
};
