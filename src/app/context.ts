/** The context every operation gets beside its own arguments. */
import type { Environment } from './environment.ts';
import type { StateFolder } from './state.ts';
import type { Voice } from './voice.ts';

export interface AppContext {
  readonly voice: Voice;
  readonly environment: Environment;
  readonly state: StateFolder;
}
