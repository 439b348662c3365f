import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import { isGivingUp } from '@holdpoint/contracts/workflow/failure-class';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { AttemptRecorded, FailureAssessed, RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import type { AttemptView, StuckJob } from '@holdpoint/contracts/recovery/views';
import type { WorkLocation } from '@holdpoint/contracts/recovery/commands';
import type { CircuitEvent } from '@holdpoint/contracts/recovery/circuit';

/** What has become of the attempts of one task, and which of its jobs wait for a person. */
export type History = {
  /** Oldest first; the events have those that are kept no more. */
  readonly attempts: readonly Attempt[];
  /** Left out by what was stored before there was a list of them. */
  readonly stuck?: Readonly<Record<NodeId, Stuck>>;
};

export type Attempt = FailureAssessed | AttemptRecorded;

/** The attempt that a job was given up with. */
export type Stuck = { readonly attempt: number };

export const EMPTY_HISTORY: History = { attempts: [] };

/** The attempt that a job was given up with, while it is stuck. */
export const stuckAt = ({ stuck }: History, node: NodeId): number | undefined => stuck?.[node]?.attempt;

/** As many as decisions and reports look at; what a task has beyond that was long ago. */
const ATTEMPTS_KEPT = 1_000;

const without = (stuck: History['stuck'], node: NodeId): NonNullable<History['stuck']> =>
  Object.fromEntries(Object.entries(stuck ?? {}).filter(([id]) => id !== node));

export const isStuckBy = ({ verdict }: FailureAssessed): boolean => isGivingUp(verdict);

/** News of an attempt before the one that a job was given up with comes late: it changes nothing of that. */
const isLate = (history: History, node: NodeId, attempt: number): boolean =>
  attempt < (stuckAt(history, node) ?? 0);

const stuckAfter = (
  history: History,
  event: FailureAssessed | AttemptRecorded,
): NonNullable<History['stuck']> => {
  const { node, attempt } = event;
  if (isLate(history, node, attempt)) return history.stuck ?? {};
  const others = without(history.stuck, node);
  return event.type === 'assessed' && isStuckBy(event) ? { ...others, [node]: { attempt } } : others;
};

/** What was said of a failure may turn out not to be possible: then something else is said of it, in its place. */
const attemptsAfter = (attempts: readonly Attempt[], event: Attempt): readonly Attempt[] => {
  const place = attempts.findLastIndex(
    ({ type, node, attempt }) => type === 'assessed' && node === event.node && attempt === event.attempt,
  );
  return event.type === 'attempt_recorded' || place < 0 ? [...attempts, event] : attempts.with(place, event);
};

export const evolveHistory = (history: History, event: Exclude<RecoveryEvent, CircuitEvent>): History => {
  const { attempts, stuck } = history;
  switch (event.type) {
    case 'assessed':
    case 'attempt_recorded':
      return {
        attempts: attemptsAfter(attempts, event).slice(-ATTEMPTS_KEPT),
        stuck: stuckAfter(history, event),
      };
    case 'job_unstuck':
      return { attempts, stuck: without(stuck, event.node) };
  }
};

export const isFailure = (attempt: Attempt): attempt is FailureAssessed => attempt.type === 'assessed';

/** What was said of an attempt that had failed, if it was ever put to recovery. */
export const failureOf = ({ attempts }: History, node: NodeId, number: number): FailureAssessed | undefined =>
  attempts.filter(isFailure).find((each) => each.node === node && each.attempt === number);

/** What has failed of a job since it last succeeded, as it was heard: a success that is heard late is not the last thing that was. */
export const failuresSinceSuccess = ({ attempts }: History, node: NodeId): readonly FailureAssessed[] => {
  const ofJob = attempts.filter((each) => each.node === node);
  const success = Math.max(0, ...ofJob.flatMap((each) => (isFailure(each) ? [] : [each.attempt])));
  return ofJob.filter(isFailure).filter(({ attempt }) => attempt > success);
};

/** The commit that a worktree may go back to: what a check has passed on last, else the one that it began from. */
export const goodCommit = ({ attempts }: History, place: WorkLocation | undefined): string | undefined => {
  const passed = attempts.findLast(
    (each): each is AttemptRecorded =>
      !isFailure(each) && each.good !== undefined && each.worktree === place?.worktree,
  );
  return passed?.good ?? place?.base;
};

/** How often a job has gone on in a new session, and so the number of the one that it is in. */
export const sessionOf = (history: History, node: NodeId): number =>
  1 +
  history.attempts.filter((each) => each.node === node && isFailure(each) && each.verdict.kind === 'continue')
    .length;

/** One line, for lists and hints. */
export const firstLine = ({ message }: Pick<ErrorBody, 'message'>): string =>
  message.split('\n', 1)[0]?.trim() ?? '';

export const attemptView = (attempt: Attempt): AttemptView => {
  const { task, node, attempt: number, at, session = 1, report } = attempt;
  const about = {
    task,
    node,
    attempt: number,
    session,
    ...(at !== undefined && { at }),
    ...(report?.approach !== undefined && { approach: report.approach }),
    ...(report?.files && { files: report.files }),
    ...(report?.usage && { usage: report.usage }),
  };
  if (!isFailure(attempt))
    return { ...about, outcome: 'succeeded', ...(attempt.good !== undefined && { good: attempt.good }) };
  const { error, verdict, fingerprint } = attempt;
  return {
    ...about,
    outcome: verdict.class === 'EFFECT_IN_DOUBT' ? 'in_doubt' : 'failed',
    error,
    class: verdict.class,
    verdict,
    ...(fingerprint !== undefined && { fingerprint }),
  };
};

/** A job that was given up, as lists show it. */
export const stuckJobOf = ({ attempts }: History, last: FailureAssessed): StuckJob => {
  const { task, node, attempt, verdict, at, workflow, goal } = last;
  return {
    task,
    node,
    attempt,
    class: verdict.class,
    reason: verdict.reason,
    since: at ?? 0,
    attempts: attempts.filter((each) => each.node === node).length,
    ...(workflow !== undefined && { workflow }),
    ...(goal !== undefined && { goal }),
  };
};

/** The jobs of the task that wait for a person. */
export const stuckJobs = (history: History): StuckJob[] =>
  Object.entries(history.stuck ?? {}).flatMap(([node, { attempt }]) => {
    const last = failureOf(history, node as NodeId, attempt);
    return last === undefined ? [] : [stuckJobOf(history, last)];
  });

/** The latest report on a job, and whether it is still stuck; undefined when it was never given up. */
export const reportedJob = (
  history: History,
  node: NodeId,
): { readonly job: StuckJob; readonly stuck: boolean; readonly report: string } | undefined => {
  const last = history.attempts.filter(isFailure).findLast((each) => each.node === node && isStuckBy(each));
  if (last === undefined) return undefined;
  return {
    job: stuckJobOf(history, last),
    stuck: stuckAt(history, node) === last.attempt,
    report: last.verdict.report ?? last.verdict.reason,
  };
};
