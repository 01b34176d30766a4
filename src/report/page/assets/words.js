/** Writes times, counts and states for the page. Nothing here reads a price: those are shown as the texts they came as. */
import { formatCount, formatWholeSeconds } from '../../../base/format.ts';

/** `2026-11-21 03:56:37.308 UTC`: one clock for every reader. */
export function timeText(ms, digits = 3) {
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, digits === 0 ? 19 : 20 + digits)} UTC`;
}

/** How long ago, to the second. */
export function agoText(ms) {
  return ms < 1500 ? 'just now' : `${formatWholeSeconds(ms)} ago`;
}

/** `12 345`, with thin spaces. */
export function countText(count) {
  return grouped(String(count));
}

/** `1 order`, `12 345 orders`. */
export function plural(count, one, many) {
  return grouped(formatCount(count, one, many));
}

function grouped(text) {
  return text.replace(/\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u202f'));
}

/** What became of a run, or is becoming: one that goes on, or one of which nobody knows. */
export function endOf({ outcome }, isGoing) {
  if (outcome !== undefined) return OUTCOMES[outcome];
  return isGoing ? { ...OUTCOMES.unfinished, word: 'running' } : OUTCOMES.unfinished;
}

/** What a run's end is called, and the tone it has. */
export const OUTCOMES = {
  succeeded: { word: 'succeeded', tone: 'good', mark: '✓' },
  stopped: { word: 'stopped', tone: 'good', mark: '■' },
  failed: { word: 'failed', tone: 'bad', mark: '✕' },
  halted: { word: 'halted', tone: 'doubt', mark: '!' },
  unfinished: { word: 'no end yet', tone: 'live', mark: '●' },
  skipped: { word: 'skipped', tone: 'soft', mark: '–' },
  active: { word: 'under way', tone: 'live', mark: '●' },
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

export function stateTone(state) {
  return Object.hasOwn(STATE_TONES, state) ? STATE_TONES[state] : 'live';
}

/** The part of a run's name that tells it apart, without the moment. */
export function shortName(run) {
  return run.replace(/^\d{8}T\d+-(?=.)/, '');
}
