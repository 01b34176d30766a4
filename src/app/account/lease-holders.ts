/** Names the holders of a lease, and recognizes a scheduler by its name. */
const SCHEDULER = 'scheduler';

export function nameSchedulerHolder(processId: number): string {
  return `${SCHEDULER}, process ${processId}`;
}

/** A scheduler accepts submitted runs; a single run and a resume do not. */
export function isScheduler(heldBy: string): boolean {
  return heldBy.startsWith(`${SCHEDULER},`);
}
