import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { type Command, Option } from 'commander';
import type { Client } from '../bus/client.ts';
import { loadJob, loadTask } from '../job/job.ts';
import { readConfig } from '../job/repository-config.ts';
import { retryJson, restartedSince } from '../job/restarted.ts';
import { isEnded } from '../job/status.ts';
import {
  asJobName,
  type JobName,
  nameOf,
  type Target,
  targetFrom,
  targetName,
  type TargetOptions,
} from '../job/target.ts';
import { as, wholeNumber } from '../kit/arguments.ts';
import { commandPath, withExample } from '../kit/example.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

const ATTEMPTS_MAX = 1_000_000;
const VERSION_MAX = Number.MAX_SAFE_INTEGER;
const TASK = 't-4k2m9x1c7h0a';
const JOB = `${TASK}/build`;

type Steering = TargetOptions & {
  readonly reason?: string;
  readonly json?: true;
};

/** Adds a command on a task or one of its jobs. `--run` and `--node` name the same target as options. */
const steeringCommand = (parent: Command, name: string, description: string): Command =>
  parent
    .command(name)
    .description(description)
    .argument('[target]', '<task>, or <task>/<node> for one job', targetName)
    .option('--run <task>', 'the whole task, named as an option', as(TaskId))
    .addOption(new Option('--node <id>', 'the node, named as an option').argParser(as(NodeId)).hideHelp())
    .option('--reason <text>', 'reason, kept in the record')
    .option('--json', 'print the API response as JSON');

const requestOf = ({ task, node }: Target, reason: string | undefined) => ({
  id: task,
  ...(node !== undefined && { node }),
  ...(reason !== undefined && { reason }),
});

type Ack = { readonly id: string; readonly phase: string };

const print = ({ lines, json }: Session, answer: Ack, asJson: true | undefined, text: string): undefined => {
  if (asJson) json(answer);
  else lines([text]);
};

const ackText = (target: Target, { id, phase }: Ack, done: string): string =>
  target.node === undefined ? `task ${id} is ${phase}` : `${nameOf(target)}: ${done}, the task is ${phase}`;

const KEPT =
  'a worktree belongs to its task and is kept for a retry; ' +
  'remove it with `git worktree remove <path>` (`holdpoint task show <task>/<node>` prints the path)';

/** The configuration can ask for a clean-up too. It must not stop a cancellation, so it only warns. */
const warnOfConfig = (session: Session): void => {
  if (readConfig(session).cancel.cleanupWorktree)
    session.warn(`warning CLI_WORKTREE_KEPT: ignoring jobs.cancel.cleanup_worktree: ${KEPT}`);
};

const requireActive = async (client: Client, name: JobName): Promise<void> => {
  const { id, node } = await loadJob(client, name);
  if (isEnded(node.job)) throw new Refusal('CLI_NOT_ACTIVE', `${id} is ${node.job}: nothing to cancel`);
};

export const addCancel = (parent: Command, session: Session): void => {
  withExample(
    steeringCommand(parent, 'cancel', 'cancel a task or a job; effects that have started are not undone')
      .option('--cleanup-worktree', 'not supported: a worktree belongs to its task')
      .option('--no-cleanup-worktree', 'keep the worktree (default)')
      .action(
        (
          argument: Target | undefined,
          { cleanupWorktree, reason, json, ...options }: Steering & { readonly cleanupWorktree?: boolean },
        ) => {
          const target = targetFrom(argument, options);
          if (cleanupWorktree === true) throw new Refusal('CLI_WORKTREE_KEPT', KEPT);
          if (cleanupWorktree === undefined) warnOfConfig(session);
          return session.use(async (client) => {
            const name = asJobName(target);
            if (name !== undefined) await requireActive(client, name);
            const answer = await client.call('orchestrator', 'cancel', requestOf(target, reason));
            return print(session, answer, json, ackText(target, answer, 'cancelled, worktree kept'));
          });
        },
      ),
    `${commandPath(parent)} cancel ${TASK} --reason "no longer needed"`,
    `${commandPath(parent)} cancel ${JOB}`,
  );
};

const PLAIN = {
  pause: ['pause a task or a job: nothing new starts until it is resumed', 'pause recorded'],
  resume: ['resume a paused task or job', 'resume recorded'],
} as const;

const addPlain = (parent: Command, session: Session, verb: keyof typeof PLAIN): void => {
  const [description, done] = PLAIN[verb];
  withExample(
    steeringCommand(parent, verb, description).action(
      (argument: Target | undefined, { reason, json, ...options }: Steering) => {
        const target = targetFrom(argument, options);
        return session.use(async (client) => {
          const answer = await client.call('orchestrator', verb, requestOf(target, reason));
          return print(session, answer, json, ackText(target, answer, done));
        });
      },
    ),
    `${commandPath(parent)} ${verb} ${TASK}`,
    `${commandPath(parent)} ${verb} ${JOB}`,
  );
};

export const addPause = (parent: Command, session: Session): void => addPlain(parent, session, 'pause');
export const addResume = (parent: Command, session: Session): void => addPlain(parent, session, 'resume');

export const addSkip = (parent: Command, session: Session): void => {
  withExample(
    steeringCommand(
      parent,
      'skip',
      'skip a job that has not started or has failed, and continue after it',
    ).action((argument: Target | undefined, { reason, json, ...options }: Steering) => {
      const name = asJobName(targetFrom(argument, options));
      if (name === undefined) throw new UsageError('name the job to skip as <task>/<node>');
      return session.use(async (client) => {
        const request = { id: name.task, node: name.node, ...(reason !== undefined && { reason }) };
        const answer = await client.call('orchestrator', 'skip', request);
        return print(session, answer, json, ackText(name, answer, 'skip recorded'));
      });
    }),
    `${commandPath(parent)} skip ${TASK}/review`,
  );
};

type Retry = Steering & {
  readonly attempt?: number;
  readonly rewind?: boolean;
};

/** An escalated job continues from where it stands; a job that has ended restarts, with all jobs downstream. */
const rewinds = async (client: Client, target: Target, { attempt, rewind }: Retry): Promise<boolean> => {
  if (rewind !== undefined) return rewind;
  if (attempt !== undefined) return false;
  const name = asJobName(target);
  if (name !== undefined) return (await loadJob(client, name)).node.status !== 'escalated';
  const { nodes } = await loadTask(client, target.task);
  return !nodes.some(({ status }) => status === 'escalated');
};

export const addRetry = (parent: Command, session: Session): void => {
  withExample(
    steeringCommand(parent, 'retry', 'retry a job with all jobs downstream, or all failed jobs of a task')
      .option('--attempt <number>', 'retry only if this attempt is the latest one', wholeNumber(ATTEMPTS_MAX))
      .option('--rewind', 'restart the job and all jobs downstream (default unless a job is escalated)')
      .option('--no-rewind', 'only give the failed or escalated job another attempt')
      .action((argument: Target | undefined, { reason, json, ...options }: Retry) => {
        const target = targetFrom(argument, options);
        const { attempt } = options;
        return session.use(async (client) => {
          const name = asJobName(target);
          const before = name === undefined || json !== true ? undefined : await loadTask(client, name.task);
          const answer = await client.call('orchestrator', 'retry', {
            ...requestOf(target, reason),
            ...(attempt !== undefined && { attempt }),
            ...((await rewinds(client, target, options)) && { rewind: true }),
          });
          if (json !== true) return print(session, answer, json, ackText(target, answer, 'retry recorded'));
          if (name === undefined || before === undefined)
            session.json({ outcome: 'run_retried', run: target.task, phase: answer.phase });
          else {
            const after = await loadTask(client, name.task);
            const { events } = await client.call('orchestrator', 'history', { id: name.task });
            session.json(retryJson(before, after, name.id, restartedSince(events, before.version)));
          }
          return undefined;
        });
      }),
    `${commandPath(parent)} retry ${TASK}`,
    `${commandPath(parent)} retry ${JOB}`,
  );
};

type Fork = { readonly version: number; readonly id?: TaskId; readonly json?: true };

export const addFork = (parent: Command, session: Session): void => {
  withExample(
    parent
      .command('fork')
      .description('start a new task from a version of another one, keeping its results up to that version')
      .argument('<task>', 'task ID', as(TaskId))
      .requiredOption(
        '--version <number>',
        'version to fork from, as numbered by `task watch`',
        wholeNumber(VERSION_MAX),
      )
      .option('--id <id>', 'ID of the new task (default: generated)', as(TaskId))
      .option('--json', 'print the API response as JSON')
      .action((origin: TaskId, { version, id, json }: Fork) =>
        session.use(async (client) => {
          const named = id !== undefined && { id };
          const answer = await client.call('orchestrator', 'fork', { task: origin, version, ...named });
          const text = `task ${answer.id} is ${answer.phase}, forked from version ${String(version)} of ${origin}`;
          return print(session, answer, json, text);
        }),
      ),
    `${commandPath(parent)} fork ${TASK} --version 12`,
  );
};
