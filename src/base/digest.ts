/**
 * Digests of texts, in hex. The runtime's own code for it is loaded at the first one: whoever only checks a runbook needs
 * none, and loading it takes a tenth of the time that checking a short runbook does.
 */
export function sha256(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('sha256', text, 'hex');
}
