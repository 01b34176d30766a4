/**
 * Writes the page's only HTML document. It holds no data of a run, so it is served without a token; the data are fetched with
 * a token that only the person who started the server knows.
 */
import { html, toMarkup } from '../html/text.ts';

/** The page gets everything from this program: nothing is inline, framed, submitted or fetched elsewhere, and no text becomes markup. */
export const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** In order of precedence, lowest first. */
const STYLES = ['page', 'runs', 'run', 'answers', 'axis', 'chart', 'entries', 'narrow'];

/** The paths that serve the document; the script decides what to show. */
export const VIEWS: readonly string[] = ['/', '/run', '/compare'];

export function writeShell(): string {
  return toMarkup(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>runbook audit</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
${STYLES.map(
  (name) => html`<link rel="stylesheet" href="/assets/${name}.css">
`,
)}<script type="module" src="/assets/page.js"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="topbar" id="bar"></header>
<main id="main" tabindex="-1"><p class="waiting">Loading …</p><noscript><p>This page needs its script. Without it, <code>runbook audit show</code> and <code>runbook audit export --format html</code> give the same facts.</p></noscript></main>
<div id="announcer" class="unseen" role="status" aria-live="polite"></div>
</body>
</html>
`);
}
