import type { IncomingMessage } from 'node:http';

/** Where a caller is. An IPv4 address that came by an IPv6 socket is one and the same. */
export const sourceOf = ({ socket }: Pick<IncomingMessage, 'socket'>): string =>
  (socket.remoteAddress ?? 'gone').replace(/^::ffff:/, '');
