/** Declares test/bundle.js, which plain programs import too. */
import type { BuildOptions } from 'esbuild';

export function bundleProgram(
  entry: string,
  options?: BuildOptions,
): Promise<{ readonly file: string; remove(): void }>;
