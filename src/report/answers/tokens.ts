/** Answers how many tokens a run used, and how near it came to the limit. */
import { formatCount, formatSpan } from '../../base/format.ts';
import type { RunPageDocument } from '../folds/run-facts.ts';
import { formatText } from '../format.ts';
import type { Answer, Reason } from './answer.ts';

/** Percent of the limit above which a reviewer should look. */
const NEAR_PERCENT = 95;

export function answerTokens({ tokens, requests }: RunPageDocument): Answer {
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
  const add = (term: string, text: string, tone?: 'doubt') =>
    because.push({ term, text, ...(tone === undefined ? {} : { tone }) });
  if (limited > 0) add('rate limit hit', formatCount(limited, 'time'), 'doubt');
  if (refused > 0)
    add('not sent', `${formatCount(refused, 'call')}: their tokens would have been free too late`, 'doubt');
  if (endpoints.length > 0)
    add(
      'most for',
      endpoints
        .slice(0, 2)
        .map((each) => `${formatText(each.endpoint)} ${each.tokens}`)
        .join(', '),
    );
  if (waits.count > 0)
    add('waited for tokens', `${formatCount(waits.count, 'request')}, at most ${formatSpan(waits.longestMs)}`);
  if (leastRemaining !== undefined) add('least left', `${leastRemaining}, as the venue reported`);
  if (refusals > 0) add('refused by the venue', formatCount(refusals, 'request'));
  if (lost > 0) add('without an answer', formatCount(lost, 'request'));
  return {
    subject: 'tokens',
    question: 'How many tokens did it use?',
    tone: limited > 0 || refused > 0 || isNear ? 'doubt' : 'good',
    said: `${used} in ${formatCount(tokens.requests, 'request')}`,
    because,
  };
}
