/** The six answers as a part of the self-contained report, each reason with a link to where the story tells of its entry. */
import { type Answer, type Reason, saidText } from '../answers/answer.ts';
import { type Html, html } from './text.ts';

/** `told`: the entries that the story has rows of, in order. */
export function answersHtml(answers: readonly Answer[], told: readonly number[]): Html {
  return html`<dl class="answers">
${answers.map(
  (
    answer,
  ) => html`<div class="${answer.tone}"><dt>${answer.question}</dt><dd><strong>${saidText(answer)}</strong>${answer.because.map((reason) => html`<br><span class="reason">${reasonHtml(reason, told)}</span>`)}</dd></div>
`,
)}</dl>`;
}

/** Where the story tells of an entry. */
export function anchorOf(entry: number): string {
  return `entry-${entry}`;
}

/** The term is soft, so that what it is of stands out. */
function reasonHtml({ term, text, tone, entry }: Reason, told: readonly number[]): Html {
  return html`<span class="soft">${term}</span> ${tone === undefined ? text : html`<span class="${tone}">${text}</span>`}${entry === undefined ? undefined : html` ${entryHtml(entry, told)}`}`;
}

/** What was routine has no row of its own: the one before it is the nearest. */
function entryHtml(entry: number, told: readonly number[]): Html {
  const nearest = told.findLast((each) => each <= entry);
  return nearest === undefined
    ? html`<span class="soft">entry ${entry}</span>`
    : html`<a href="#${anchorOf(nearest)}">entry ${entry}</a>`;
}
