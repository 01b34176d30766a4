/** Suggests the known word that a misspelled one probably means. */

/** The known word nearest to `word`; undefined where none is near enough to be meant. */
export function suggestSpelling(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const each of known) {
    const distance = countEdits(word.toLowerCase(), each.toLowerCase(), least);
    if (distance < least) {
      least = distance;
      best = each;
    }
  }
  return best;
}

/** The hint at a word that was probably meant, from which an editor makes a fix (app/editor/fixes.ts). */
export function hintMeant(meant: string | undefined): string | undefined {
  return meant && `Did you mean ${meant}?`;
}

/** Edits (insert, delete, replace, swap of neighbours) from `a` to `b`; gives up at `limit`. */
function countEdits(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit || a.length > 60 || b.length > 60) return limit;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      next.push(cost);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? limit;
}
