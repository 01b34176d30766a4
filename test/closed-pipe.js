/**
 * Ends a program whose reader has gone (`npm run simulate | head`), as the system ends other programs then: at once, in silence,
 * with 141. Going on would be hours of work for no reader, and a code that reports findings would be wrong about what was not done.
 */
import process from 'node:process';

const CLOSED_PIPE = 141;

for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(CLOSED_PIPE);
  });
