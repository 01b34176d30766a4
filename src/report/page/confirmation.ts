/** What a person types to show that an action is meant for this run: its name without the moment it begins with. */
export function confirmationOf(run: string): string {
  return run.replace(/^\d{8}T\d+-(?=.)/, '');
}
