import { once } from 'node:events';
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectSecure, type ConnectionOptions } from 'node:tls';
import { type Address, hostOf } from './address.ts';

export type Trust = Pick<ConnectionOptions, 'ca'>;

/** Returns the addresses that were looked up before, without a new lookup. */
const pinnedTo =
  (addresses: readonly Address[]): LookupFunction =>
  (_, { all }, done) => {
    const [first] = addresses;
    if (all === true) done(null, [...addresses]);
    else done(null, first?.address ?? '', first?.family);
  };

const dial = (
  url: URL,
  addresses: readonly Address[],
  trust: Trust,
): { readonly socket: Socket; readonly ready: string } => {
  const secure = url.protocol === 'https:';
  const host = hostOf(url);
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const where = { host, port, lookup: pinnedTo(addresses), autoSelectFamily: true };
  if (!secure) return { socket: connectPlain({ ...where, noDelay: true }), ready: 'connect' };
  // The certificate must match the name, not the address.
  const name = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...trust, ...name, ...where, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] };
  return { socket: connectSecure(options), ready: 'secureConnect' };
};

/**
 * Opens a new connection to one of these addresses. Nothing has been sent while this has not returned, so that every
 * failure is clean.
 */
export const openConnection = async (
  url: URL,
  addresses: readonly Address[],
  signal: AbortSignal,
  trust: Trust = {},
): Promise<Socket> => {
  signal.throwIfAborted();
  const { socket, ready } = dial(url, addresses, trust);
  try {
    await once(socket, ready, { signal });
  } catch (error) {
    socket.on('error', () => undefined); // what else comes of it is of no interest
    socket.destroy();
    throw error;
  }
  // An error without a listener would end the process. The next write sees the socket's state.
  socket.on('error', () => undefined);
  return socket;
};
