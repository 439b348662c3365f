import type { Verb } from '@holdpoint/contracts/approval/approval';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { subjectLine } from '../approval/text.ts';
import { as, oneOf } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import { isPending } from '../job/approval.ts';
import { type Decided, decideJob } from '../job/decide.ts';
import type { Job } from '../job/job.ts';
import { loadSubject, type Subject, subjectOf } from '../job/pick.ts';
import { jobName, type JobName } from '../job/reference.ts';
import { isEnded, statusSpan } from '../job/status.ts';
import type { Line } from '../output/painted.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';

type Options = { readonly format?: 'text' | 'json'; readonly reason?: string; readonly run?: TaskId };

const STATES = { approve: 'approved', reject: 'rejected' } as const;
type Decision = keyof typeof STATES;

const decidedJson = ({ job, missing }: Decided, decision: Decision, reason: string | undefined): unknown => ({
  outcome: `job_${STATES[decision]}`,
  job: job.id,
  status: job.node.job,
  approval_state: missing > 0 ? 'pending' : STATES[decision],
  ...(missing > 0 && { approvals_missing: missing }),
  ...(decision === 'approve'
    ? { started: job.node.job === 'running' || isEnded(job.node.job) ? [job.id] : [], updated: [job.id] }
    : { reason: reason ?? '' }),
});

const decidedLines = ({ job, by, approval, missing }: Decided, decision: Decision): readonly Line[] => [
  missing > 0
    ? [`${job.id} is ${STATES[decision]} by ${by}; it takes ${String(missing)} more`]
    : [`${job.id} is ${STATES[decision]} by ${by}, and `, statusSpan(job.node.job)],
  `  ${subjectLine(approval)}`,
];

/** Of a run, everything that waits for somebody; of a job, what it waits for or why there is nothing. */
const toDecide = async (client: Client, subject: Subject): Promise<readonly Job[]> => {
  const found = await loadSubject(client, subject);
  if (subject.kind === 'job') return found;
  const pending = found.filter(isPending);
  if (pending.length > 0) return pending;
  throw new Refusal('CLI_NOTHING_TO_DECIDE', `no job of run ${subject.run} waits for an approval`);
};

const addDecision = (
  jobs: Command,
  { use, lines, json }: Session,
  decision: Decision & Verb,
  description: string,
): void => {
  withExample(
    jobs
      .command(decision)
      .description(description)
      .argument('[job]', 'the job, as <run>/<node>', jobName)
      .option('--run <id>', 'every job of this run that waits for somebody', as(TaskId))
      .option('--reason <text>', 'why, for the record')
      .option('--format <format>', 'text, json', oneOf(['text', 'json']))
      .action((name: JobName | undefined, { run, reason, format }: Options) => {
        const subject = subjectOf(name, run);
        return use(async (client) => {
          for (const job of await toDecide(client, subject)) {
            const decided = await decideJob(client, job, decision, reason);
            if (format === 'json') json(decidedJson(decided, decision, reason));
            else lines(decidedLines(decided, decision));
          }
          return undefined;
        });
      }),
    `jobs ${decision} t-4k2m9x1c7h0a/deploy --reason "looks right"`,
    `jobs ${decision} --run t-4k2m9x1c7h0a`,
  );
};

export const addDeciding = (jobs: Command, session: Session): void => {
  addDecision(jobs, session, 'approve', 'let a job that waits for somebody go on, exactly as it was shown');
  addDecision(jobs, session, 'reject', 'refuse what a job waits for');
};
