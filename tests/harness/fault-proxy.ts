import { connect, createServer, type Socket } from 'node:net';
import { portOf } from '@holdpoint/infra/local/ports';

type Direction = 'to_server' | 'to_client';
type Cut = { readonly direction: Direction; readonly bytes: Buffer; left: number; readonly done: () => void };

export type FaultProxy = {
  readonly host: string;
  readonly port: number;
  /**
   * The n-th time that these bytes come along they are dropped, and the connection is reset on both sides: what was sent
   * has arrived, and nobody is told. Resolves when it has happened.
   */
  readonly cutOn: (direction: Direction, bytes: string, n?: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

const HOST = '127.0.0.1';

/** A TCP proxy that breaks connections at exactly chosen places. */
export const startFaultProxy = async (host: string, port: number): Promise<FaultProxy> => {
  const pairs = new Set<readonly [Socket, Socket]>();
  let cuts: Cut[] = [];

  const cutAt = (direction: Direction, data: Buffer): boolean => {
    const hit = cuts.find(
      (cut) => cut.direction === direction && data.includes(cut.bytes) && (cut.left -= 1) === 0,
    );
    cuts = cuts.filter((cut) => cut !== hit);
    hit?.done();
    return hit !== undefined;
  };

  const server = createServer((client) => {
    const upstream = connect({ host, port });
    const pair = [client, upstream] as const;
    pairs.add(pair);
    const pipe = (from: Socket, to: Socket, direction: Direction): void => {
      from.setNoDelay();
      from.on('data', (data: Buffer) => {
        if (!cutAt(direction, data)) to.write(data);
        else for (const socket of pair) socket.resetAndDestroy();
      });
      // One side that ends or breaks ends the other; that it broke is what is wanted here.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        pairs.delete(pair);
        to.destroy();
      });
    };
    pipe(client, upstream, 'to_server');
    pipe(upstream, client, 'to_client');
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));

  return {
    host: HOST,
    port: portOf(server),
    cutOn: (direction, bytes, n = 1) =>
      new Promise((done) => cuts.push({ direction, bytes: Buffer.from(bytes), left: n, done })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const pair of pairs) for (const socket of pair) socket.destroy();
      }),
  };
};
