/** Counts what a fold keeps: every object, text in a list and key that is reachable from it. It does not depend on the collector of garbage. */
export function countHeld(root: object): number {
  const seen = new Set<object>([root]);
  const waiting: object[] = [root];
  let count = 0;
  const visit = (value: unknown) => {
    count += 1;
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    waiting.push(value);
  };
  for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) {
    if (each instanceof Map) for (const [key, value] of each) [key, value].forEach(visit);
    else if (each instanceof Set) for (const value of each) visit(value);
    else for (const value of Object.values(each)) visit(value);
  }
  return count;
}
