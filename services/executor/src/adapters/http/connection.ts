import { once } from 'node:events';
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectSecure, type ConnectionOptions } from 'node:tls';
import { type Address, hostOf } from './address.ts';

export type Trust = Pick<ConnectionOptions, 'ca'>;

/** Answers with what was looked up before, and asks nobody. */
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
  // The certificate is that of the name, whatever address it was found at.
  const name = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...trust, ...name, ...where, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] };
  return { socket: connectSecure(options), ready: 'secureConnect' };
};

/**
 * A connection to one of these addresses, that nothing has been sent on and that nobody else uses. As long as this has not
 * returned, a request cannot have left: every failure of it is certain to have had no effect.
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
  // Between two listeners an error would end the process. Whoever writes next is told of it by the socket's state.
  socket.on('error', () => undefined);
  return socket;
};
