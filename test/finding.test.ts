/**
 * Files are found by their names: for each question a newcomer asks, the path that shares most of its words is the file that
 * answers it, and no other path does as well.
 */
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const QUESTIONS: readonly (readonly [question: string, file: string])[] = [
  ['Where is the price of an order measured for a limit of the venue layer?', 'venue/limits/price.ts'],
  ['Which engine file does cancel orders?', 'engine/orders/cancel.ts'],
  ['Which entry is written to the journal, and when?', 'journal/entry.ts'],
  ['Where does the engine decide what a schedule does?', 'engine/schedule/decide.ts'],
  ['Which states can an order of the venue have?', 'venue/order/states.ts'],
  ['Where does the engine send the heartbeat of the deadman switch?', 'engine/deadman/heartbeat.ts'],
  ['Where do processes that share a journal take a lease?', 'journal/shared/lease.ts'],
  ['Where does the app obey the kill switch?', 'app/kill/kill.ts'],
  ['Which functions does a runbook have?', 'runbook/functions/functions.ts'],
  ['How is an answer of the venue read from the wire?', 'venue/wire/answer.ts'],
  ['What do tokens of the venue cost?', 'venue/tokens/costs.ts'],
  ['Where does the gateway simulator do its matching for a market?', 'gateway/simulator/market/matching.ts'],
];

const SRC = fileURLToPath(new URL('../src', import.meta.url));
const FILES = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.ts'));

/** Words without the endings of plural and gerund. */
function stems(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[a-z]+/g) ?? [];
  return new Set(words.map((word) => word.replace(/(?:ing|ed|es|s|e)$/, '')));
}

/** Of the path's words, how many the question has; of two paths with as many, the one with fewer other words is nearer. */
function nearness(path: string, question: ReadonlySet<string>): number {
  const words = [...stems(path.replace(/\.ts$/, ''))];
  const shared = words.filter((word) => question.has(word)).length;
  return shared - (words.length - shared) / 100;
}

describe('a file is found at the first try', () => {
  it.each(QUESTIONS)('%s', (question, file) => {
    const asked = stems(question);
    const best = Math.max(...FILES.map((path) => nearness(path, asked)));
    expect(FILES.filter((path) => nearness(path, asked) === best)).toEqual([file]);
  });
});
