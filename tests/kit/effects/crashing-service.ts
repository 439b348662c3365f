import { readFile } from 'node:fs/promises';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { CrashPoint } from '@holdpoint/runtime/engine/ports';
import type { ServiceProcess } from '../stack/as-process.ts';
import type { System } from '../stack/system.ts';
import { untilTrue } from '../until.ts';

/** The n-th pass of a crash point, at which the first life of a service ends or is stopped. */
export type Step = `${CrashPoint}:${number}`;

export type Victim = ServiceProcess & {
  readonly isDead: () => Promise<true>;
  readonly isFrozen: () => Promise<true>;
  /** SIGSTOP from outside; resolves once the process is stopped. */
  readonly freeze: () => Promise<true>;
  readonly thaw: () => void;
};

/** The state of a process in Linux: `T` is stopped. */
const stateOf = async (pid: number): Promise<string | undefined> => {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8');
  // The name of the executable is in parentheses and may contain any character.
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[0];
};

/**
 * A service whose first life ends or is frozen at a step; without a step it runs normally. Later lives
 * ignore the step.
 */
export const spawnVictim = async (
  system: System,
  service: ServiceName | 'core',
  crash?: Step | `${Step}:freeze`,
  env: Readonly<Record<string, string>> = {},
): Promise<Victim> => {
  const victim = await system.spawn(service, {
    env,
    envOfLife: (life): Readonly<Record<string, string>> =>
      life === 0 && crash !== undefined ? { HOLDPOINT_TEST_CRASH_POINT: crash } : {},
  });
  const isFrozen = (): Promise<true> =>
    untilTrue(`${service} is frozen`, async () => (await stateOf(victim.pid())) === 'T');
  const thaw = (): void => victim.signal('SIGCONT');
  return {
    ...victim,
    // An executor remembers earlier orders, which would change the count of its steps.
    started: async () => {
      await victim.started();
      if (service !== 'executor') return;
      const mayStart = async (): Promise<boolean> =>
        (await victim.lines()).some(
          ({ msg, instance }) =>
            msg === 'effects may start' && instance?.endsWith(`-${String(victim.pid())}`) === true,
        );
      await untilTrue('effects may start', mayStart);
    },
    isDead: () => untilTrue(`${service} is dead`, () => victim.exits()[0]?.signal === 'SIGKILL'),
    isFrozen,
    freeze: () => {
      victim.signal('SIGSTOP');
      return isFrozen();
    },
    thaw,
    stop: () => {
      // A frozen process does not receive the signal to end.
      thaw();
      return victim.stop();
    },
  };
};
