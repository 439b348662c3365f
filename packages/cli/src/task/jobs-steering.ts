import { TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as, count, oneOf } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import { readConfig } from '../job/repository-config.ts';
import { type Job, loadJob, loadRun } from '../job/job.ts';
import { countOldRuns } from '../job/old-runs.ts';
import { type Subject, subjectOf } from '../job/pick.ts';
import { jobName, type JobName } from '../job/reference.ts';
import { retryJson, rewoundSince } from '../job/rewound.ts';
import { isEnded } from '../job/status.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';

type Steer = {
  readonly run?: TaskId;
  readonly reason?: string;
  readonly format?: 'text' | 'json';
  readonly cleanupWorktree?: boolean;
};

const KEPT =
  'a worktree belongs to its run and is kept, so that a retry finds the work that was done; ' +
  'once nobody needs it: git worktree remove <path>, with the path that `holdpoint jobs show` calls worktree';

const steeringOf = (subject: Subject, reason: string | undefined) => ({
  ...(subject.kind === 'run' ? { id: subject.run } : { id: subject.name.task, node: subject.name.node }),
  ...(reason !== undefined && { reason }),
});

const nameOf = (subject: Subject): string =>
  subject.kind === 'run' ? `run ${subject.run}` : subject.name.id;

/** A command of a job: its name, what it is about, whether a run may stand in its place. */
const verbOn = (jobs: Command, name: string, description: string, runs: boolean): Command => {
  const command = jobs
    .command(name)
    .description(description)
    .argument(runs ? '[job]' : '<job>', 'the job, as <run>/<node>', jobName)
    .option('--reason <text>', 'why, for the record');
  if (runs) command.option('--run <id>', 'the whole run', as(TaskId));
  return command;
};

const active = async (client: Client, name: JobName): Promise<Job> => {
  const job = await loadJob(client, name);
  if (!isEnded(job.node.job)) return job;
  throw new Refusal('CLI_NOT_ACTIVE', `${job.id} is ${job.node.job}: there is nothing to cancel`);
};

/** A repository may ask for what the flag asks for; to whoever wants to cancel that is no obstacle. */
const warnOfConfig = (session: Session): void => {
  if (readConfig(session).cancel.cleanupWorktree)
    session.warn(`warning CLI_WORKTREE_KEPT: jobs.cancel.cleanup_worktree is not carried out: ${KEPT}`);
};

const addCancel = (jobs: Command, session: Session): void => {
  const { use, lines } = session;
  withExample(
    verbOn(jobs, 'cancel', 'end a job or a run, and everything that it has started', true)
      .option('--cleanup-worktree', 'refused: a worktree belongs to its run')
      .option('--no-cleanup-worktree', 'keep the worktree, as is always done')
      .action((name: JobName | undefined, { run, reason, cleanupWorktree }: Steer) => {
        const subject = subjectOf(name, run);
        if (cleanupWorktree === true) throw new Refusal('CLI_WORKTREE_KEPT', KEPT);
        if (cleanupWorktree === undefined) warnOfConfig(session);
        return use(async (client) => {
          if (subject.kind === 'job') await active(client, subject.name);
          await client.call('orchestrator', 'cancel', steeringOf(subject, reason));
          lines([`${nameOf(subject)} is cancelled cleanup=skipped`]);
          return undefined;
        });
      }),
    'jobs cancel t-4k2m9x1c7h0a/build',
    'jobs cancel --run t-4k2m9x1c7h0a --reason "not needed any more"',
  );
};

const retryJob = async (client: Client, name: JobName, reason: string | undefined): Promise<unknown> => {
  const before = (await loadJob(client, name)).run;
  const why = reason !== undefined && { reason };
  await client.call('orchestrator', 'retry', { id: name.task, node: name.node, rewind: true, ...why });
  const now = await loadRun(client, name.task);
  const { events } = await client.call('orchestrator', 'history', { id: name.task });
  return retryJson(before, now, name.id, rewoundSince(events, before.version));
};

const retrySubject = async (
  client: Client,
  subject: Subject,
  reason: string | undefined,
): Promise<unknown> => {
  if (subject.kind === 'job') return retryJob(client, subject.name, reason);
  const { nodes } = await loadRun(client, subject.run);
  // What waits for a person goes on where it stands; where nothing does, what failed begins anew.
  const rewind = nodes.some(({ status }) => status === 'escalated') ? {} : { rewind: true };
  const { phase } = await client.call('orchestrator', 'retry', { ...steeringOf(subject, reason), ...rewind });
  return { outcome: 'run_retried', run: subject.run, phase };
};

const addRetry = (jobs: Command, { use, lines, json }: Session): void => {
  withExample(
    verbOn(
      jobs,
      'retry',
      'start a job and what is downstream of it anew; of a run, everything that failed',
      true,
    )
      .option('--format <format>', 'text, json', oneOf(['text', 'json']))
      .action((name: JobName | undefined, { run, reason, format }: Steer) => {
        const subject = subjectOf(name, run);
        return use(async (client) => {
          const done = await retrySubject(client, subject, reason);
          if (format === 'json') json(done);
          else lines([`${nameOf(subject)} is started anew`]);
          return undefined;
        });
      }),
    'jobs retry t-4k2m9x1c7h0a/build',
    'jobs retry --run t-4k2m9x1c7h0a',
  );
};

const PLAIN = [
  ['pause', 'start nothing new of a job or a run until it is resumed', true],
  ['resume', 'go on with a paused job or run', true],
  ['skip', 'leave a job out that has not started or has failed; what follows it goes on', false],
] as const;

const addPlain = (
  jobs: Command,
  { use, lines }: Session,
  [verb, description, runs]: (typeof PLAIN)[number],
): void => {
  withExample(
    verbOn(jobs, verb, description, runs).action((name: JobName | undefined, { run, reason }: Steer) => {
      const subject = subjectOf(name, run);
      return use(async (client) => {
        if (subject.kind === 'job') await loadJob(client, subject.name);
        const steering = steeringOf(subject, reason);
        const { phase } =
          verb === 'skip' && 'node' in steering
            ? await client.call('orchestrator', 'skip', steering)
            : await client.call('orchestrator', verb === 'resume' ? 'resume' : 'pause', steering);
        lines([`${nameOf(subject)}: ${verb} is recorded, the run is ${phase}`]);
        return undefined;
      });
    }),
    `jobs ${verb} t-4k2m9x1c7h0a/build`,
  );
};

export const addSteering = (jobs: Command, session: Session): void => {
  addCancel(jobs, session);
  addRetry(jobs, session);
  for (const verb of PLAIN) addPlain(jobs, session, verb);
};

export const addCleaning = (jobs: Command, { use, lines, json, now }: Session): void => {
  withExample(
    jobs
      .command('gc')
      .description('say how old runs are removed, and how many there are; the services do it by themselves')
      .option('--days <days>', 'runs that were submitted before', count, 7)
      .option('--format <format>', 'text, json', oneOf(['text', 'json']))
      .action(({ days, format }: { days: number; format?: string }) =>
        use(async (client) => {
          const older = await countOldRuns(client, days, now());
          if (format === 'json') json({ outcome: 'nothing_removed', days, older_runs: older });
          else
            lines([
              'nothing was removed: the services remove a run HOLDPOINT_KEEP_DAYS days after its end',
              `${older.toLocaleString('en-US')} run(s) that have ended were submitted more than ${String(days)} days ago and are on record`,
            ]);
          return undefined;
        }),
      ),
    'jobs gc --days 30',
  );
};
