/** Writes times, counts and states for the page. Prices are not written here: the page shows their texts unchanged. */
import { formatCount, formatWholeSeconds } from '../../../base/format.ts';
import { describeSettled } from '../../glossary.ts';

/** `2026-11-21 03:56:37.308 UTC`; in UTC for every reader. */
export function formatTime(ms, digits = 3) {
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, digits === 0 ? 19 : 20 + digits)} UTC`;
}

/** The time that has passed, to the second. */
export function formatAgo(ms) {
  return ms < 1500 ? 'just now' : `${formatWholeSeconds(ms)} ago`;
}

/** `12 345`, with thin spaces. */
export function formatNumber(count) {
  return groupDigits(String(count));
}

/** `1 order`, `12 345 orders`. */
export function formatPlural(count, one, many) {
  return groupDigits(formatCount(count, one, many));
}

function groupDigits(text) {
  return text.replace(/\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u202f'));
}

/** The word, tone and mark of a run's outcome; without an outcome, of a run that goes on or may be dead. */
export function describeEnd({ outcome }, isGoing) {
  if (outcome !== undefined) return OUTCOMES[outcome];
  return isGoing ? { ...OUTCOMES.unfinished, word: 'running' } : OUTCOMES.unfinished;
}

/** Why a run ended as it did, where its journal says so. */
export function describeWhy({ outcome, hadHalted, reason, error }) {
  const why = error === undefined ? reason : `${error.kind}: ${error.message}`;
  return hadHalted === true ? [`${outcome}${describeSettled({ hadHalted })}`, why].filter(Boolean).join(': ') : why;
}

/** Word, tone and mark of each outcome. */
export const OUTCOMES = {
  succeeded: { word: 'succeeded', tone: 'good', mark: '✓' },
  stopped: { word: 'stopped', tone: 'good', mark: '■' },
  failed: { word: 'failed', tone: 'bad', mark: '✕' },
  halted: { word: 'halted', tone: 'doubt', mark: '!' },
  unfinished: { word: 'no end yet', tone: 'live', mark: '●' },
  left: { word: 'left, another branch was first', tone: 'soft', mark: '–' },
  skipped: { word: 'skipped', tone: 'soft', mark: '–' },
  active: { word: 'in progress', tone: 'live', mark: '●' },
};

const STATE_TONES = {
  open: 'live',
  processing: 'live',
  submitting: 'live',
  amending: 'live',
  canceling: 'live',
  closed: 'good',
  canceled: 'soft',
  absent: 'soft',
  rejected: 'bad',
  denied: 'bad',
  unknown: 'doubt',
  quarantined: 'doubt',
};

export function getStateTone(state) {
  return Object.hasOwn(STATE_TONES, state) ? STATE_TONES[state] : 'live';
}

/** A run's name without its leading time. */
export function shortenName(run) {
  return run.replace(/^\d{8}T\d+-(?=.)/, '');
}
