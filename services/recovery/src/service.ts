import { consumers } from '@holdpoint/contracts/streams';
import { parseCommand } from '@holdpoint/runtime/inbound';
import type { Logger } from '@holdpoint/runtime/log';
import { type RunningService, SNAPSHOT_EVERY, startService } from '@holdpoint/runtime/service';
import { endpoints } from './api.ts';
import type { RecoveryEnv } from './config.ts';
import { recoveryDecider } from './domain/recovery.ts';

export const startRecovery = (env: RecoveryEnv, log: Logger): Promise<RunningService> =>
  startService(
    {
      service: 'recovery',
      kind: {
        service: 'recovery',
        aggregate: 'recovery',
        decider: recoveryDecider,
        summarise: () => ({ status: 'assessed', view: null }),
        snapshotEvery: SNAPSHOT_EVERY,
      },
      inbound: consumers
        .filter(({ service }) => service === 'recovery')
        .map((consumer) => ({
          consumer,
          decode: (subject, body) => {
            const command = parseCommand('recovery', subject, body);
            return { aggregate: command.payload.task, message: command };
          },
        })),
      endpoints,
    },
    env,
    log,
  );
