import { connect, createServer, type Socket } from 'node:net';
import { portOf } from '@holdpoint/infra/local/ports';

export type Direction = 'to_server' | 'to_client';
type Cut = { readonly direction: Direction; readonly bytes: Buffer; left: number; readonly done: () => void };

export type FaultProxy = {
  readonly host: string;
  readonly port: number;
  /**
   * The n-th time that these bytes pass, the proxy drops them and resets both sides. Resolves when it has
   * happened.
   */
  readonly cutOn: (direction: Direction, bytes: string, n?: number) => Promise<void>;
  /** Delays all traffic. */
  readonly delay: (ms: number) => void;
  /** Blocks these directions silently: traffic waits, as in a partition. */
  readonly blackhole: (directions: readonly Direction[]) => void;
  /** Refuses new connections and keeps open ones. */
  readonly refuse: () => void;
  /** Resets every connection. */
  readonly reset: () => void;
  /** Ends every fault and lets waiting traffic pass. Pending cuts are cancelled. */
  readonly heal: () => void;
  readonly close: () => Promise<void>;
};

/** The present faults of the network. */
type Weather = { delayMs: number; blackholes: readonly Direction[]; refusing: boolean };

const HOST = '127.0.0.1';
const FINE: Weather = { delayMs: 0, blackholes: [], refusing: false };

/** One direction of one connection. It keeps the order of bytes under any delay. */
const createPipe = (from: Socket, to: Socket, direction: Direction, weather: () => Weather) => {
  const late: { readonly due: number; readonly data: Buffer }[] = [];
  let timer: NodeJS.Timeout | undefined;
  const isHeld = (): boolean => weather().blackholes.includes(direction);

  const deliver = (): void => {
    timer = undefined;
    while (!isHeld() && late[0] !== undefined && late[0].due <= performance.now()) {
      const first = late.shift();
      // A receiver that does not read slows down its sender.
      if (first !== undefined && !to.write(first.data)) from.pause();
    }
    if (late[0] !== undefined && !isHeld())
      timer = setTimeout(deliver, Math.max(0, late[0].due - performance.now()));
  };
  to.on('drain', () => {
    if (!isHeld()) from.resume();
  });

  return {
    take: (data: Buffer): void => {
      late.push({ due: Math.max(late.at(-1)?.due ?? 0, performance.now() + weather().delayMs), data });
      if (timer === undefined) deliver();
    },
    changed: (): void => {
      if (isHeld()) from.pause();
      else from.resume();
      if (timer === undefined) deliver();
    },
    end: (): void => clearTimeout(timer),
  };
};

/** A TCP proxy that breaks connections at chosen bytes and disturbs the traffic between two peers. */
export const startFaultProxy = async (host: string, port: number): Promise<FaultProxy> => {
  type Link = {
    readonly sockets: readonly [Socket, Socket];
    readonly pipes: readonly ReturnType<typeof createPipe>[];
  };
  const links = new Set<Link>();
  let cuts: Cut[] = [];
  let weather: Weather = FINE;

  const cutAt = (direction: Direction, data: Buffer): boolean => {
    const hit = cuts.find(
      (cut) => cut.direction === direction && data.includes(cut.bytes) && (cut.left -= 1) === 0,
    );
    cuts = cuts.filter((cut) => cut !== hit);
    hit?.done();
    return hit !== undefined;
  };
  const resetBoth = ({ sockets }: Link): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const change = (next: Partial<Weather>): void => {
    weather = { ...weather, ...next };
    for (const { pipes } of links) for (const pipe of pipes) pipe.changed();
  };

  const server = createServer((client) => {
    client.on('error', () => undefined);
    if (weather.refusing) return void client.resetAndDestroy();
    const upstream = connect({ host, port });
    const pair = [client, upstream] as const;
    const down = createPipe(upstream, client, 'to_client', () => weather);
    const up = createPipe(client, upstream, 'to_server', () => weather);
    const link: Link = { sockets: pair, pipes: [up, down] };
    links.add(link);
    const watch = (from: Socket, to: Socket, direction: Direction, pipe: typeof up): void => {
      from.setNoDelay();
      from.on('data', (data: Buffer) => {
        if (cutAt(direction, data)) resetBoth(link);
        else pipe.take(data);
      });
      // An end or an error of one side ends the other.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        links.delete(link);
        pipe.end();
        to.destroy();
      });
    };
    watch(client, upstream, 'to_server', up);
    watch(upstream, client, 'to_client', down);
    // It may be opened during a blackhole.
    for (const pipe of link.pipes) pipe.changed();
  });
  await new Promise<void>((resolve) => server.listen(0, HOST, resolve));

  return {
    host: HOST,
    port: portOf(server),
    cutOn: (direction, bytes, n = 1) =>
      new Promise((done) => cuts.push({ direction, bytes: Buffer.from(bytes), left: n, done })),
    delay: (delayMs) => change({ delayMs }),
    blackhole: (blackholes) => change({ blackholes }),
    refuse: () => change({ refusing: true }),
    reset: () => links.forEach(resetBoth),
    heal: () => {
      cuts = [];
      change(FINE);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const { sockets } of links) for (const socket of sockets) socket.destroy();
      }),
  };
};
