/**
 * Keeps points over time for a drawing, however long a run goes on: when there are more than a drawing can show, neighbours in time
 * become one point. Of a run with fewer, every point is kept as it is.
 */
export class PointSeries<P extends { readonly at: number }> {
  private readonly most: number;
  private readonly merge: (into: P, next: P) => boolean;
  private kept: P[] = [];
  private room: number;

  /** `merge` adds a point to the one before it, or does nothing and says false where both are to be kept. */
  constructor(most: number, merge: (into: P, next: P) => boolean) {
    this.most = most;
    this.merge = merge;
    this.room = 2 * most;
  }

  add(point: P): void {
    this.kept.push(point);
    if (this.kept.length <= this.room) return;
    this.kept = mergeNeighbours(this.kept, this.most, this.merge);
    // Where most points are to be kept, merging them is tried again when there are twice as many.
    this.room = 2 * Math.max(this.most, this.kept.length);
  }

  /** In the order in which they were added. */
  get points(): readonly P[] {
    return this.kept;
  }
}

/** Merges points that are close in time, so that those that may be merged are about `most` at most. Changes the points that are kept. */
export function mergeNeighbours<P extends { readonly at: number }>(
  points: readonly P[],
  most: number,
  merge: (into: P, next: P) => boolean,
): P[] {
  const span = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0);
  const nearMs = (span / most) * 2;
  const kept: P[] = [];
  for (const point of points) {
    const last = kept.at(-1);
    if (last === undefined || point.at - last.at >= nearMs || !merge(last, point)) kept.push(point);
  }
  return kept;
}
