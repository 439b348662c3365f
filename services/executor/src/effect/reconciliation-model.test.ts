import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Instance, nextStep } from './reconciliation.ts';

/** The state that a backup contains. */
type Data = {
  readonly generation: number;
  readonly openedFor: number;
  readonly instances: Readonly<Record<string, Instance>>;
  /** Started effects, and effects in doubt: neither may start again. */
  readonly taken: readonly string[];
};
type Executor = {
  readonly journal: readonly { readonly position: number; readonly effect: string }[];
  readonly seen: Readonly<Record<string, number>>;
  /** In memory alone: how far it has come, and the generation that it has compared. */
  readonly position: number;
  readonly trusts: number | undefined;
};
type World = {
  incarnation: number;
  data: Data;
  backup: Data | undefined;
  readonly executors: Record<string, Executor>;
  /** How often each effect really began. */
  readonly began: Map<string, number>;
};

const NAMES = ['a', 'b', 'c'] as const;
type Name = (typeof NAMES)[number];
type Deed = 'backup' | 'restore' | 'restart server' | 'all executors look';
type Act =
  | { readonly kind: 'start'; readonly by: Name; readonly effect: string; readonly dies: boolean }
  | { readonly kind: 'look'; readonly by: Name }
  | { readonly kind: 'restart'; readonly by: Name }
  | { readonly kind: Deed };

const of = (world: World, name: Name): Executor => {
  const executor = world.executors[name];
  if (executor === undefined) throw new Error(`unknown executor ${name}`);
  return executor;
};

/** What the function `pass` asks, and then the claim itself. */
const passes = ({ incarnation, data }: World, name: Name, { trusts, position }: Executor): boolean =>
  data.openedFor === incarnation &&
  data.generation === trusts &&
  Object.values(data.instances).every(({ reconciled, forgotten }) => forgotten || reconciled === trusts) &&
  (data.instances[name]?.position ?? -1) >= position;

const start = (world: World, { by, effect, dies }: Extract<Act, { kind: 'start' }>): void => {
  const executor = of(world, by);
  const { data } = world;
  const row = data.instances[by];
  if (row === undefined || data.taken.includes(effect) || !passes(world, by, executor)) return;
  const position = row.position + 1;
  world.data = {
    ...data,
    taken: [...data.taken, effect],
    instances: { ...data.instances, [by]: { ...row, position } },
  };
  // It may die between the commit and the journal: then nothing began.
  world.executors[by] = dies
    ? { ...executor, position: 0, trusts: undefined }
    : { ...executor, position, journal: [...executor.journal, { position, effect }] };
  if (!dies) world.began.set(effect, (world.began.get(effect) ?? 0) + 1);
};

const positionOf = ({ journal, seen, position }: Executor, name: Name): number =>
  Math.max(position, seen[name] ?? 0, ...journal.map((entry) => entry.position));

type Bring = (executor: Executor, after: number) => readonly string[];
const fromJournal: Bring = ({ journal }, after) =>
  journal.filter(({ position }) => position > after).map(({ effect }) => effect);

/** True when there is a next step at once. */
const look = (world: World, by: Name, bring: Bring): boolean => {
  const executor = of(world, by);
  const { data, incarnation } = world;
  const { generation } = data;
  const own = positionOf(executor, by);
  const step = nextStep(
    {
      generation,
      same: data.openedFor === incarnation,
      lineage: '',
      written: 0n,
      began: 0n,
      instances: new Map(Object.entries(data.instances)),
    },
    { journals: new Map([[by, own]]), seen: new Map(Object.entries(executor.seen)) },
  );
  switch (step.kind) {
    case 'open_generation':
      world.data = { ...data, generation: generation + 1, openedFor: incarnation };
      return true;
    case 'replay': {
      const missing = step.register.map(
        (id) => [id, { position: 0, reconciled: -1, forgotten: false, seen: '', missing: false }] as const,
      );
      const brought = step.journals.flatMap(({ after }) => bring(executor, after));
      world.data = {
        ...data,
        taken: [...new Set([...data.taken, ...brought])],
        instances: {
          ...Object.fromEntries(missing),
          ...data.instances,
          [by]: { position: own, reconciled: generation, forgotten: false, seen: '', missing: false },
        },
      };
      const seen = Object.fromEntries(
        [...Object.entries(data.instances), ...missing].map(([id, { position }]) => [id, position]),
      );
      world.executors[by] = { ...executor, seen: { ...seen, [by]: own }, trusts: undefined };
      return true;
    }
    case 'wait':
      return false;
    case 'open': {
      const seen = Object.fromEntries(
        Object.entries(data.instances).map(([id, { position }]) => [id, position]),
      );
      const position = Math.max(own, seen[by] ?? 0);
      world.executors[by] = { ...executor, seen, position, trusts: generation };
      return false;
    }
  }
};

/** More steps than any executor takes before it has to wait for another. */
const STEPS_MAX = 10;

const settle = (world: World, bring: Bring): void => {
  for (let round = 0; round < 5; round += 1) {
    for (const name of NAMES) {
      let steps = 0;
      while (steps < STEPS_MAX && look(world, name, bring)) steps += 1;
      expect(steps, `${name} comes to an end`).toBeLessThan(STEPS_MAX);
    }
  }
};

const act = (world: World, each: Act, bring: Bring): void => {
  switch (each.kind) {
    case 'start':
      return start(world, each);
    case 'look':
      return void look(world, each.by, bring);
    case 'restart':
      world.executors[each.by] = { ...of(world, each.by), position: 0, trusts: undefined };
      return undefined;
    case 'restart server':
      world.incarnation += 1;
      return undefined;
    case 'backup':
      world.backup = world.data;
      return undefined;
    case 'all executors look':
      return settle(world, bring);
    case 'restore':
      if (world.backup === undefined) return undefined;
      world.data = world.backup;
      world.incarnation += 1;
      return undefined;
  }
};

const by = fc.constantFrom(...NAMES);
const effect = fc.constantFrom('x1', 'x2', 'x3');
const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('start' as const),
        by,
        effect,
        dies: fc.boolean(),
      }),
    },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('look' as const), by }) },
    fc.record({ kind: fc.constant('restart' as const), by }),
    fc.record({ kind: fc.constantFrom('backup' as const, 'restore' as const, 'restart server' as const) }),
  ),
  { maxLength: 60, size: 'max' },
);

const worldAfter = (sequence: readonly Act[], bring: Bring): World => {
  const fresh: Executor = { journal: [], seen: {}, position: 0, trusts: undefined };
  const world: World = {
    incarnation: 1,
    data: { generation: 0, openedFor: 0, instances: {}, taken: [] },
    backup: undefined,
    executors: Object.fromEntries(NAMES.map((name) => [name, fresh])),
    began: new Map(),
  };
  // All executors are registered before the first backup.
  settle(world, bring);
  for (const each of sequence) act(world, each, bring);
  return world;
};
const beganTwice = ({ began }: World): readonly string[] =>
  [...began].filter(([, times]) => times > 1).map(([name]) => name);

test('no effect begins twice after restores, crashes and delays', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      expect(beganTwice(worldAfter(sequence, fromJournal))).toEqual([]);
    }),
    { numRuns: 1_000 },
  );
});

test('effects start again once all executors are back', () => {
  fc.assert(
    fc.property(acts, by, (sequence, name) => {
      const world = worldAfter(sequence, fromJournal);
      settle(world, fromJournal);
      start(world, { kind: 'start', by: name, effect: 'fresh', dies: false });
      expect(world.began.get('fresh')).toBe(1);
    }),
  );
});

test('without the journals effects begin twice, and the model finds it', () => {
  const found = fc.check(
    fc.property(acts, (sequence) => beganTwice(worldAfter(sequence, () => [])).length === 0),
    { numRuns: 3_000 },
  );
  expect(found.failed).toBe(true);
});
