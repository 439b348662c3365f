import type { RegistryEvent, RegistryRequest } from '@holdpoint/contracts/task/registry';
import type { RepositoryId } from '@holdpoint/contracts/values/ids';
import type { Decider, TimerFired } from '@holdpoint/runtime/decider';
import { decision } from '@holdpoint/runtime/decider';
import { acquire, release, remind } from './acquire.ts';
import { type DecisionBuilder, createDecisionBuilder } from './decision-builder.ts';
import { evolve } from './evolve.ts';
import { absent, type RegistryState } from './state.ts';
import { removeExpiredWatches, reportArtifacts, requireArtifacts } from './watch.ts';

/**
 * The registry of a repository: its locks, and the artifacts of its tasks. One aggregate decides on both,
 * because its answers concern several tasks: whether all locks of a job are free, whose turn it is, and
 * whether no task makes an artifact. Tasks are decided in parallel, so none of them can answer that. One
 * aggregate per lock would not do either: a job takes all of its locks or none, and two jobs with half of
 * them each would deadlock. Repositories share nothing, so each has its own registry. Messages may be lost,
 * repeated or reordered. So a task asks until it has a reply, each reply gives the current state, and holders
 * of locks are reminded until they release.
 */
export type RegistryMessage =
  | { readonly kind: 'registry'; readonly id: RepositoryId; readonly request: RegistryRequest }
  | TimerFired;

const REMINDER_TIMER = 'held';

const handleRequest = (builder: DecisionBuilder, request: RegistryRequest): void => {
  switch (request.kind) {
    case 'acquire':
      return acquire(builder, request);
    case 'release':
      return release(builder, request);
    case 'report':
      return reportArtifacts(builder, request);
    case 'require':
      return requireArtifacts(builder, request);
  }
};

/** Durations of the registry decider, in milliseconds. Tests shorten them. */
export type RegistryTiming = {
  /** Holders of locks are reminded this often. A lock whose release was lost blocks others for about this long. */
  readonly reminderMs: number;
};

export const REGISTRY_TIMING: RegistryTiming = { reminderMs: 20_000 };

/** The only writer of a repository's locks and artifacts. */
export const createRegistryDecider = ({ reminderMs }: RegistryTiming = REGISTRY_TIMING): Decider<
  RegistryState,
  RegistryMessage,
  RegistryEvent
> => {
  /** The reminder exists exactly as long as a job holds a lock. */
  const keepReminder = (builder: DecisionBuilder, wasSet: boolean): void => {
    const isNeeded = builder.registry().held.length > 0;
    if (isNeeded && !wasSet) builder.timer({ set: REMINDER_TIMER, dueAt: builder.now + reminderMs });
    else if (!isNeeded && wasSet) builder.timer({ clear: REMINDER_TIMER });
  };

  return {
    initial: absent,
    evolve,
    decide: (state, message, { now }) => {
      if (message.kind === 'registry') {
        const builder = createDecisionBuilder(state, message.id, now);
        const wasSet = builder.registry().held.length > 0;
        handleRequest(builder, message.request);
        keepReminder(builder, wasSet);
        return builder.done();
      }
      if (state.phase === 'absent' || message.name !== REMINDER_TIMER) return decision({});
      const builder = createDecisionBuilder(state, state.id, now);
      removeExpiredWatches(builder);
      remind(builder);
      // The fired timer no longer exists.
      keepReminder(builder, false);
      return builder.done();
    },
  };
};

export const registryDecider = createRegistryDecider();
