/**
 * Keeps points over time for a drawing, however long a run goes on: when there are more than a drawing can show, neighbours in time
 * become one point. Of a run with fewer, every point is kept as it is.
 */

/** How points become one. */
export interface Merging<P> {
  /** Points of one group may become one; a point without a group is kept. */
  findGroup(point: P): string | undefined;
  add(into: P, next: P): void;
}

export class PointSeries<P extends { readonly at: number }> {
  private readonly most: number;
  private readonly merging: Merging<P>;
  private kept: P[] = [];
  private room: number;

  constructor(most: number, merging: Merging<P>) {
    this.most = most;
    this.merging = merging;
    this.room = 2 * most;
  }

  add(point: P): void {
    this.kept.push(point);
    if (this.kept.length <= this.room) return;
    this.kept = mergeNeighbours(this.kept, this.most, this.merging);
    // Where most points are to be kept, merging them is tried again when there are twice as many.
    this.room = 2 * Math.max(this.most, this.kept.length);
  }

  /** In the order in which they were added. */
  get points(): readonly P[] {
    return this.kept;
  }
}

/** Merges points of one group that are close in time: about `most` are left of it at most. Changes the points that are kept. */
export function mergeNeighbours<P extends { readonly at: number }>(
  points: readonly P[],
  most: number,
  { findGroup, add }: Merging<P>,
): P[] {
  const span = (points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0);
  const nearMs = (span / most) * 2;
  const kept: P[] = [];
  const last = new Map<string, P>();
  for (const point of points) {
    const group = findGroup(point);
    const before = group === undefined ? undefined : last.get(group);
    if (before !== undefined && point.at - before.at < nearMs) {
      add(before, point);
      continue;
    }
    kept.push(point);
    if (group !== undefined) last.set(group, point);
  }
  return kept;
}
