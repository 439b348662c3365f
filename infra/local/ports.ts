import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { codeOf, Problem } from './problem.ts';
import { recordInTurn } from './record.ts';

const portNames = ['nats', 'natsMonitor', 'postgres', ...SERVICES] as const;
export type PortName = (typeof portNames)[number];
export type Ports = Readonly<Record<PortName, number>>;

export const defaultPorts = {
  nats: 4222,
  natsMonitor: 8222,
  postgres: 5442,
  orchestrator: 8701,
  approvals: 8702,
  executor: 8703,
  recovery: 8704,
} as const satisfies Ports;

/** The port that a server got. */
export const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  return address.port;
};

export const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => {
      if (['EADDRINUSE', 'EACCES'].includes(codeOf(error) ?? '')) resolve(false);
      else reject(error);
    });
    probe.listen({ port, host: '127.0.0.1', exclusive: true }, () => probe.close(() => resolve(true)));
  });

// Below the range that systems take the ports of outgoing connections from, so that none of those gets in between.
const RANDOM_MIN = 20_000;
const RANDOM_MAX = 32_000;
const TRIES_MAX = 200;

const randomFree = async (taken: ReadonlySet<number>): Promise<number> => {
  for (let tried = 0; tried < TRIES_MAX; tried += 1) {
    const port = randomInt(RANDOM_MIN, RANDOM_MAX);
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new Problem(`no free port between ${RANDOM_MIN} and ${RANDOM_MAX} on 127.0.0.1`);
};

/** A free port for each name: the preferred one if it is free, else a random one. Without preferences all are random. */
export const choosePorts = async (preferred: Partial<Ports> = {}): Promise<Ports> => {
  const taken = new Set(Object.values(preferred));
  return recordInTurn(portNames, async (name) => {
    const wish = preferred[name];
    const port = wish !== undefined && (await isFree(wish)) ? wish : await randomFree(taken);
    taken.add(port);
    return port;
  });
};
