/** Converts the limits of a profile to the rules that the checks use, and back. Bounds were checked when they were read. */
import { decimal, formatDecimal } from '../../base/decimal.ts';
import { writeDuration } from '../../base/duration.ts';
import type { LimitRules } from '../limits/rules.ts';
import type { ReadGroup } from './setting-form.ts';
import { LIMIT_CONTROL_OF, type LIMIT_SETTINGS } from './settings.ts';

type ReadLimits = ReadGroup<typeof LIMIT_SETTINGS>;

export function toLimitRules(limits: ReadLimits): LimitRules {
  const { price_band: band, step_fills: fills, refusals } = limits;
  const rules: Record<string, unknown> = {};
  for (const [name, control] of Object.entries(LIMIT_CONTROL_OF)) {
    const value = limits[name as keyof typeof LIMIT_CONTROL_OF];
    if (value !== undefined) rules[control] = value;
  }
  return {
    ...(rules as LimitRules),
    ...(band === undefined ? {} : { priceBandWithin: band.within }),
    ...(band?.max_age === undefined ? {} : { maxReferenceAgeMs: band.max_age }),
    ...(fills === undefined ? {} : { stepFills: { max: fills.max, windowMs: fills.window } }),
    ...(refusals === undefined ? {} : { refusals: { max: refusals.max, windowMs: refusals.window } }),
  };
}

/** The rules as the settings of a file. */
export function writeLimits(rules: LimitRules): Record<string, unknown> {
  const limits: Record<string, unknown> = {};
  for (const [name, control] of Object.entries(LIMIT_CONTROL_OF)) {
    const value = rules[control];
    if (value !== undefined)
      limits[name] = typeof value === 'number' && control.endsWith('Ms') ? writeDuration(value) : value;
  }
  if (rules.priceBandWithin !== undefined) {
    limits['price_band'] = {
      within: formatDecimal(decimal(rules.priceBandWithin)),
      ...(rules.maxReferenceAgeMs === undefined ? {} : { max_age: writeDuration(rules.maxReferenceAgeMs) }),
    };
  }
  if (rules.stepFills !== undefined)
    limits['step_fills'] = { max: rules.stepFills.max, window: writeDuration(rules.stepFills.windowMs) };
  if (rules.refusals !== undefined)
    limits['refusals'] = { max: rules.refusals.max, window: writeDuration(rules.refusals.windowMs) };
  return limits;
}
