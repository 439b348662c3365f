import { join } from 'node:path';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { type Child, type Exit, startChild } from '@holdpoint/infra/local/process/child';
import { root } from '@holdpoint/infra/local/folders';
import { mainFile } from '@holdpoint/infra/local/process/services';
import { type LogLine, type LogRecord, logOfFile } from './log-record.ts';
import { Hopeless, untilTrue } from '../until.ts';

export type ServiceProcess = LogRecord & {
  readonly pid: () => number;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** The exits of all lives but the present one. */
  readonly exits: () => readonly Exit[];
  /** Resolves when the present life has reported its start. */
  readonly started: () => Promise<void>;
  /** Sends SIGTERM and starts no further life. */
  readonly stop: () => Promise<Exit>;
};

export type ProcessOptions = {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Additional variables for the n-th life, counted from 0. */
  readonly envOfLife?: (life: number) => Readonly<Record<string, string>>;
};

/** A limit on kills: a service beyond it makes no progress. */
const LIVES_MAX = 50;

let count = 0;

/** The service as a process that is started again after each exit. */
export const startProcess = async (
  service: ServiceName,
  { folder, env, envOfLife }: ProcessOptions,
): Promise<ServiceProcess> => {
  count += 1;
  const logFile = join(folder, `${service}-${String(count)}.log`);
  const exits: Exit[] = [];
  let stopping = false;

  const launch = (): Promise<Child> =>
    startChild({
      name: service,
      command: process.execPath,
      // The folder marks the process for the cleanup of leftovers.
      args: [mainFile(root, service), folder],
      logFile,
      cwd: root,
      env: { ...env, ...envOfLife?.(exits.length) },
    });

  let child = await launch();
  const watch = async (): Promise<void> => {
    for (;;) {
      const exit = await child.exited;
      if (stopping) return;
      exits.push(exit);
      if (exits.length >= LIVES_MAX) throw new Hopeless(`${service} ended ${String(LIVES_MAX)} times`);
      child = await launch();
    }
  };
  const watching = watch();
  // The caller of `stop` receives the error.
  watching.catch(() => undefined);
  const log = logOfFile(logFile);

  return {
    lines: log.lines,
    pid: () => child.pid,
    signal: (signal) => child.signal(signal),
    exits: () => exits,
    started: async () => {
      await untilTrue(`${service} has started`, async () => {
        const ofThisLife = ({ msg, instance }: LogLine): boolean =>
          msg === 'service started' && instance?.endsWith(`-${String(child.pid)}`) === true;
        return (await log.lines()).some(ofThisLife);
      });
    },
    stop: async () => {
      stopping = true;
      let exit = await child.stop();
      await watching;
      // It may have been restarted between the two.
      if (!child.hasExited()) exit = await child.stop();
      return exit;
    },
  };
};
