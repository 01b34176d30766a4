/**
 * Which versions of its dependencies this program was made with: the digest of the lock file. In a checkout it is read from
 * the file; the build puts the digest in the place of this module, because a package has no lock file.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** sha256 of package-lock.json, hex; undefined where there is none to be found. */
export const LOCK_SHA256: string | undefined = digest();

function digest(): string | undefined {
  try {
    return createHash('sha256')
      .update(readFileSync(new URL('../../package-lock.json', import.meta.url)))
      .digest('hex');
  } catch {
    return undefined;
  }
}
