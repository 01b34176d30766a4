/**
 * Secrets out of what is written down: recordings, crash reports. Replaces by place (fields that hold a token or a wallet)
 * and by form (JWTs, addresses, keys, bearer tokens); those that the process knows are the business of `redactor.ts`, which
 * comes first. It errs on the side of hiding: a placeholder where a harmless text stood is a nuisance, the reverse is a theft.
 */
import type { RecordedExchange, RecordedReply, RecordedRequest } from './fixture.ts';

/** Not a real address: what every wallet address becomes, so that an answer keeps its form. */
export const HIDDEN_WALLET = `0x${'0'.repeat(40)}`;
/** A text of the form of a JWT, without a signature anyone could have made. */
export const HIDDEN_JWT = 'hidden.hidden.hidden';
const HIDDEN = '[redacted]';

/** An exchange as it may be written to a file. `redact` takes out the secrets that the process knows. */
export function redactedExchange(exchange: RecordedExchange, redact: (text: string) => string): RecordedExchange {
  const hide = (text: string) => redactedText(redact(text));
  const session = exchange.request.path === '/jwt';
  return {
    ...exchange,
    request: { ...exchange.request, params: redactedParams(exchange.request.params, hide) },
    reply: redactedReply(exchange.reply, session, hide),
  };
}

function redactedParams(params: RecordedRequest['params'], hide: (text: string) => string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => [name, namesSecret(name) ? HIDDEN : hide(value)]),
  );
}

function redactedReply(reply: RecordedReply, session: boolean, hide: (text: string) => string): RecordedReply {
  if (reply.kind === 'failure') return { ...reply, message: hide(reply.message) };
  const headers = Object.fromEntries(
    Object.entries(reply.headers)
      .filter(([name]) => KEPT_HEADER.test(name))
      .map(([name, value]) => [name, hide(value)]),
  );
  return { ...reply, headers, body: session ? sessionBody(hide(reply.body)) : hide(reply.body) };
}

/** The headers an outcome can depend on; none of the others is ever recorded. */
const KEPT_HEADER = /^(?:content-type|retry-after|x-ratelimit-(?:limit|remaining|reset|retry-after))$/;

/** Names that say it: of fields, parameters and headers, however their words are put together. */
export function namesSecret(name: string): boolean {
  return SECRET_NAME.test(name.replace(/[-_.\s]/g, ''));
}
const SECRET_NAME =
  /secret|passw(?:or)?d|passphrase|mnemonic|seedphrase|credential|signature|authorization|cookie|jwt|(?:api|private|access|auth|signing)key|(?:^|access|refresh|auth|api|id|bearer|session|csrf|xsrf)token$|^session(?:id)?$|^sid$/i;
const MEMBER = /"((?:[^"\\]|\\.)*)"(\s*:\s*)(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*)/g;
const WALLET_MEMBER = /("(?:wallet|wallet_address|address)"\s*:\s*)"(?:[^"\\]|\\.)+"/g;

/** The answer of POST /jwt: a bare string as a result, or in a list, is the token itself, whatever it looks like. */
function sessionBody(body: string): string {
  return body.replace(/((?:"result"\s*:|[[,])\s*)"(?:[^"\\]|\\.)+"(?=\s*[\],}])/g, `$1"${HIDDEN_JWT}"`);
}

const JWT = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g;
const BEARER = /\b(bearer|basic|token|digest)\s+[\w.~+/=-]{8,}/gi;
const KEY = /\b(?:0x)?[0-9a-fA-F]{64,}\b/g;
const WALLET = /\b0x[0-9a-fA-F]{40}\b/g;
const CREDENTIALS_IN_URL = /(\w+:\/\/)[^\s/@:]+:[^\s/@]+@/g;

/** A text with everything in it replaced that has the form of a secret. A JSON text stays one. */
export function redactedText(text: string): string {
  return text
    .replace(MEMBER, (whole, name: string, colon: string) =>
      namesSecret(name) ? `"${name}"${colon}"${HIDDEN}"` : whole,
    )
    .replace(WALLET_MEMBER, `$1"${HIDDEN_WALLET}"`)
    .replace(JWT, HIDDEN_JWT)
    .replace(BEARER, `$1 ${HIDDEN}`)
    .replace(KEY, HIDDEN)
    .replace(WALLET, HIDDEN_WALLET)
    .replace(CREDENTIALS_IN_URL, `$1${HIDDEN}@`);
}
