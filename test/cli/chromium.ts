/**
 * A real Chromium for tests of the review page: the driver is a development dependency, the browser is the machine's own.
 * Without one, the tests that need it say so and are skipped; in CI they fail.
 */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** The browser, or why there is none. With CI in the environment a missing one is an error. */
export async function launchChromium(): Promise<{ readonly browser: Browser } | { readonly missing: string }> {
  const executablePath = [process.env['CHROMIUM'] ?? '', ...PLACES].find((place) => place !== '' && existsSync(place));
  if (executablePath === undefined) {
    const missing = 'no Chromium was found: apt-get install chromium, or CHROMIUM=/path/to/it';
    if (process.env['CI'] !== undefined && process.env['CI'] !== 'false') throw new Error(missing);
    return { missing };
  }
  // Chromium's own sandbox does not run as the superuser, as in most containers.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return { browser: await chromium.launch({ executablePath, args }) };
}
