/** Recognizes host names and addresses that can only mean this machine, without resolving them. */

/** `hostname` is as `URL.hostname` gives it: IPv6 in brackets, IPv4 in dotted form, lower case. */
export function isLoopbackHost(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
