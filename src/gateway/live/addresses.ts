/**
 * Decides which addresses the program may connect to. A base URL names a host, and the name server that answers for it chooses
 * the address; it must not direct the program into the user's own network (SECURITY.md, Promises). Opens no connection.
 */
import type { LookupAddress, LookupOptions } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';

const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const;
/** 64:ff9b::/96 and 2002::/16 carry IPv4 addresses, private ones too. IPv4-mapped addresses are checked as IPv4. */
const PRIVATE_V6 = [
  '::/128',
  '::1/128',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
] as const;
const LOOPBACK = ['127.0.0.0/8', '::1/128'] as const;

const privateList = buildBlockList([...PRIVATE_V4, ...PRIVATE_V6]);
const loopbackList = buildBlockList(LOOPBACK);

/** Thrown when a name resolves to an address that may not be reached. */
class BlockedAddress extends Error {
  readonly code = 'BLOCKED_ADDRESS';
}

/** Checks addresses for one host: a loopback host may reach loopback only, any other host public and allowed addresses. */
export class AddressRule {
  private readonly loopback: boolean;
  private readonly allowed: BlockList;

  /** `allowed` has addresses and networks, as the profile's `allowed_addresses`. */
  constructor(loopback: boolean, allowed: readonly string[]) {
    this.loopback = loopback;
    this.allowed = buildBlockList(allowed);
  }

  permits(address: string): boolean {
    if (this.loopback) return contains(loopbackList, address);
    return !contains(privateList, address) || contains(this.allowed, address);
  }

  /**
   * Builds a `lookup` for sockets: resolves with `resolve`, and refuses when any of the addresses may not be reached, so that
   * no second attempt uses it.
   */
  lookup(
    resolve: (
      host: string,
      options: LookupOptions & { all: true },
      done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
    ) => void,
  ): LookupFunction {
    return (host, options, done) => {
      resolve(host, { ...options, all: true }, (error, addresses) => {
        if (error !== null) return done(error, []);
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => this.permits(address))) {
          return done(new BlockedAddress('the name resolves to an address that may not be reached'), []);
        }
        if (options.all === true) done(null, addresses);
        else done(null, first.address, first.family);
      });
    };
  }
}

function contains(list: BlockList, address: string): boolean {
  const family = isIP(address);
  // A text that is not an address must not count as public or allowed.
  if (family === 0) return list === privateList;
  return list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

function buildBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}
