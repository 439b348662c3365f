import { jobOf } from '@holdpoint/contracts/values/ids';
import type { Lock } from '@holdpoint/contracts/workflow/workflow';
import type { Registry, LockHolder, LockWaiter } from './state.ts';

/**
 * Limit for holders and waiting jobs together, because the registry is loaded and stored as a whole. A
 * rejected job asks again.
 */
export const JOBS_MAX = 10_000;

/** Limit for the list in a notification: people read the first few. */
const WAITING_FOR_MAX = 100;

export const isFull = ({ held, waiting }: Registry): boolean => held.length + waiting.length >= JOBS_MAX;

/** One lock per key. Both modes of a key make it exclusive. */
export const onePerKey = (locks: readonly Lock[]): readonly Lock[] => {
  const modes = new Map<string, Lock['mode']>();
  for (const { key, mode } of locks) {
    if (modes.get(key) !== 'exclusive') modes.set(key, mode);
  }
  return [...modes].map(([key, mode]) => ({ key, mode }));
};

/** By submission time, then by id. */
export const isBefore = (one: LockWaiter, other: LockWaiter): boolean => {
  if (one.since !== other.since) return one.since < other.since;
  return one.task === other.task ? one.node < other.node : one.task < other.task;
};

export const insertByAge = (waiting: readonly LockWaiter[], job: LockWaiter): readonly LockWaiter[] => {
  const at = waiting.findIndex((each) => isBefore(job, each));
  return waiting.toSpliced(at < 0 ? waiting.length : at, 0, job);
};

/** The claimed keys. A map, because a key may be any text. */
type Claims = Map<string, Lock['mode']>;

const areFree = (claims: Claims, locks: readonly Lock[]): boolean =>
  locks.every(({ key, mode }) => {
    const claimed = claims.get(key);
    return claimed === undefined || (claimed === 'shared' && mode === 'shared');
  });

const claim = (claims: Claims, locks: readonly Lock[]): void => {
  for (const { key, mode } of locks) {
    if (claims.get(key) !== 'exclusive') claims.set(key, mode);
  }
};

/**
 * The jobs that can be granted now. A key that an earlier job waits for counts as taken. Otherwise a stream
 * of small requests would starve a large one.
 */
export const grantable = (
  held: readonly LockHolder[],
  waiting: readonly LockWaiter[],
): readonly LockWaiter[] => {
  const claims: Claims = new Map();
  for (const { locks } of held) claim(claims, locks);
  return waiting.filter(({ locks }) => {
    const free = areFree(claims, locks);
    claim(claims, locks);
    return free;
  });
};

const collide = (one: readonly Lock[], other: readonly Lock[]): boolean =>
  one.some(({ key, mode }) =>
    other.some((each) => each.key === key && (each.mode === 'exclusive' || mode === 'exclusive')),
  );

/** The jobs before this one: holders, then earlier waiting jobs, with a conflicting lock. */
export const waitingForOf = ({ held, waiting }: Registry, job: LockWaiter): readonly string[] => {
  const behind: string[] = [];
  for (const each of [...held, ...waiting.filter((other) => isBefore(other, job))]) {
    if (behind.length === WAITING_FOR_MAX) break;
    if (collide(each.locks, job.locks)) behind.push(jobOf(each.task, each.node));
  }
  return behind;
};
