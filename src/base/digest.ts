/**
 * Digests of texts, in hex. Loads node:crypto at the first digest: checking a runbook needs none, and loading it takes a
 * tenth of the time that checking a short runbook takes.
 */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', text, 'hex');
}
