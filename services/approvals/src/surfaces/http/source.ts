import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** The address of the client of a request, by which attempts and connections are counted. */
export type SourceOf = (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string;

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 4 ? 'ipv4' : 'ipv6');

/** IPv4 addresses on IPv6 sockets are unwrapped. */
const plain = (address: string): string => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');

/** An address of `X-Forwarded-For`, which some proxies write with the port. */
const addressIn = (entry: string): string | undefined => {
  const text = entry.trim();
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? text.replace(/^(\d+(?:\.\d+){3}):\d+$/, '$1');
  return isIP(bare) === 0 ? undefined : plain(bare);
};

const BITS = { ipv4: 32, ipv6: 128 } as const;

/** An address, or a range such as `10.0.0.0/8`. */
export const isAddressRange = (text: string): boolean => {
  const [address = '', bits, ...more] = text.split('/');
  if (isIP(address) === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= BITS[familyOf(address)]);
};

const listOf = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = familyOf(address);
    list.addSubnet(address, Number(bits ?? BITS[family]), family);
  }
  return list;
};

/** The right-most address that is no trusted proxy: everything left of it is what a stranger wrote. */
export const createSourceOf = (trustedProxies: readonly string[]): SourceOf => {
  const proxies = listOf(trustedProxies);
  const isProxy = (address: string): boolean =>
    isIP(address) !== 0 && proxies.check(address, familyOf(address));
  return ({ socket, headers }) => {
    let source = plain(socket.remoteAddress ?? 'gone');
    const entries = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    while (isProxy(source)) {
      const before = addressIn(entries.pop() ?? '');
      if (before === undefined) break;
      source = before;
    }
    return source;
  };
};
