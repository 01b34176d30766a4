/** The text a person types to confirm an action on a run: the run's name without its leading time. */
export function confirmationOf(run: string): string {
  return run.replace(/^\d{8}T\d+-(?=.)/, '');
}
