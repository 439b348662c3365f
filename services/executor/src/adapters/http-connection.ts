import { once } from 'node:events';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectSecure, type ConnectionOptions } from 'node:tls';

export type Trust = Pick<ConnectionOptions, 'ca'>;

/** A URL writes an IPv6 address in brackets; whoever connects to it wants it without. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

const dial = (url: URL, trust: Trust): { readonly socket: Socket; readonly ready: string } => {
  const secure = url.protocol === 'https:';
  const host = hostOf(url);
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  if (!secure) return { socket: connectPlain({ host, port, noDelay: true }), ready: 'connect' };
  const name = isIP(host) === 0 ? { servername: host } : {};
  const options = { ...trust, ...name, host, port, rejectUnauthorized: true, ALPNProtocols: ['http/1.1'] };
  return { socket: connectSecure(options), ready: 'secureConnect' };
};

/**
 * A connection that nothing has been sent on and that nobody else uses. As long as this has not returned, a request
 * cannot have left: every failure of it is certain to have had no effect.
 */
export const openConnection = async (url: URL, signal: AbortSignal, trust: Trust = {}): Promise<Socket> => {
  signal.throwIfAborted();
  const { socket, ready } = dial(url, trust);
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
