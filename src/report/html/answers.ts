/** Writes the six answers of the HTML report; each reason links to the row of its entry in the story. */
import { type Answer, formatAnswer, type Reason } from '../answers/answer.ts';
import { type Html, html } from './text.ts';

/** `entries`: the entries that have a row in the story, ascending. */
export function writeAnswers(answers: readonly Answer[], entries: readonly number[]): Html {
  return html`<dl class="answers">
${answers.map(
  (
    answer,
  ) => html`<div class="${answer.tone}"><dt>${answer.question}</dt><dd><strong>${formatAnswer(answer)}</strong>${answer.because.map((reason) => html`<br><span class="reason">${writeReason(reason, entries)}</span>`)}</dd></div>
`,
)}</dl>`;
}

/** The id of an entry's first row in the story. */
export function makeAnchor(entry: number): string {
  return `entry-${entry}`;
}

/** The term is drawn softer than the fact. */
function writeReason({ term, text, tone, entry }: Reason, entries: readonly number[]): Html {
  return html`<span class="soft">${term}</span> ${tone === undefined ? text : html`<span class="${tone}">${text}</span>`}${entry === undefined ? undefined : html` ${writeEntryLink(entry, entries)}`}`;
}

/** Routine entries have no row of their own: the link leads to the row before. */
function writeEntryLink(entry: number, entries: readonly number[]): Html {
  const nearest = entries.findLast((each) => each <= entry);
  return nearest === undefined
    ? html`<span class="soft">entry ${entry}</span>`
    : html`<a href="#${makeAnchor(nearest)}">entry ${entry}</a>`;
}
