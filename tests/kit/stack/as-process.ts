import { join } from 'node:path';
import { CORE_SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { Exit } from '@holdpoint/infra/local/process/child';
import { root } from '@holdpoint/infra/local/folders';
import { serviceCommand } from '@holdpoint/infra/local/process/services';
import { type Supervised, supervise } from '@holdpoint/infra/local/process/supervisor';
import { type LogLine, type LogRecord, logOfFile } from './log-record.ts';
import { Hopeless, untilTrue } from '../until.ts';

export type ServiceProcess = LogRecord &
  Pick<Supervised, 'pid' | 'signal' | 'stop'> & {
    /** The exits of all lives but the present one. */
    readonly exits: () => readonly Exit[];
    /** Resolves when the present life has reported its start. */
    readonly started: () => Promise<void>;
  };

export type ProcessOptions = {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Additional variables for the n-th life, counted from 0. */
  readonly envOfLife?: (life: number) => Readonly<Record<string, string>>;
};

/** Kill tests restart a service many times. */
const NO_PAUSE = { min: 0, max: 0 };

let count = 0;

/** The service as a process that is started again after each exit. */
export const startProcess = async (
  service: ServiceName | 'core',
  { folder, env, envOfLife = () => ({}) }: ProcessOptions,
): Promise<ServiceProcess> => {
  count += 1;
  const logFile = join(folder, `${service}-${String(count)}.log`);
  const exits: Exit[] = [];
  const command = serviceCommand(root, service === 'core' ? CORE_SERVICES : [service], folder);
  const supervised = await supervise(
    { name: service, logFile, ...command, env: { ...command.env, ...env } },
    {
      say: () => undefined,
      onExit: (_child, exit) => void exits.push(exit),
      envOf: envOfLife,
      pauseMs: NO_PAUSE,
    },
  );
  const { lines } = logOfFile(logFile);

  return {
    ...supervised,
    lines,
    exits: () => exits,
    started: async () => {
      await untilTrue(`${service} has started`, async () => {
        const failure = supervised.failure();
        if (failure !== undefined) throw new Hopeless(failure);
        const ofThisLife = ({ msg, instance }: LogLine): boolean =>
          msg === 'service started' && instance?.endsWith(`-${String(supervised.pid())}`) === true;
        return (await lines()).some(ofThisLife);
      });
    },
  };
};
