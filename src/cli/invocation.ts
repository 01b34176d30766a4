/** The context of every command, beside its arguments and options: where it acts, and the terminal for its results. */
import type { AppContext } from '../app/context.ts';
import type { Environment } from '../app/environment.ts';
import type { StateFolder } from '../app/state.ts';
import type { Output } from './terminal/output.ts';

export interface Invocation extends AppContext {
  /** Also the voice of the context. */
  readonly terminal: Output;
  /** The archive that a reviewing command reads instead of the journals. */
  readonly archive?: string | undefined;
}

export function invocationAt(terminal: Output, environment: Environment, state: StateFolder): Invocation {
  return { terminal, voice: terminal, environment, state };
}
