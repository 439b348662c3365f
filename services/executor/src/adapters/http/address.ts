import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { errorBody } from '@holdpoint/contracts/values/errors';
import ipaddr from 'ipaddr.js';
import { CleanFailure } from '../../ports/capability.ts';

export type Address = { readonly address: string; readonly family: number };

/** All addresses of a name. Throws what the resolver throws. */
export type Resolve = (name: string) => Promise<readonly Address[]>;

const resolveAll: Resolve = (name) => lookup(name, { all: true, order: 'verbatim' });

/** What networks of one's own are made of. Link-local addresses are not among them: clouds keep credentials there. */
const PRIVATE_RANGES: ReadonlySet<string> = new Set([
  'private',
  'loopback',
  'carrierGradeNat',
  'uniqueLocal',
]);

/** Of IPv6 only this is given out for the public internet; what translates to IPv4 lies elsewhere, or has a range of its own. */
const GLOBAL_V6 = ipaddr.parseCIDR('2000::/3');

const parsed = (address: string): ReturnType<typeof ipaddr.parse> | undefined =>
  isIP(address) === 0 ? undefined : ipaddr.parse(address);

/** Whether an address is one of the public internet: what is no address at all is not. */
export const isPublicAddress = (address: string): boolean => {
  const ip = parsed(address);
  return ip?.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(GLOBAL_V6));
};

/** The same, or one of a private network. */
const isOrdinaryAddress = (address: string): boolean =>
  isPublicAddress(address) || PRIVATE_RANGES.has(parsed(address)?.range() ?? '');

/** A URL writes an IPv6 address in brackets; whoever connects to it wants it without. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** Whoever asked is not told which: what names mean inside is nobody's business. */
const refused = (host: string): CleanFailure =>
  new CleanFailure(
    errorBody(
      'EXECUTOR_TARGET_NOT_ALLOWED',
      `${host} has an address that may not be reached from this executor`,
    ),
  );

/**
 * The addresses that a URL may be reached at, looked up once: whoever connects takes one of these, so that a name that
 * means something else a moment later leads nowhere. All of them have to be allowed. An origin that is listed may be of a
 * private network, and at any address that is itself what was listed. Throws `CleanFailure`, or what the resolver throws.
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

/** A lookup cannot be called off, but it need not be waited for. */
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
