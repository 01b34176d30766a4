/** The six questions of a reviewer at the head of the self-contained report. */
import { type Answer, MARKS, type Reason } from './answers.ts';
import { type Html, html, type Piece } from './html-text.ts';

export function answersHtml(answers: readonly Answer[]): Html {
  return html`<dl class="answers">
${answers.map(
  ({
    question,
    tone,
    said,
    because,
  }) => html`<div class="${tone}"><dt>${question}</dt><dd><strong>${MARKS[tone]}${said}</strong>${because.map((reason) => html`<br><span class="soft">${reasonHtml(reason)}</span>`)}</dd></div>
`,
)}</dl>`;
}

function reasonHtml(reason: Reason): Piece {
  return typeof reason === 'string' ? reason : html`<span class="${reason.mark}">${reason.word}</span>${reason.rest}`;
}
