/** The standard streams of this process: the one place that touches them. Each is opened when it is first asked for. */
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

/** Whether there is somebody to ask. */
export function isAttended(): boolean {
  return standard.input.isTTY === true;
}

/**
 * What cannot be said is no reason to leave a run where it stands: a log on a full disk least of all. Of standard output
 * `onFailure` is told, but for a reader that has seen enough (`runbook … | head`).
 */
export function surviveStreams(onFailure: (reason: string) => void): void {
  standard.error.on('error', () => {});
  standard.output.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' || code === 'EIO' || code === 'ERR_STREAM_DESTROYED') return;
    onFailure(code === 'ENOSPC' ? 'the disk is full' : (code ?? message));
  });
}
