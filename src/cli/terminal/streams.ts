/** The standard streams of this process: the one place that touches them. Each is opened on first use. */
export const standard = {
  get input() {
    return process.stdin;
  },
  get output() {
    return process.stdout;
  },
  get error() {
    return process.stderr;
  },
};

/** Whether a person can be asked. */
export function isAttended(): boolean {
  return standard.input.isTTY === true;
}

/**
 * A failure to write must not stop a run, least of all a log on a full disk. `onFailure` is called for standard output, except
 * when the reader has closed the pipe (`runbook … | head`).
 */
export function surviveStreams(onFailure: (reason: string) => void): void {
  standard.error.on('error', () => {});
  standard.output.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || code === 'EIO' || code === 'ERR_STREAM_DESTROYED') return;
    onFailure(code === 'ENOSPC' ? 'the disk is full' : (code ?? message));
  });
}

/**
 * From now on a terminal that takes no text keeps no work waiting: after Ctrl-S, or behind a connection that hangs. What it does not
 * take is kept until it does. Node writes to a terminal, and only there, so that the whole process waits: heartbeats and signals too.
 */
export function writeWithoutWaiting(): void {
  for (const stream of [standard.output, standard.error]) {
    const { _handle: handle } = stream as { readonly _handle?: { setBlocking?(isBlocking: boolean): unknown } };
    if (stream.isTTY) handle?.setBlocking?.(false);
  }
}
