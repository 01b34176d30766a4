/** Builds the JSON Schema of a profile (draft 2020-12) from the table of settings; `schemas/profile.schema.json` is generated from it. */

import { DURATION_PATTERN } from '../../base/duration.ts';
import { mapFields } from '../../base/json.ts';
import { RESULT_WORDS, type Setting, type SettingForm } from './setting-form.ts';
import { PROFILE_SETTINGS } from './settings.ts';

type Schema = { readonly [keyword: string]: unknown };

export const PROFILE_SCHEMA_NAME = 'profile';

/** Plain decimals of at most 36 digits, 18 of them after the point. */
const DECIMAL = { type: ['string', 'number'], minimum: 0, pattern: '^(?:0|[1-9]\\d{0,35})(?:\\.\\d{1,18})?$' } as const;

const SECRET: Schema = {
  type: 'object',
  minProperties: 1,
  maxProperties: 1,
  additionalProperties: false,
  properties: {
    env: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,127}$', description: 'name of an environment variable' },
    file: { type: 'string', minLength: 1, description: 'a file with mode 0600, relative to the profile' },
  },
};

export function buildProfileSchema(): object {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://perp-runbook.invalid/schemas/profile.schema.json',
    title: 'Profile',
    description: 'Account and venue of perp-runbook: one file per account and environment, without any secret in it.',
    ...toGroupSchema(PROFILE_SETTINGS),
    $defs: {
      secret: SECRET,
      shape: {
        anyOf: [
          { type: 'string', pattern: `^(?:${RESULT_WORDS.join('|')})\\??$` },
          {
            type: 'object',
            additionalProperties: false,
            required: ['type', 'of'],
            properties: { type: { enum: ['list', 'map'] }, of: { $ref: '#/$defs/shape' } },
          },
          { type: 'object', additionalProperties: { $ref: '#/$defs/shape' } },
        ],
      },
    },
  };
}

function toGroupSchema(fields: Readonly<Record<string, Setting>>): Schema {
  const required = Object.keys(fields).filter((key) => fields[key]?.required === true);
  return {
    type: 'object',
    additionalProperties: false,
    properties: mapFields(fields, (setting) => ({ description: setting.about, ...toSchema(setting) })),
    ...(required.length === 0 ? {} : { required }),
  };
}

function toSchema(setting: SettingForm): Schema {
  switch (setting.form) {
    case 'text':
      return { type: 'string', ...(setting.pattern === undefined ? {} : { pattern: setting.pattern }) };
    case 'word':
      return { enum: setting.of };
    case 'whole':
      return { type: 'integer', minimum: setting.min, maximum: setting.max };
    case 'decimal':
      return DECIMAL;
    case 'ratio':
      return { ...DECIMAL, maximum: 1, pattern: DECIMAL.pattern.replace(/\$$/, '%?$') };
    case 'duration':
      return { type: 'string', pattern: DURATION_PATTERN };
    case 'flag':
      return { type: 'boolean' };
    case 'secret':
      return { $ref: '#/$defs/secret' };
    case 'shape':
      return { $ref: '#/$defs/shape' };
    case 'list':
      return { type: 'array', items: toSchema(setting.of) };
    case 'map':
      return {
        type: 'object',
        ...(setting.keys === undefined ? {} : { propertyNames: { enum: setting.keys } }),
        ...(setting.key === undefined ? {} : { propertyNames: { pattern: setting.key } }),
        additionalProperties: toSchema(setting.of),
      };
    case 'group':
      return toGroupSchema(setting.fields);
    default:
      return setting satisfies never;
  }
}
