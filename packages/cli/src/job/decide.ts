import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { setTimeout as pause } from 'node:timers/promises';
import { decideOn } from '../approval/decisions.ts';
import type { Client } from '../bus/client.ts';
import { findApproval, pendingApproval } from './approval.ts';
import { type Job, loadJob } from './job.ts';
import { jobName } from './target.ts';

export type JobDecision = {
  readonly approval: ApprovalView;
  readonly by: string;
  /** Number of missing approvals. */
  readonly missing: number;
  /** The job after the decision took effect. */
  readonly job: Job;
};

/** Time for a request or decision to travel between services. */
const TRIES = 20;
const TRY_EVERY_MS = 150;

const awaitApproval = async (client: Client, job: Job): Promise<ApprovalView> => {
  const id = pendingApproval(job);
  for (let tries = 1; ; tries += 1) {
    const approval = await findApproval(client, id);
    if (approval !== undefined) return approval;
    if (tries === TRIES)
      throw new HoldpointError(
        'APPROVALS_UNKNOWN',
        `request ${id} of ${job.id} has not arrived yet: try again`,
      );
    await pause(TRY_EVERY_MS);
  }
};

const awaitEffect = async (client: Client, id: string): Promise<Job> => {
  for (let tries = 1; ; tries += 1) {
    const job = await loadJob(client, jobName(id));
    if (job.node.job !== 'waiting_on_approval' || tries === TRIES) return job;
    await pause(TRY_EVERY_MS);
  }
};

/** Decides the pending request of a job, bound to the current digest. */
export const decideJob = async (
  client: Client,
  job: Job,
  decision: Verb,
  comment: string | undefined,
): Promise<JobDecision> => {
  const approval = await awaitApproval(client, job);
  const { by, approvalsMissing: missing = 0 } = await decideOn(client, approval, decision, { comment });
  // Other approvers have to decide too.
  return { approval, by, missing, job: missing > 0 ? job : await awaitEffect(client, job.id) };
};
