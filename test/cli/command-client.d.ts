/** Declares command-client.js, which plain programs import too. */
export interface Order {
  readonly words: readonly string[];
  /** The working directory. */
  readonly folder: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export interface Ended {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `runbook` with these words and blocks until it has ended. */
export function runServed(order: Order): Ended;

/** The same without blocking: a venue of this process answers meanwhile. */
export function serve(order: Order): Promise<Ended>;
