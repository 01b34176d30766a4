/**
 * A real Chromium for tests of the review page, where there is one: the driver is a development dependency, the browser is
 * the machine's own. Where either is missing the tests that need it say so and are skipped.
 */
import { existsSync } from 'node:fs';

/** What the tests use of playwright-core. */
export interface Page {
  goto(url: string): Promise<unknown>;
  click(selector: string): Promise<void>;
  fill(selector: string, value: string): Promise<void>;
  focus(selector: string): Promise<void>;
  hover(selector: string, options?: { readonly position: { readonly x: number; readonly y: number } }): Promise<void>;
  waitForSelector(
    selector: string,
    options?: { readonly state?: 'visible' | 'hidden' | 'detached'; readonly timeout?: number },
  ): Promise<unknown>;
  textContent(selector: string): Promise<string | null>;
  evaluate<T>(code: string): Promise<T>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  emulateMedia(media: { readonly colorScheme: 'light' | 'dark' }): Promise<void>;
  url(): string;
  on(
    event: 'console',
    listener: (message: { type(): string; text(): string; location(): { readonly url: string } }) => void,
  ): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  readonly keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  readonly mouse: {
    move(x: number, y: number, options?: { readonly steps: number }): Promise<void>;
    down(): Promise<void>;
    up(): Promise<void>;
  };
}

interface Driver {
  readonly chromium: {
    launch(options: { readonly executablePath: string; readonly args: readonly string[] }): Promise<Browser>;
  };
}

export interface Browser {
  newContext(options: {
    readonly viewport: { readonly width: number; readonly height: number };
  }): Promise<{ newPage(): Promise<Page> }>;
  close(): Promise<void>;
}

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

/** Not spelled out in the import: whoever leaves the driver out can still check and run everything else. */
const DRIVER: string = 'playwright-core';

/** Either the browser, or a sentence why there is none. */
export async function launchChromium(): Promise<{ readonly browser: Browser } | { readonly missing: string }> {
  const executablePath = [process.env['CHROMIUM'] ?? '', ...PLACES].find((place) => place !== '' && existsSync(place));
  if (executablePath === undefined)
    return { missing: 'no Chromium was found: apt-get install chromium, or CHROMIUM=/path/to/it' };
  let driver: Driver;
  try {
    driver = (await import(DRIVER)) as Driver;
  } catch {
    return { missing: 'playwright-core is not installed: npm ci' };
  }
  // Chromium's own sandbox refuses to run for the superuser, as in most containers.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return { browser: await driver.chromium.launch({ executablePath, args }) };
}
