/**
 * Gives each venue one spelling of its base URL. Leases, the kill switch, the schedule store and the token ledger identify an
 * account by base URL and name: two spellings would make two accounts, and a kill of one would not stop the other.
 */

/** Host in lower case, without default port, trailing dot, or slashes after the path. Throws a TypeError for a text that is no URL. */
export function canonicalizeBaseUrl(text: string): string {
  const { protocol, hostname, port, pathname } = new URL(text);
  const host = hostname.replace(/\.$/, '');
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${pathname.replace(/\/+$/, '')}`;
}

/** The key of an account: base URL and name. */
export function composeAccountKey(baseUrl: string, account: string): string {
  return `${baseUrl} ${account}`;
}

/** A key in its present spelling: an older version kept the URL as the profile spelled it. Other texts are returned unchanged. */
export function canonicalizeAccountKey(key: string): string {
  const [url = '', ...account] = key.split(' ');
  return account.length === 0 || !URL.canParse(url)
    ? key
    : composeAccountKey(canonicalizeBaseUrl(url), account.join(' '));
}
