import type { Supervised, SupervisorOptions } from '@holdpoint/infra/local/process/supervisor';
import type { Ended } from './deployment.ts';

/** A supervised process that the torture ends, pauses and resumes. */
export type Breakable = Pick<Supervised, 'name' | 'logFile' | 'signal'> & {
  /** Ends the process; the exit counts as caused. */
  readonly end: (signal: NodeJS.Signals) => void;
  readonly stop: () => Promise<void>;
};

/** Starts a process and reports each exit, and whether the torture caused it. */
export const startBreakable = async <P extends Supervised>(
  start: (hooks: Pick<SupervisorOptions, 'say' | 'onExit'>) => Promise<P>,
  onEnded: (ended: Ended) => void,
): Promise<Omit<P, 'stop'> & Breakable> => {
  const wanted = new Set<number>();
  const supervised = await start({
    // The fault reports the restart.
    say: () => undefined,
    onExit: ({ name, pid }, { code, signal }) => {
      const how = signal === null ? `code ${String(code)}` : signal;
      onEnded({ name, at: new Date().toISOString(), how, caused: wanted.has(pid) });
    },
  });
  return {
    ...supervised,
    end: (signal) => {
      wanted.add(supervised.pid());
      supervised.signal(signal);
    },
    stop: async () => {
      wanted.add(supervised.pid());
      // A frozen process handles no other signal.
      supervised.signal('SIGCONT');
      await supervised.stop();
    },
  };
};
