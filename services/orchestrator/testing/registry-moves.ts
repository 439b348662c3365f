import type { ArtifactReport } from '@holdpoint/contracts/task/registry';
import type { Lock } from '@holdpoint/contracts/workflow/workflow';
import type { Act } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import type { RegistryMessage } from '../src/registry/decide.ts';
import type { Registry } from '../src/registry/state.ts';
import { acquire, artifact, MINUTE_MS, NOW, release, reminder, report, require } from './registry.ts';

const TASKS = ['t1', 't2', 't3', 't4'];
const jobName = fc
  .record({
    task: fc.constantFrom(...TASKS),
    node: fc.constantFrom('a', 'b'),
    // Mostly the first, so that requested locks are released as well.
    attempt: fc.constantFrom(1, 1, 1, 2, 3),
  })
  .map(({ task, node, attempt }) => `${task}/${node}/${String(attempt)}`);

/** Names of built-in object properties are ordinary names. */
const KEYS = ['k', 'l', 'm', '__proto__', 'constructor'];
const keys = fc.uniqueArray(fc.constantFrom(...KEYS.flatMap((key) => [key, `+${key}`])), {
  minLength: 1,
  maxLength: 4,
});

/** All jobs of a task have its submission time. Some tasks share one. */
const sinceOf = (name: string): number => NOW - (Number(name.charAt(1)) % 3) * 1_000;

const lockMessage: fc.Arbitrary<RegistryMessage> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .record({ name: jobName, keys })
      .map(({ name, keys }) => acquire(name, sinceOf(name), ...keys)),
  },
  { weight: 3, arbitrary: jobName.map(release) },
  { weight: 1, arbitrary: fc.constant(reminder) },
);

const LABELS = ['x', 'y', 'z', '__proto__'];
const payload = fc.option(
  fc.oneof(
    fc.integer({ min: 0, max: 3 }).map((text) => ({ text })),
    // Both sides of the payload limit.
    fc.constantFrom(60 * 1_024, 70 * 1_024).map((length) => ({ text: 'x'.repeat(length) })),
  ),
  { nil: undefined },
);
const reported: fc.Arbitrary<ArtifactReport> = fc
  .record({
    state: fc.constantFrom('pending' as const, 'available' as const, 'failed' as const),
    label: fc.constantFrom(...LABELS),
    node: fc.constantFrom('a', 'b'),
    payload,
  })
  .map(({ state, label, node, payload }) => artifact(state, label, { node, ...(payload && { payload }) }));

const artifactMessage: fc.Arbitrary<RegistryMessage> = fc.oneof(
  fc
    .record({
      task: fc.constantFrom(...TASKS),
      serial: fc.integer({ min: 1, max: 6 }),
      artifacts: fc.array(reported, { maxLength: 4 }),
    })
    .map(({ task, serial, artifacts }) => report(task, serial, ...artifacts)),
  fc
    .record({ name: jobName, labels: fc.array(fc.constantFrom(...LABELS), { minLength: 1, maxLength: 4 }) })
    .map(({ name, labels }) => require(name, ...labels)),
);

const otherTimer: fc.Arbitrary<RegistryMessage> = fc.constant({ kind: 'timer', name: 'other', data: null });

// Clocks may step back, and some watches expire within a run.
const moment = fc.integer({ min: 0, max: 40 }).map((minutes) => NOW + minutes * MINUTE_MS);

const actsOf = (message: fc.Arbitrary<RegistryMessage>): fc.Arbitrary<readonly Act<RegistryMessage>[]> =>
  fc.array(fc.record({ message, now: moment }), { maxLength: 40, size: 'max' });

/** Lock messages in any order, at any time. */
export const lockActs = actsOf(lockMessage);
export const artifactActs = actsOf(artifactMessage);
export const boardActs = actsOf(
  fc.oneof(
    { weight: 9, arbitrary: lockMessage },
    { weight: 9, arbitrary: artifactMessage },
    { weight: 1, arbitrary: otherTimer },
  ),
);

/** Jobs that request locks once, for runs that continue until all were granted. */
export const wants = fc.uniqueArray(
  fc
    .record({ name: fc.integer({ min: 1, max: 12 }), since: fc.integer({ min: 0, max: 4 }), keys })
    .map(({ name, since, keys }) => ({ name: `t${String(name)}/n`, since: NOW + since, keys })),
  { selector: ({ name }) => name, maxLength: 12 },
);

const collide = (one: readonly Lock[], other: readonly Lock[]): boolean =>
  one.some(({ key, mode }) =>
    other.some((each) => each.key === key && !(each.mode === 'shared' && mode === 'shared')),
  );

/** Pairs of holders with conflicting locks. */
export const collisions = ({ held }: Registry): readonly string[] =>
  held.flatMap((one, index) =>
    held
      .slice(index + 1)
      .filter((other) => collide(one.locks, other.locks))
      .map((other) => `${one.task}/${one.node} and ${other.task}/${other.node}`),
  );

/** Waiting jobs that neither a holder nor an earlier waiting job blocks. */
export const idleWaiters = ({ held, waiting }: Registry): readonly string[] =>
  waiting
    .filter(
      (job, index) => ![...held, ...waiting.slice(0, index)].some(({ locks }) => collide(locks, job.locks)),
    )
    .map(({ task, node }) => `${task}/${node}`);

/** Waiting jobs whose key was granted to a later job. */
export const overtaken = (
  { waiting }: Registry,
  {
    task,
    node,
    locks,
    since,
  }: {
    readonly task: string;
    readonly node: string;
    readonly locks: readonly Lock[];
    readonly since: number;
  },
): readonly string[] =>
  waiting
    .filter((each) => collide(each.locks, locks))
    .filter((each) => {
      const one = [each.since, each.task, each.node] as const;
      const other = [since, task, node] as const;
      const differs = one.findIndex((part, index) => part !== other[index]);
      return differs >= 0 && (one[differs] ?? 0) < (other[differs] ?? 0);
    })
    .map((each) => `${each.task}/${each.node}`);
