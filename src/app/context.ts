/** What every piece of work is given beside its own arguments. */
import type { Environment } from './environment.ts';
import type { StateFolder } from './state.ts';
import type { Output } from './voice.ts';

export interface Invocation {
  readonly terminal: Output;
  readonly environment: Environment;
  readonly state: StateFolder;
}
