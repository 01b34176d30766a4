/** Suggests this language's word, or what to write, for a word of another venue or language. The other words are never accepted. */
import { suggestSpelling } from '../base/spelling.ts';

const FOREIGN: Readonly<Record<string, string>> = {
  when: 'if',
  condition: 'if',
  name: 'id',
  on_failure: 'catch',
  except: 'catch',
  retries: 'retry',
  comment: 'note',
  description: 'about',
  parameters: 'inputs',
  params: 'inputs',
  variables: 'vars',
  max_size: 'max_order_size',
  max_notional: 'max_order_notional',
  quantity: 'size',
  qty: 'size',
  amount: 'size',
  symbol: 'market',
  instrument: 'market',
  trigger_price: 'trigger',
  stop_price: 'trigger',
  limit_price: 'price',
  time_in_force: 'tif',
  timezone: 'tz',
  time_zone: 'tz',
  zone: 'tz',
  sleep: 'wait',
  delay: 'wait',
  foreach: 'for_each',
  loop: 'repeat',
  order: 'place',
  entry: 'place',
  log: 'notify',
  print: 'notify',
  alert: 'notify',
  message: 'notify',
  while: 'repeat',
  then: 'do',
  elif: 'switch',
  exit: 'close',
  cancel_order: 'cancel',
  cancel_orders: 'cancel',
  close_position: 'close',
  flatten: 'close',
  import: 'call',
  on_error: 'catch',
  tasks: 'steps',
  actions: 'steps',
  strategy: 'runbook',
  flat: 'none',
  yes: 'approve',
  no: 'reject',
  ok: 'succeeded',
  success: 'succeeded',
  failure: 'failed',
  buy: 'long',
  bid: 'long',
  sell: 'short',
  ask: 'short',
  gtc: 'good_till_cancel',
  good_til_canceled: 'good_till_cancel',
  good_till_cancelled: 'good_till_cancel',
  ioc: 'immediate_or_cancel',
  fok: 'fill_or_kill',
  maker: 'post_only',
  stop: 'stop_market',
  ignore: 'continue',
  go_on: 'continue',
  abort: 'fail',
  wait: 'queue',
  ascending: 'asc',
  descending: 'desc',
  decimal: 'number',
  float: 'number',
  int: 'integer',
  bool: 'boolean',
  string: 'text',
  str: 'text',
  percent: 'pct',
  date: 'time',
  datetime: 'time',
  timestamp: 'time',
  floor: 'floor_to',
  ceil: 'ceil_to',
  round: 'round_to',
  len: 'size',
  length: 'size',
  count: 'size',
  average: 'avg_price',
  percentage: 'pct',
};

/** What to write for a key that stands for a whole construct here. */
const CONSTRUCTS: Readonly<Record<string, string>> = {
  post_only: 'Write tif: post_only.',
  reduce_only: 'To close a position use close or protect; `allow: reduce` is written beside the name of the step.',
  stop_loss: 'A stop-loss is a step of its own: protect, or manage.',
  take_profit: 'A take-profit is a step of its own: protect, or manage.',
  trailing_stop: 'A stop that follows the price is `trail` of the step manage.',
  leverage: 'Leverage is set by a step of its own: set_leverage.',
  buy: 'Write place, with side: long.',
  sell: 'Write place, with side: short; to close a position, close.',
  version: 'The version of the language is written dsl: 1.',
  cron: 'It belongs in schedule: {cron: …, tz: …}.',
};

/** What to write instead of a word that means a construct of this language; undefined for any other. */
export function adviseOnWord(word: string): string | undefined {
  return Object.hasOwn(CONSTRUCTS, word) ? CONSTRUCTS[word] : undefined;
}

/** The word of `known` that was probably meant: a synonym from elsewhere, or a similar spelling. */
export function suggestWord(word: string, known: readonly string[]): string | undefined {
  const plain = word
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, '_');
  const elsewhere = Object.hasOwn(FOREIGN, plain) ? FOREIGN[plain] : undefined;
  return elsewhere !== undefined && known.includes(elsewhere) ? elsewhere : suggestSpelling(plain, known);
}
