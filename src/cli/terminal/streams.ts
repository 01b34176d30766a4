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
