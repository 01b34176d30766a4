import { describe, expect, it } from 'vitest';
import { explainCode, listExplanations } from '../../src/app/project/explanation.ts';
import { DEADMAN_EVENTS } from '../../src/report/glossary.ts';
import { SCHEDULER_ALARMS } from '../../src/report/results/scheduler-alarms.ts';
import { ERROR_KINDS } from '../../src/runbook/checked.ts';
import { CODES } from '../../src/runbook/codes/codes.ts';
import { readDocument, readExactData } from '../../src/runbook/document/document.ts';
import { FILE } from '../../src/runbook/shape/grammar.ts';
import { DENIALS } from '../../src/venue/limits/denials.ts';
import { OBSTACLES } from '../../src/venue/limits/obstacles.ts';
import { ORDER_ALARMS } from '../../src/venue/order/context.ts';
import { readProfile } from '../../src/venue/profile/profile.ts';
import { PROFILE_CODES } from '../../src/venue/profile/reading.ts';
import { LIMIT_SETTINGS } from '../../src/venue/profile/settings.ts';

const PROFILE: Readonly<Record<string, string>> = {
  profile: 'profile: example',
  base_url: 'base_url: https://venue.example',
  account: 'account: main',
  auth: 'auth: {mode: jwt, jwt: {env: VENUE_JWT}}',
};

describe('an explanation', () => {
  it('exists for every code of a diagnostic, a profile, a denial and an obstacle, every alarm, event of the switch and error kind, once', () => {
    const codes = listExplanations().map(({ code }) => code);
    expect(codes.sort()).toEqual(
      [
        ...[CODES, PROFILE_CODES, DENIALS, OBSTACLES, ORDER_ALARMS, SCHEDULER_ALARMS].flatMap((table) =>
          Object.keys(table),
        ),
        ...Object.keys(DEADMAN_EVENTS),
        ...['Undelivered', 'LeftByCancelAll', 'LateOrderOfEarlierRun', ...ERROR_KINDS, 'internal'],
      ].sort(),
    );
    expect(new Set(codes.map((code) => code.toLowerCase())).size).toBe(codes.length);
  });

  it.each(listExplanations().map((each) => [each.code, each] as const))('%s is found, in any case', (code, each) => {
    expect(explainCode(code.toUpperCase())).toEqual(each);
    for (const text of [each.meaning, each.accepted]) expect(text).toMatch(/^(?:[\p{Lu}`]|\$\{).*\.$/su);
    expect(each.example).not.toBe('');
  });

  it.each([
    ['unkown-key', 'unknown-key'],
    ['price_of_tick', 'PRICE_OFF_TICK'],
    ['profile-secrets', 'profile-secret'],
    ['stopkep', 'StopKept'],
    ['unprotected-positon', 'unprotected_position'],
    ['asumed_fired', 'assumed_fired'],
    ['nothing like any of them', undefined],
  ])('names for %s the code that is meant: %s', (typed, meant) => expect(explainCode(typed)).toEqual({ meant }));

  it.each(Object.entries(PROFILE_CODES))('%s has an example that draws it', (code, { example }) => {
    const key = example.split(':')[0] ?? '';
    const text = Object.values({ ...PROFILE, [key]: example }).join('\n');
    const { root } = readDocument({ file: 'p.yaml', text: text.replace('9f31…', 'a'.repeat(64)) });
    if (root === undefined) throw new Error('the example is not YAML');
    const read = readProfile(readExactData(root), { file: 'p.yaml', text }, () => ({ start: 0, end: 0 }));
    expect(read.diagnostics.map((each) => each.code)).toContain(code);
  });

  it.each(Object.entries(DENIALS))('%s has an example whose limits exist where it says', (_code, { example }) => {
    const own = FILE.fields['limits'];
    const inRunbook = own?.shape.kind === 'fields' ? Object.keys(own.shape.fields) : [];
    const [, name] = /^limits: \{(\w+)/.exec(example) ?? [];
    if (name !== undefined)
      expect(example.includes('in the profile') ? Object.keys(LIMIT_SETTINGS) : inRunbook).toContain(name);
  });
});
