import type { IncomingMessage } from 'node:http';

/** Address of a caller; IPv4 addresses on IPv6 sockets are unwrapped. */
export const sourceOf = ({ socket }: Pick<IncomingMessage, 'socket'>): string =>
  (socket.remoteAddress ?? 'gone').replace(/^::ffff:/, '');
