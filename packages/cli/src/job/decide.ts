import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../bus/client.ts';
import { findApproval, pendingApproval } from './approval.ts';
import { type Job, loadJob } from './job.ts';
import { jobName } from './target.ts';

export type JobDecision = {
  readonly approval: ApprovalView;
  readonly by: string;
  /** How many people still have to approve. */
  readonly missing: number;
  /** The job some moments later: the decision has to get there first. */
  readonly job: Job;
};

/** For a request, or a decision, that is on its way from one service to the next. */
const TRIES = 20;
const TRY_EVERY_MS = 150;

const awaitApproval = async (client: Client, job: Job): Promise<ApprovalView> => {
  const id = pendingApproval(job);
  for (let tries = 1; ; tries += 1) {
    const approval = await findApproval(client, id);
    if (approval !== undefined) return approval;
    if (tries === TRIES)
      throw new HoldpointError('APPROVALS_UNKNOWN', `${job.id} waits for ${id}, which has not arrived yet`);
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

/** Decides on what a job waits for, bound to the effect as it is now. */
export const decideJob = async (
  client: Client,
  job: Job,
  decision: Verb,
  comment: string | undefined,
): Promise<JobDecision> => {
  const approval = await awaitApproval(client, job);
  const request = { id: approval.id, decision, digest: approval.digest };
  const { by, missing = 0 } = await client.call('approvals', 'decide', {
    ...request,
    ...(comment !== undefined && { comment }),
  });
  // Nothing follows as long as others have to decide as well.
  return { approval, by, missing, job: missing > 0 ? job : await awaitEffect(client, job.id) };
};
