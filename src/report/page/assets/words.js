/** How times, lengths and states read. Nothing here reads a price: those are shown as the texts they came as. */

/** `80 ms`, `1.2 s`, `4 h 2 min`: the two largest units. */
export function spanText(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 2 : 1))} s`;
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ];
  const first = units.findIndex(([, size]) => ms >= size);
  let rest = ms;
  const parts = [];
  for (const [unit, size] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return parts.join(' ');
}

/** Since the run began: `+3.250`, `+1:02:03.456`; with `digits` after the second. */
export function offsetText(ms, digits = 3) {
  const sign = ms < 0 ? '−' : '+';
  const whole = Math.abs(ms);
  const minutes = Math.floor(whole / 60_000);
  const seconds = ((whole - minutes * 60_000) / 1000).toFixed(digits);
  if (minutes === 0) return `${sign}${seconds}${digits === 0 ? ' s' : ''}`;
  const padded = seconds.padStart(digits === 0 ? 2 : 3 + digits, '0');
  const hours = Math.floor(minutes / 60);
  return hours === 0
    ? `${sign}${minutes}:${padded}`
    : `${sign}${hours}:${String(minutes % 60).padStart(2, '0')}:${padded}`;
}

/** `2026-11-21 03:56:37.308 UTC`: one clock for every reader. */
export function timeText(ms, digits = 3) {
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, digits === 0 ? 19 : 20 + digits)} UTC`;
}

/** How long ago, coarse. */
export function agoText(ms) {
  if (ms < 1500) return 'just now';
  if (ms < 60_000) return `${Math.round(ms / 1000)} s ago`;
  return `${spanText(ms)} ago`;
}

/** `12 345`, with thin spaces. */
export function countText(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function plural(count, one, many = `${one}s`) {
  return `${countText(count)} ${count === 1 ? one : many}`;
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

export const MODES = {
  live: 'with real orders',
  simulated: 'against the simulated venue',
  fixtures: 'against recorded answers',
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
