import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { Client } from '../bus/client.ts';
import { UsageError } from '../kit/usage-error.ts';
import { type Job, jobsOf, loadJob, loadRun } from './job.ts';
import type { JobName } from './reference.ts';

/** What a verb is about: one job, or a whole run. */
export type Subject =
  | { readonly kind: 'job'; readonly name: JobName }
  | { readonly kind: 'run'; readonly run: TaskId };

export const subjectOf = (name: JobName | undefined, run: TaskId | undefined): Subject => {
  if (name !== undefined && run !== undefined) throw new UsageError('either a job or --run, not both');
  if (name !== undefined) return { kind: 'job', name };
  if (run !== undefined) return { kind: 'run', run };
  throw new UsageError('which job? Name one as <run>/<node>, or a whole run with --run');
};

export const loadSubject = async (client: Client, subject: Subject): Promise<readonly Job[]> => {
  if (subject.kind === 'job') return [await loadJob(client, subject.name)];
  const jobs = jobsOf(await loadRun(client, subject.run));
  if (jobs.length === 0)
    throw new HoldpointError('ORCHESTRATOR_UNKNOWN_NODE', `run ${subject.run} has no jobs`);
  return jobs;
};
