import type { Socket } from 'node:net';
import type { PoolClient } from 'pg';

// Pipelining alone still writes each query to the socket separately. A small batch spends most of its time
// in system calls, so the socket is corked while the queries are handed over. The library offers no other
// way; if its internals change, the queries are sent one by one.
const socketOf = (client: PoolClient): Socket | undefined =>
  'connection' in client
    ? (client as unknown as { readonly connection: { readonly stream?: Socket } }).connection.stream
    : undefined;

/** Hands over queries so that they leave as one write, together with all others of this turn. */
export const corked = <R>(client: PoolClient, send: () => R): R => {
  const socket = socketOf(client);
  socket?.cork();
  try {
    return send();
  } finally {
    if (socket !== undefined) process.nextTick(() => socket.uncork());
  }
};

/** Sends several queries as one write; fails with the first that fails. */
export const pipelined = <const Queries extends readonly Promise<unknown>[]>(
  client: PoolClient,
  send: () => Queries,
): Promise<{ -readonly [I in keyof Queries]: Awaited<Queries[I]> }> => Promise.all(corked(client, send));
