import type { RegistryRequest, Job } from '@holdpoint/contracts/task/registry';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { DecisionBuilder } from './decision-builder.ts';
import { waitingForOf, insertByAge, isFull, onePerKey, grantable } from './locks.ts';
import { type Registry, type LockHolder, isSameNode, jobIn, type LockWaiter } from './state.ts';

type Acquire = Extract<RegistryRequest, { readonly kind: 'acquire' }>;
type Release = Extract<RegistryRequest, { readonly kind: 'release' }>;

const entryOf = ({ held, waiting }: Registry, job: Job): LockHolder | LockWaiter | undefined =>
  held.find((each) => isSameNode(each, job)) ?? waiting.find((each) => isSameNode(each, job));

const notifyLocks = (
  builder: DecisionBuilder,
  job: Job,
  acquired: boolean,
  waitingFor: readonly string[],
): void =>
  builder.notify(job.task, {
    kind: 'locks',
    ...jobIn(job),
    repository: builder.registry().id,
    acquired,
    waitingFor: [...waitingFor],
  });

const notifyAcquired = (builder: DecisionBuilder, job: Job): void => notifyLocks(builder, job, true, []);

/** Grants the locks of every waiting job that nothing blocks any more. */
const grantFreeLocks = (builder: DecisionBuilder, waiting: readonly LockWaiter[]): readonly LockWaiter[] => {
  const served = grantable(builder.registry().held, waiting);
  for (const job of served) builder.emit({ type: 'lock_acquired', ...jobIn(job), locks: [...job.locks] });
  return served;
};

/** Adds the job to the queue and grants what is free. The job waits if it cannot be granted yet. */
const queueOrGrant = (builder: DecisionBuilder, job: LockWaiter): void => {
  const full = isFull(builder.registry());
  const { waiting } = builder.registry();
  const served = grantFreeLocks(builder, full ? waiting : insertByAge(waiting, job));
  if (!full && !served.includes(job)) {
    builder.emit({ type: 'lock_queued', ...jobIn(job), locks: [...job.locks], since: job.since });
  }
  for (const each of served) if (each !== job) notifyAcquired(builder, each);
};

export const acquire = (builder: DecisionBuilder, { since, locks, ...asked }: Acquire): void => {
  const job: LockWaiter = { ...jobIn(asked), locks: onePerKey(locks), since };
  const known = entryOf(builder.registry(), job);
  if (known === undefined || known.attempt < job.attempt) {
    if (known !== undefined) builder.emit({ type: 'lock_released', ...jobIn(known) });
    queueOrGrant(builder, job);
  }
  const place = entryOf(builder.registry(), job);
  if (place === undefined) notifyLocks(builder, job, false, waitingForOf(builder.registry(), job));
  // The request is late: a later attempt has replaced this one.
  else if (place.attempt > job.attempt) notifyLocks(builder, job, false, [jobOf(job.task, job.node)]);
  else if ('since' in place) notifyLocks(builder, job, false, waitingForOf(builder.registry(), place));
  else notifyAcquired(builder, job);
};

/** A late release of an earlier attempt must not release the locks of the current one. */
export const release = (builder: DecisionBuilder, job: Release): void => {
  const known = entryOf(builder.registry(), job);
  if (known === undefined || known.attempt > job.attempt) return;
  builder.emit({ type: 'lock_released', ...jobIn(known) });
  for (const each of grantFreeLocks(builder, builder.registry().waiting)) notifyAcquired(builder, each);
};

/**
 * Reminds every holder. A release may have been lost or overtaken by its request; a holder that does not need
 * its locks releases them again. Waiting jobs ask by themselves.
 */
export const remind = (builder: DecisionBuilder): void => {
  for (const job of builder.registry().held) notifyAcquired(builder, job);
};
