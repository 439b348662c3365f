import { isGivingUp } from '@holdpoint/contracts/workflow/failure-class';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { AttemptRecorded, FailureAssessed, RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import type { AttemptView, StuckJob } from '@holdpoint/contracts/recovery/views';
import type { WorkLocation } from '@holdpoint/contracts/recovery/commands';
import type { CircuitEvent } from '@holdpoint/contracts/recovery/circuit';
import { unknownEvent } from '@holdpoint/runtime/decider';

/** The attempts of one task, and its stuck jobs. */
export type History = {
  /** Oldest first; older attempts are only in the events. */
  readonly attempts: readonly Attempt[];
  /** Absent in states of earlier versions. */
  readonly stuck?: Readonly<Record<NodeId, Stuck>>;
};

export type Attempt = FailureAssessed | AttemptRecorded;

export type Stuck = { readonly attempt: number };

export const EMPTY_HISTORY: History = { attempts: [] };

/** The attempt with which the job got stuck, while it is stuck. */
export const stuckAt = ({ stuck }: History, node: NodeId): number | undefined => stuck?.[node]?.attempt;

/** Attempts that decisions and reports look at. */
const ATTEMPTS_KEPT = 1_000;

const without = (stuck: History['stuck'], node: NodeId): NonNullable<History['stuck']> =>
  Object.fromEntries(Object.entries(stuck ?? {}).filter(([id]) => id !== node));

export const isStuckBy = ({ verdict }: FailureAssessed): boolean => isGivingUp(verdict);

/** A late message about an attempt before the one that got the job stuck changes nothing. */
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

/** A new assessment of the same attempt replaces the earlier one, which could not be followed. */
const attemptsAfter = (attempts: readonly Attempt[], event: Attempt): readonly Attempt[] => {
  const place = attempts.findLastIndex(
    ({ type, node, attempt }) => type === 'assessed' && node === event.node && attempt === event.attempt,
  );
  return event.type === 'attempt_recorded' || place < 0 ? [...attempts, event] : attempts.with(place, event);
};

/** The events of this aggregate. */
export type AttemptsEvent = Exclude<RecoveryEvent, CircuitEvent>;

export const evolveHistory = (history: History, event: AttemptsEvent): History => {
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
    default:
      return unknownEvent(event);
  }
};

export const isFailure = (attempt: Attempt): attempt is FailureAssessed => attempt.type === 'assessed';

/** The assessment of a failed attempt, if any. */
export const failureOf = ({ attempts }: History, node: NodeId, number: number): FailureAssessed | undefined =>
  attempts.filter(isFailure).find((each) => each.node === node && each.attempt === number);

/** Failures since the last success, by attempt number: messages may arrive out of order. */
export const failuresSinceSuccess = ({ attempts }: History, node: NodeId): readonly FailureAssessed[] => {
  const ofJob = attempts.filter((each) => each.node === node);
  const success = Math.max(0, ...ofJob.flatMap((each) => (isFailure(each) ? [] : [each.attempt])));
  return ofJob.filter(isFailure).filter(({ attempt }) => attempt > success);
};

/** The commit to roll back to: the last one that passed a check, or else the base of the worktree. */
export const goodCommit = ({ attempts }: History, place: WorkLocation | undefined): string | undefined => {
  const passed = attempts.findLast(
    (each): each is AttemptRecorded =>
      !isFailure(each) && each.good !== undefined && each.worktree === place?.worktree,
  );
  return passed?.good ?? place?.base;
};

/** Number of the current session: one more than the verdicts to continue. */
export const sessionOf = (history: History, node: NodeId): number =>
  1 +
  history.attempts.filter((each) => each.node === node && isFailure(each) && each.verdict.kind === 'continue')
    .length;

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

/** A stuck job, as lists show it. */
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

/** The stuck jobs of the task. */
export const stuckJobs = (history: History): StuckJob[] =>
  Object.entries(history.stuck ?? {}).flatMap(([node, { attempt }]) => {
    const last = failureOf(history, node as NodeId, attempt);
    return last === undefined ? [] : [stuckJobOf(history, last)];
  });

/** The latest report about a job and whether it is still stuck; undefined when it never was. */
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
