import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { ServiceProcess } from '../../kit/stack/as-process.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';

/** A Holdpoint of one test file. Its executor may work in the repositories of one folder. */
export type Stack = {
  readonly system: System;
  /** The folder of the test repositories. */
  readonly repositories: string;
  /** The executor process; it is restarted when it ends. */
  readonly executor: ServiceProcess;
  readonly stop: () => Promise<void>;
};

export const startStack = async (): Promise<Stack> => {
  const system = await createSystem();
  const repositories = join(system.folder, 'repositories');
  mkdirSync(repositories);
  // Tests look up the process ids that scripts print; in a PID namespace these would differ.
  const env = { HOLDPOINT_REPOSITORIES: repositories, HOLDPOINT_WORK: 'unconfined' };
  try {
    const executor = system.spawn('executor', { env });
    const others = SERVICES.filter((service) => service !== 'executor').map((service) =>
      system.spawn(service),
    );
    const services = await Promise.all([executor, ...others]);
    await Promise.all(services.map(({ started }) => started()));
    return { system, repositories, executor: await executor, stop: system.stop };
  } catch (error) {
    await system.stop();
    throw error;
  }
};
