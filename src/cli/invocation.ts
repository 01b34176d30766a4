/** The parameters every command gets: its context, and the terminal for its results. */
import type { AppContext } from '../app/context.ts';
import type { Environment } from '../app/environment.ts';
import type { StateFolder } from '../app/state.ts';
import type { Reviewed } from '../app/stores/review.ts';
import type { Output } from './terminal/output.ts';

export interface Invocation extends AppContext {
  /** Also the voice of the context. */
  readonly terminal: Output;
}

/** The parameters of a reviewing command. */
export type Review = Invocation & Reviewed;

export function invocationAt(terminal: Output, environment: Environment, state: StateFolder): Invocation {
  return { terminal, voice: terminal, environment, state };
}
