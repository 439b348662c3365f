import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A URL leads to an address that this process may not call. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
}

export type Address = { readonly address: string; readonly family: number };

/** All addresses of a name. Throws what the resolver throws. */
export type Resolve = (name: string) => Promise<readonly Address[]>;

const resolveAll: Resolve = (name) => lookup(name, { all: true, order: 'verbatim' });

/** Private networks. Link-local addresses are not among them: clouds serve credentials there. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set([
  'private',
  'loopback',
  'carrierGradeNat',
  'uniqueLocal',
]);

/** The public internet of IPv6. Translated IPv4 addresses lie outside, or have a range of their own. */
const GLOBAL_V6 = ipaddr.parseCIDR('2000::/3');

const parsed = (address: string): ReturnType<typeof ipaddr.parse> | undefined =>
  isIP(address) === 0 ? undefined : ipaddr.parse(address);

/** False for a text that is not an address. */
export const isPublicAddress = (address: string): boolean => {
  const ip = parsed(address);
  return ip?.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(GLOBAL_V6));
};

/** Public, or of a private network. */
const isOrdinaryAddress = (address: string): boolean =>
  isPublicAddress(address) || PRIVATE_RANGES.has(parsed(address)?.range() ?? '');

/** Without the brackets of an IPv6 address, as connections need it. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** Does not show the address: internal DNS is private. */
const refused = (host: string): AddressRefused =>
  new AddressRefused(`${host} resolves to an address that this process may not reach`);

/**
 * Looks up the addresses of a URL once. The caller connects to one of these, so that a name that changes later leads
 * nowhere. All of them must be allowed. A listed origin may be in a private network, and a listed address may be any
 * address. Throws `AddressRefused`, or the error of the resolver.
 */
export const addressesOf = async (
  url: URL,
  isListed: boolean,
  signal: AbortSignal,
  resolve: Resolve = resolveAll,
): Promise<readonly Address[]> => {
  const host = hostOf(url);
  const family = isIP(host);
  if (family !== 0) {
    if (!isListed && !isPublicAddress(host)) throw refused(host);
    return [{ address: host, family }];
  }
  signal.throwIfAborted();
  const found = await endedBy(signal, resolve(host));
  const isAllowed = isListed ? isOrdinaryAddress : isPublicAddress;
  if (found.length === 0 || !found.every(({ address }) => isAllowed(address))) throw refused(host);
  return found;
};

/** A lookup cannot be aborted, but the caller can stop waiting. */
const endedBy = async <Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> => {
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, ended]);
  } finally {
    signal.removeEventListener('abort', end);
  }
};
