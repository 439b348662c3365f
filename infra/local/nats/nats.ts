import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { rotateLog, startChild } from '../process/child.ts';
import type { Child, ChildSpec, Farewell } from '../process/child.ts';
import type { NatsProgram } from './nats-program.ts';
import { poll } from '../poll.ts';
import { Problem } from '../problem.ts';
import { run } from '../run.ts';
import { tail } from '../process/tail.ts';

export type NatsRun = {
  readonly program: NatsProgram;
  /** Holds the configuration, and the JetStream files under `jetstream`. */
  readonly dir: string;
  readonly port: number;
  readonly monitorPort?: number;
  readonly logFile: string;
};

export type NatsServer = {
  readonly url: string;
  readonly port: number;
  readonly storeDir: string;
  readonly origin: string;
  readonly isContainer: boolean;
  readonly child: () => Child;
  readonly stop: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** On the same port and files, after `stop` or `kill`. */
  readonly start: () => Promise<void>;
  /** Deletes all JetStream data while the server is down. */
  readonly wipe: () => Promise<void>;
};

const READY_WITHIN_MS = 30_000;
const FAREWELL: Farewell = [
  ['SIGTERM', 15_000],
  ['SIGKILL', 10_000],
];

/**
 * The first line that a NATS server sends, if it comes from the server of that name: on the port another one could
 * answer. It comes after JetStream has recovered its streams.
 */
const greeting = (port: number, serverName: string): Promise<'ready' | undefined> =>
  new Promise((done) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const finish = (answer?: 'ready') => {
      socket.destroy();
      done(answer);
    };
    socket.setTimeout(2_000, () => finish());
    socket.once('error', () => finish());
    socket.once('close', () => finish());
    socket.once('data', (data) => {
      const text = data.toString('utf8');
      finish(
        text.startsWith('INFO ') && text.includes(`"server_name":"${serverName}"`) ? 'ready' : undefined,
      );
    });
  });

/** One name for one data folder, for the server and its container: what a killed start left behind is found again. */
export const serverNameOf = (dir: string) =>
  `holdpoint-nats-${createHash('sha256').update(dir).digest('hex').slice(0, 12)}`;

const removeContainer = (dir: string) =>
  run('docker', ['rm', '--force', serverNameOf(dir)], { timeoutMs: 30_000 });

const commandFor = (options: NatsRun, dir: string): Pick<ChildSpec, 'command' | 'args'> => {
  const { program, port, monitorPort } = options;
  if (program.kind === 'binary')
    return { command: program.path, args: ['-c', join(dir, 'nats-server.conf')] };
  const publish = [port, ...(monitorPort === undefined ? [] : [monitorPort])].flatMap((each) => [
    '-p',
    `127.0.0.1:${each}:${each}`,
  ]);
  // The container uses the same paths as the host, and its files belong to the user who started it.
  const user = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`;
  const args = [
    'run',
    '--rm',
    '--name',
    serverNameOf(dir),
    '--user',
    user,
    ...publish,
    '-v',
    `${dir}:${dir}`,
  ];
  return { command: 'docker', args: [...args, program.image, '-c', join(dir, 'nats-server.conf')] };
};

/** Starts a nats-server with the configuration in its folder, and waits until it serves. */
export const runNats = async (options: NatsRun): Promise<NatsServer> => {
  const dir = resolve(options.dir);
  const { program, port, logFile } = options;
  let child: Child | undefined;

  const start = async () => {
    if (program.kind === 'docker') await removeContainer(dir);
    await rotateLog(logFile);
    const started = await startChild({ name: 'nats', logFile, ...commandFor(options, dir) });
    child = started;
    const ready = await poll(
      async () => (started.hasExited() ? 'exited' : greeting(port, serverNameOf(dir))),
      {
        timeoutMs: READY_WITHIN_MS,
        what: 'nats-server is not ready',
      },
    );
    if (ready === 'exited')
      throw new Problem(`nats-server ended at once, see ${logFile}:\n${await tail(logFile, 3)}`);
  };

  const running = (): Child => {
    if (child === undefined) throw new Error('nats-server has not been started');
    return child;
  };

  const stop = async () => {
    await running().stop(FAREWELL);
  };

  const kill = async () => {
    if (program.kind === 'docker') await removeContainer(dir);
    await running().stop([['SIGKILL', 10_000]]);
  };

  const storeDir = join(dir, 'jetstream');
  /** The folder may be a mount point. */
  const wipe = async () => {
    for (const name of await readdir(storeDir)) await rm(join(storeDir, name), { recursive: true });
  };

  try {
    await start();
  } catch (error) {
    if (child !== undefined) await kill();
    throw error;
  }
  return {
    url: `nats://127.0.0.1:${port}`,
    port,
    storeDir,
    origin: program.origin,
    isContainer: program.kind === 'docker',
    child: running,
    stop,
    kill,
    start,
    wipe,
  };
};
