/** The text a person types to confirm an action on a run: the run's name without its leading time. */
export function makeConfirmation(run: string): string {
  return run.replace(/^\d{8}T\d+-(?=.)/, '');
}
