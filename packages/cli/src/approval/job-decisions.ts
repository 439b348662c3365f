import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { Client } from '../bus/client.ts';
import { isPending } from '../job/approval.ts';
import { decideJob, type JobDecision } from '../job/decide.ts';
import { type Job, loadJob, loadTarget } from '../job/job.ts';
import { isEnded, statusSpan } from '../job/status.ts';
import type { JobName } from '../job/target.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import type { Line } from '../output/painted.ts';
import { subjectLine } from './text.ts';

const STATES = { approve: 'approved', reject: 'rejected' } as const;
export type JobVerb = keyof typeof STATES & Verb;

const decisionJson = (
  { job, missing }: JobDecision,
  verb: JobVerb,
  comment: string | undefined,
): unknown => ({
  outcome: `job_${STATES[verb]}`,
  job: job.id,
  status: job.node.job,
  approval_state: missing > 0 ? 'pending' : STATES[verb],
  ...(missing > 0 && { approvals_missing: missing }),
  ...(verb === 'approve'
    ? { started: job.node.job === 'running' || isEnded(job.node.job) ? [job.id] : [], updated: [job.id] }
    : { reason: comment ?? '' }),
});

const decisionLines = ({ job, by, approval, missing }: JobDecision, verb: JobVerb): readonly Line[] => [
  missing > 0
    ? [`${job.id}: ${STATES[verb]} by ${by}; ${String(missing)} more needed`]
    : [`${job.id}: ${STATES[verb]} by ${by}, the job is `, statusSpan(job.node.job)],
  `  ${subjectLine(approval)}`,
];

/** Every job of a task that waits for an approver. */
const pendingJobs = async (client: Client, task: TaskId): Promise<readonly Job[]> => {
  const pending = (await loadTarget(client, { task })).filter(isPending);
  if (pending.length > 0) return pending;
  throw new Refusal('CLI_NOTHING_TO_DECIDE', `no job of task ${task} waits for an approval`);
};

export type JobsToDecide = { readonly names: readonly JobName[]; readonly task?: TaskId | undefined };

/** Decides the pending request of each job. */
export const decideJobs = async (
  client: Client,
  { names, task }: JobsToDecide,
  verb: JobVerb,
  { comment, json }: { readonly comment: string | undefined; readonly json: boolean },
  session: Session,
): Promise<void> => {
  const jobs = task === undefined ? [] : [...(await pendingJobs(client, task))];
  for (const name of names) jobs.push(await loadJob(client, name));
  for (const job of jobs) {
    const decision = await decideJob(client, job, verb, comment);
    if (json) session.json(decisionJson(decision, verb, comment));
    else session.lines(decisionLines(decision, verb));
  }
};
