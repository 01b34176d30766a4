/** How whoever holds an account is named in its lease, and how a scheduler is told from a single run. */
const SCHEDULER = 'scheduler';

export function schedulerHolder(processId: number): string {
  return `${SCHEDULER}, process ${processId}`;
}

/** A scheduler takes runs of others; a single run and a resume do not. */
export function isScheduler(heldBy: string): boolean {
  return heldBy.startsWith(`${SCHEDULER},`);
}
