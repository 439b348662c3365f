import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { createEffectDecider } from '@holdpoint/executor/effect/decide';
import type { EffectState } from '@holdpoint/executor/effect/state';
import { LEASE_MS } from '@holdpoint/executor/effect/timing';
import { startHousekeeping } from '../simulation/services/periodic-jobs.ts';
import { createWorld, type World } from '../simulation/world.ts';
import { watchEffects } from '../invariants/effect-history.ts';
import { watchTarget } from '../invariants/effect-target.ts';
import { createBackups } from './backups.ts';
import { type Claimants, startClaimants } from './claimants.ts';
import { type Executors, startExecutors } from './executors.ts';
import { createWork } from './function.ts';
import { ordersFor, usesOf, verify } from './orders.ts';
import { startPeople } from './people.ts';
import type { Python } from './python-claimants.ts';
import type { Fault, Story } from './story.ts';
import { createTarget } from './target.ts';

export type Told = {
  readonly steps: number;
  readonly violations: readonly string[];
  /** Applications that a target of its class may not have had. */
  readonly doubled: number;
  /** Calls of the function without a grant for exactly its arguments. */
  readonly ungated: number;
  readonly ended: EffectState['status'];
  /** Questions to a person. */
  readonly asked: number;
  readonly begun: number;
};

/** Long after every lease, resend and answer of a person. */
const END_MS = 2_700_000;
const FROZEN_MS = 2.5 * LEASE_MS;
const AWAY_MS = 3_000;
const CUT_MS = 45_000;
/** Faults strike where their rate is above this, so no fault strikes by itself. */
const NO_WEATHER = { severity: 1e-12, calmAt: Infinity, without: new Set<string>() };

const turn = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

const CLASSES: readonly EffectClass[] = ['keyed', 'fenced', 'probeable', 'idempotent', 'opaque'];
const decider = createEffectDecider({
  verify,
  classOf: ({ uses }) =>
    CLASSES.find((each) => usesOf('executor', each) === uses || usesOf('claimant', each) === uses),
});

type Parts = {
  readonly world: World;
  readonly executors: Executors;
  readonly claimants: Claimants | undefined;
  readonly backups: ReturnType<typeof createBackups>;
};

const strike = ({ world, executors, claimants, backups }: Parts, fault: Fault, at: number): void => {
  const { processes, nodes } = executors;
  switch (fault) {
    case 'executor 1 dies':
      return processes[0]?.crash();
    case 'executor 2 dies':
      return processes[1]?.crash();
    case 'executor 1 freezes past the lease':
      return nodes[0]?.freeze(FROZEN_MS);
    case 'executor 2 freezes past the lease':
      return nodes[1]?.freeze(FROZEN_MS);
    case 'everything dies':
      processes.forEach(({ crash }) => crash());
      return claimants?.all.forEach(({ crash }) => crash());
    case 'the database goes away':
      return world.databases.executor.goAway(AWAY_MS);
    case 'the database is restored as it was at first':
      return backups.restore(0, executors);
    case 'the database is restored as it was half-way':
      return backups.restore(Math.floor(at / 2), executors);
    case 'the database is restored as it was just before':
      return backups.restore(Math.max(0, at - 8), executors);
    case 'claimant 1 dies':
      return claimants?.all[0]?.crash();
    case 'claimant 2 dies':
      return claimants?.all[1]?.crash();
    case 'claimant 1 freezes past the lease':
      return claimants?.all[0]?.freeze(FROZEN_MS);
    case 'claimant 2 freezes past the lease':
      return claimants?.all[1]?.freeze(FROZEN_MS);
    case 'requests of claimants are lost':
      return claimants?.cut('requests', CUT_MS);
    case 'answers to claimants are lost':
      return claimants?.cut('answers', CUT_MS);
    case 'requests of claimants come twice, the second time late':
      return claimants?.double(CUT_MS);
  }
};

const FINAL: ReadonlySet<EffectState['status']> = new Set([
  'applied',
  'failed_clean',
  'not_applied',
  'cancelled',
]);

/** Tells one story to its end, and judges it. */
export const tell = async (story: Story, python?: Python): Promise<Told> => {
  const { carrier, effectClass, behaviour, seed, points } = story;
  const world = createWorld({ seed, traced: false, ...NO_WEATHER });
  const { timeline, watchers } = world;
  const violations: string[] = [];
  const orders = ordersFor(carrier, effectClass);
  const { approved } = orders;
  const target = createTarget(timeline, effectClass);
  const work = createWork(timeline, target, behaviour);
  const isRestored = points.some(({ fault }) => fault.startsWith('the database is restored'));
  const backups = createBackups(world, isRestored);
  const executors = startExecutors(world, approved, decider, work);
  const none = { orchestrator: [], approvals: [], recovery: [] };
  startHousekeeping(world, { ...none, executor: executors.nodes });
  const people = startPeople(world, orders, target);
  const claimants =
    carrier === 'executor' ? undefined : startClaimants(world, executors, story, work, python);

  const expect = (what: string, holds: boolean, _task: string, detail: () => string): void => {
    if (!holds) violations.push(`${what}: ${detail()}`);
  };
  const history = watchEffects(expect);
  const seen = watchTarget(expect);
  let applications = 0;
  const watchTargetNow = (): void => {
    for (const { effect, epoch } of target.applied.slice(applications)) seen.ofApplication({ effect, epoch });
    applications = target.applied.length;
  };
  // A restored ledger has less than before, so its history is judged by what the target saw.
  if (!isRestored)
    watchers.committed.push((_service, write) => {
      world.books.executor.add(write);
      watchTargetNow();
      for (const { aggregate, body } of write.events) {
        const event = JSON.parse(body) as EffectEvent;
        history.ofEffect({ aggregate, event });
        seen.ofEffect({ aggregate, event });
      }
    });

  const parts = { world, executors, claimants, backups };
  const due = [...points];
  for (;;) {
    backups.take(timeline.steps());
    while (due[0] !== undefined && due[0].at <= timeline.steps()) {
      const { fault, at } = due.shift() ?? { fault: 'everything dies', at: 0 };
      strike(parts, fault, at);
    }
    if (!timeline.step(END_MS)) break;
    if (timeline.isStirred()) await turn();
    await python?.settled();
    if (!isRestored) watchTargetNow();
    const found = world.checker.violation();
    if (found !== undefined && !isRestored) violations.push(`${found.invariant}: ${found.detail}`);
    if (violations.length > 0) break;
  }
  await python?.endAll();

  const stored = (world.databases.executor.tables.events.get(approved.id) ?? []) as readonly EffectEvent[];
  const state = stored.reduce<EffectState>((before, event) => decider.evolve(before, event), decider.initial);
  const doubled = effectClass === 'idempotent' ? 0 : Math.max(0, target.applied.length - 1);
  const ungated = work.begun.filter(
    ({ order }) =>
      order.digest !== approved.digest ||
      canonicalJson(order.effect.args) !== canonicalJson(approved.effect.args) ||
      verify(order.grant ?? '')?.sub !== approved.id,
  ).length;
  const judge = (what: string, holds: boolean, detail = ''): void => expect(what, holds, '', () => detail);
  if (violations.length === 0) {
    const { timers, outbox } = world.databases.executor.tables;
    // A claimant looks after its leases as long as it lives.
    const isQuiet = timeline.isEmpty() || carrier === 'claimant of the SDK';
    judge('the system comes to rest', isQuiet && timers.size + outbox.size === 0);
    judge('a forged beat or end is refused', (claimants?.forged() ?? 0) === 0);
    const told = people.told();
    // A task that ended before the restore sends no question. The ledger keeps the doubt and its reason.
    const isLeft = isRestored && told === 'applied' && state.status === 'in_doubt' && state.next === 'person';
    // A forged order may be the latest that the ledger refused; nothing happened by then.
    const isForged = state.status === 'refused' && (told === 'not_applied' || told === 'failed_clean');
    const isOdd = isLeft || isForged;
    const detail = JSON.stringify(state).slice(0, 600);
    judge('every effect ends', isOdd || FINAL.has(state.status), detail);
    judge('the task knows the outcome', isOdd || told === state.status, `${String(told)}, ${state.status}`);
    judge(
      'the ledger says applied exactly when the target was changed',
      (state.status === 'applied' || isLeft) === target.applied.length > 0,
      `${state.status}, applied ${String(target.applied.length)} times`,
    );
    const epochs = work.begun.map(({ epoch }) => epoch);
    if (!isRestored)
      judge('no start is carried out twice', new Set(epochs).size === epochs.length, epochs.join(' '));
    if (!isRestored) history.atEnd(approved.id);
  }
  return {
    steps: timeline.steps(),
    violations,
    doubled,
    ungated,
    ended: state.status,
    asked: people.asked(),
    begun: work.begun.length,
  };
};
