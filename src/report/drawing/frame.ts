/**
 * The frame of a drawing: a self-contained SVG, or a page with it; no script, no font, no external reference, light or dark as
 * the reader's machine is set. Everything from a runbook or a venue is text, never markup.
 */
import { type Html, html, type Piece, toMarkup, trustHtml } from '../html/text.ts';

export type DrawingForm = 'svg' | 'html';

export interface Drawing {
  readonly title: string;
  /** One sentence for who does not see it. */
  readonly description: string;
  readonly width: number;
  readonly height: number;
  readonly content: readonly Piece[];
}

const STYLE = trustHtml`text{font:12px system-ui,sans-serif;fill:#1f2328}.title{font-size:18px;font-weight:600}.quiet{fill:#59636e}.end{text-anchor:end}.middle{text-anchor:middle}.page{fill:#fff}.grid{stroke:#e3e7eb}.axis{stroke:#8b949e}.zero{stroke:#59636e;stroke-dasharray:4 3}.price{fill:none;stroke:#57606a;stroke-width:1.2}.net{fill:none;stroke:#0969da;stroke-width:1.6}.held{fill:#0969da;fill-opacity:.18;stroke:#0969da}.bar{fill:#0969da;fill-opacity:.75}.bar.loss{fill:#cf222e}.long{stroke:#1a7f37;fill:#1a7f37}.short{stroke:#cf222e;fill:#cf222e}.order{stroke-width:1.4}.fill{stroke:#fff;stroke-width:1}.mark{stroke:#9a6700;stroke-dasharray:3 3}.failed{fill:#cf222e}@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.quiet{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#23282f}.axis,.zero{stroke:#6e7681}.price{stroke:#b1bac4}.net,.held{stroke:#58a6ff}.held,.bar{fill:#58a6ff}.bar.loss,.failed{fill:#ff7b72}.long{stroke:#3fb950;fill:#3fb950}.short{stroke:#ff7b72;fill:#ff7b72}.fill{stroke:#0d1117}}`;

export function finishDrawing({ title, description, width, height, content }: Drawing, form: DrawingForm): string {
  const svg = html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="drawing-title drawing-about">
<title id="drawing-title">${title}</title>
<desc id="drawing-about">${description}</desc>
<style>${STYLE}</style>
<rect class="page" width="${width}" height="${height}"/>
<text class="title" x="16" y="30">${title}</text>
${content}
</svg>
`;
  return toMarkup(form === 'svg' ? svg : makePage(title, svg));
}

function makePage(title: string, svg: Html): Html {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>:root{color-scheme:light dark}body{margin:16px}svg{max-width:100%;height:auto}</style>
${svg}
</html>
`;
}
