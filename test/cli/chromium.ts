/** A real Chromium for tests of the review page: the driver is a development dependency, the browser is the machine's own. */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

export async function launchChromium(): Promise<Browser> {
  const executablePath = [process.env['CHROMIUM'] ?? '', ...PLACES].find((place) => place !== '' && existsSync(place));
  if (executablePath === undefined)
    throw new Error('no Chromium was found: apt-get install chromium, or CHROMIUM=/path/to/it');
  // Chromium's own sandbox refuses to run for the superuser, as in most containers.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args });
}
