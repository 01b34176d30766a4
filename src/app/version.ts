/**
 * The versions of this program and of the dependencies it was built with. A checkout reads the lock file; the build puts its
 * digest into this module, because a package has no lock file.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import manifest from '../../package.json' with { type: 'json' };

export const ENGINE_VERSION: string = manifest.version;

/** sha256 of package-lock.json, hex; undefined where there is none. */
export const LOCK_SHA256: string | undefined = digestLockFile();

function digestLockFile(): string | undefined {
  try {
    return createHash('sha256')
      .update(readFileSync(new URL('../../package-lock.json', import.meta.url)))
      .digest('hex');
  } catch {
    return undefined;
  }
}
