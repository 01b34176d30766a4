/**
 * One spelling for one venue. An account is known to leases, the kill switch, the agenda and the token ledger by its base URL
 * and its name: two spellings of one URL would make two accounts of it, and a kill of one would not bar the other.
 */

/** Host in lower case, without the scheme's own port, a dot behind it, or slashes behind the path. Throws a TypeError for what is no URL. */
export function canonicalBaseUrl(text: string): string {
  const { protocol, hostname, port, pathname } = new URL(text);
  const host = hostname.replace(/\.$/, '');
  return `${protocol}//${host}${port === '' ? '' : `:${port}`}${pathname.replace(/\/+$/, '')}`;
}

/** The name of an account: it is only itself at its venue. */
export function accountKeyOf(baseUrl: string, account: string): string {
  return `${baseUrl} ${account}`;
}

/** A name as it would be written today: an older version kept the URL as its profile spelled it. What is no such name stays as it is. */
export function canonicalAccountKey(key: string): string {
  const [url = '', ...account] = key.split(' ');
  return account.length === 0 || !URL.canParse(url) ? key : accountKeyOf(canonicalBaseUrl(url), account.join(' '));
}
