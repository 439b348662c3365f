import { mkdir } from 'node:fs/promises';
import { GrantClaims } from '@holdpoint/contracts/effect';
import { systemClock } from '@holdpoint/runtime/system-clock';
import { createVerifier } from '@holdpoint/runtime/jws';
import type { Logger } from '@holdpoint/runtime/log';
import { instanceName } from '@holdpoint/runtime/process';
import { type RunningService, startService } from '@holdpoint/runtime/service';
import { createFiles } from './adapters/files.ts';
import { createPlaces } from './adapters/places.ts';
import { createRunner } from './adapters/runner.ts';
import { endpoints } from './api.ts';
import { fileAppend } from './capabilities/file-append.ts';
import type { ExecutorConfig } from './config.ts';
import { createEffectDecider } from './domain/effect.ts';
import { executorLogic } from './logic.ts';

/** What runs when the executor stops may take so long to end. */
const STOP_GRACE_MS = 5_000;

export const startExecutor = async (
  { env, grantKeys, workspace, pool, effectsMax }: ExecutorConfig,
  log: Logger,
): Promise<RunningService> => {
  await mkdir(workspace, { recursive: true });
  const verify = createVerifier(grantKeys);
  const decider = createEffectDecider((token) => GrantClaims.safeParse(verify(token)).data);
  const places = createPlaces(instanceName('executor'), effectsMax);
  const capabilities = [fileAppend(createFiles(workspace))];
  const runner = createRunner(capabilities, places, systemClock, log);
  return startService(
    {
      service: 'executor',
      logic: executorLogic({ decider, places, runner, pool }),
      endpoints: (database) => endpoints(database, decider),
      stopWork: () => runner.stop(STOP_GRACE_MS),
    },
    env,
    log,
  );
};
