import { createSigner } from '@holdpoint/runtime/jws';
import type { Logger } from '@holdpoint/runtime/log';
import { type RunningService, startService } from '@holdpoint/runtime/service';
import { createAuthenticator } from './adapters/principals.ts';
import { endpoints } from './api.ts';
import type { ApprovalsConfig } from './config.ts';
import { createApprovalDecider } from './domain/approval.ts';
import { approvalsLogic } from './logic.ts';

export const startApprovals = (
  { env, grantKey, principals }: ApprovalsConfig,
  log: Logger,
): Promise<RunningService> => {
  const decider = createApprovalDecider(createSigner(grantKey));
  const authenticate = createAuthenticator(principals);
  return startService(
    {
      service: 'approvals',
      logic: approvalsLogic(decider),
      endpoints: (pool) => endpoints(pool, decider, authenticate),
    },
    env,
    log,
  );
};
