import { consumers } from '@holdpoint/contracts/streams';
import { parseCommand } from '@holdpoint/runtime/inbound';
import { createSigner } from '@holdpoint/runtime/jws';
import type { Logger } from '@holdpoint/runtime/log';
import { type RunningService, SNAPSHOT_EVERY, startService } from '@holdpoint/runtime/service';
import { createAuthenticator } from './adapters/principals.ts';
import { endpoints } from './api.ts';
import type { ApprovalsConfig } from './config.ts';
import { createApprovalDecider } from './domain/approval.ts';
import { summarise } from './projections/requests.ts';

export const startApprovals = (
  { env, grantKey, principals }: ApprovalsConfig,
  log: Logger,
): Promise<RunningService> => {
  const decider = createApprovalDecider(createSigner(grantKey));
  const authenticate = createAuthenticator(principals);
  return startService(
    {
      service: 'approvals',
      kind: {
        service: 'approvals',
        aggregate: 'approval',
        decider,
        summarise,
        snapshotEvery: SNAPSHOT_EVERY,
      },
      inbound: consumers
        .filter(({ service }) => service === 'approvals')
        .map((consumer) => ({
          consumer,
          decode: (subject, body) => {
            const command = parseCommand('approvals', subject, body);
            return { aggregate: command.payload.id, message: command };
          },
        })),
      endpoints: (pool) => endpoints(pool, decider, authenticate),
    },
    env,
    log,
  );
};
