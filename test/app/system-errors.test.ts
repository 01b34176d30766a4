import { describe, expect, it } from 'vitest';
import { toSystemError } from '../../src/app/system-errors.ts';
import { StoreAway, StoreError } from '../../src/journal/store.ts';

const fromSystem = (code: string, syscall = 'open') =>
  Object.assign(new Error(code), { code, syscall, path: '/var/lib/runbook' });

describe('a store or a disk that cannot be used', () => {
  // The units in deploy/ are not started again after exit code 2.
  it.each([
    ['is locked or does not answer', new StoreAway('locked'), 4],
    ['has no room for a file', fromSystem('ENOSPC'), 4],
    ['reports an error', fromSystem('EIO'), 4],
    ['may not be written', new StoreError('unavailable', 'may only be read'), 2],
    ['may not be read', fromSystem('EACCES'), 2],
    ['takes no folder', fromSystem('ENOENT', 'mkdir'), 2],
    ['is damaged', new StoreError('damaged', 'entry 3 is damaged'), 1],
  ])('and %s', (_what, error, exit) => {
    expect(toSystemError(error)).toMatchObject({ exit });
  });
});
