/** How many tokens a run used, and whether the limit was ever near. */
import { formatCount, formatSpan } from '../../base/format.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { shown } from '../format.ts';
import type { Answer, Reason } from './answer.ts';

/** Of the limit, in percent: from here on it is worth a look. */
const NEAR_PERCENT = 95;

export function howManyTokens({ tokens, requests }: RunPageDocument): Answer {
  const { used, peak, limit, windowMs, waits, limited, refused, leastRemaining, endpoints } = tokens;
  const { refused: refusals, lost } = requests.totals;
  const percent = limit === undefined || limit === 0 ? undefined : Math.round((peak / limit) * 100);
  const isNear = percent !== undefined && percent > NEAR_PERCENT;
  const because: Reason[] = [
    {
      term: 'at most',
      text: `${peak}${limit === undefined ? '' : ` of ${limit}`} in ${formatSpan(windowMs)}`,
      ...(percent === undefined ? {} : { share: { percent, tone: percent > 100 ? 'bad' : isNear ? 'doubt' : 'good' } }),
    },
  ];
  const tell = (term: string, text: string, tone?: 'doubt') =>
    because.push({ term, text, ...(tone === undefined ? {} : { tone }) });
  if (limited > 0) tell('rate limit hit', formatCount(limited, 'time'), 'doubt');
  if (refused > 0) tell('not sent', `${formatCount(refused, 'call')}: tokens would have come too late`, 'doubt');
  if (endpoints.length > 0)
    tell(
      'most for',
      endpoints
        .slice(0, 2)
        .map((each) => `${shown(each.endpoint)} ${each.tokens}`)
        .join(', '),
    );
  if (waits.count > 0)
    tell('waited', `${formatCount(waits.count, 'request')}, ${formatSpan(waits.longestMs)} at the longest`);
  if (leastRemaining !== undefined) tell('least left', `${leastRemaining}, as the venue said`);
  if (refusals > 0) tell('refused by the venue', formatCount(refusals, 'request'));
  if (lost > 0) tell('without an answer', formatCount(lost, 'request'));
  return {
    subject: 'tokens',
    question: 'How many tokens?',
    tone: limited > 0 || refused > 0 || isNear ? 'doubt' : 'good',
    said: `${used} in ${formatCount(tokens.requests, 'request')}`,
    because,
  };
}
