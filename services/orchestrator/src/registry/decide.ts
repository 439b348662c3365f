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
 * The board of a repository: who holds which lock there, and who makes which artifact.
 *
 * It is one aggregate because its answers are about several tasks at once. Whether all the locks of a job are free, whose
 * turn it is, and whether nobody at all makes an artifact can be said only by one who knows every holder, every waiter and
 * every maker, and only while nothing of that changes. Tasks are aggregates of their own, decided one by one and possibly
 * at the same time, so none of them can. A lock per key would not do either: a job takes all of its locks or none, and two
 * jobs that each get half wait for each other for ever.
 *
 * It is one per repository and not one for all, because repositories share nothing: boards need not take turns.
 *
 * Messages may be lost, doubled and overtaken on the way. So a task asks until it is answered, and is answered each time
 * with what stands; and who holds locks is told so again and again, until who does not need them any more has said so.
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
  /** The timer exists exactly as long as a job holds a lock. */
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
      // A timer that fired is gone.
      keepReminder(builder, false);
      return builder.done();
    },
  };
};

export const registryDecider = createRegistryDecider();
