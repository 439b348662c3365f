import type { Step } from '@holdpoint/runtime/testing/explore';
import type { Model } from './examine.ts';

/**
 * One command that a receiver handles once, with one effect and one answer. Two workers take each delivery,
 * and may crash between any two of their operations.
 */
export type Delivery = {
  /** Both kinds of bus double and reorder messages; one that forgets also loses them. */
  readonly bus: 'keeps' | 'forgets';
  /** The requester resends under a new message id each time. */
  readonly asks: 'once' | 'again';
  /** One worker shows every loss in far fewer worlds. */
  readonly workers: 1 | 2;
  readonly mutant?: Mutant;
};
export type Mutant =
  | 'ack before commit'
  | 'publish before commit'
  | 'outbox row deleted before the publish is confirmed'
  | 'timer deleted before its message is handled'
  | 'asked again under the same message id'
  | 'effect started while the message is held'
  | 'effect started by a repeat'
  | 'counted whenever it comes'
  | 'decided before the lock'
  | 'not answered again';

type Operation = 'look' | 'start' | 'send early' | 'commit' | 'ack';
type Taken = 'ask' | 'answer' | 'timer';
type Worker = {
  readonly takes: Taken;
  readonly left: readonly Operation[];
  /** What the worker saw before it had the lock. */
  readonly fresh?: boolean;
};
type Sent = 'ask' | 'answer';
type Row = {
  readonly is: Sent;
  /** The bus drops a repeat of this message id. */
  readonly known: boolean;
};
type World = {
  readonly counted: number;
  readonly effects: number;
  readonly answered: boolean;
  readonly timer: boolean;
  readonly outbox: readonly Row[];
  readonly bus: Readonly<Record<Sent, number>>;
  /** Workers are interchangeable, so they are sorted: swapped worlds are one. */
  readonly workers: readonly Worker[];
  /** The bus remembers the message id of the first command. */
  readonly askKnown: boolean;
};
export type DeliveryWorld = World;

const COPIES_MAX = 2;
const TWICE = 2;
const none = { ask: 0, answer: 0 };

const operations = (takes: Taken, { mutant }: Delivery): readonly Operation[] => {
  if (takes === 'timer') return ['commit'];
  switch (mutant) {
    case 'ack before commit':
      return ['ack', 'commit'];
    case 'publish before commit':
      return ['send early', 'commit', 'ack'];
    case 'effect started while the message is held':
      return ['start', 'commit', 'ack'];
    case 'decided before the lock':
      return ['look', 'commit', 'ack'];
    default:
      return ['commit', 'ack'];
  }
};

const textOf = ({ takes, left, fresh }: Worker): string => `${takes} ${left.join()} ${String(fresh)}`;
const inOrder = (workers: readonly Worker[]): readonly Worker[] =>
  workers.length < 2 ? workers : workers.toSorted((a, b) => (textOf(a) < textOf(b) ? -1 : 1));

const writes = (world: World, is: Sent, { mutant }: Delivery): World => {
  // A second row of the same kind only multiplies the worlds.
  if (world.outbox.some((row) => row.is === is)) return world;
  const known = is === 'ask' && mutant === 'asked again under the same message id' && world.askKnown;
  const row = { is, known };
  return { ...world, outbox: is === 'ask' ? [row, ...world.outbox] : [...world.outbox, row] };
};

const once = (count: number, more: boolean): number => Math.min(count + Number(more), TWICE);

/** The store after a commit, and the effect that the decision starts. */
const committed = (world: World, { takes, fresh }: Worker, of: Delivery): World => {
  const { mutant } = of;
  switch (takes) {
    case 'ask': {
      const counts = fresh ?? (world.counted === 0 || mutant === 'counted whenever it comes');
      const starts = counts || mutant === 'effect started by a repeat';
      const held = mutant === 'effect started while the message is held';
      const next = {
        ...world,
        counted: once(world.counted, counts),
        effects: held ? world.effects : once(world.effects, starts),
      };
      const silent = mutant === 'publish before commit' || (mutant === 'not answered again' && !counts);
      return silent ? next : writes(next, 'answer', of);
    }
    case 'answer':
      return { ...world, answered: true, timer: false };
    case 'timer':
      return world.answered ? { ...world, timer: false } : writes({ ...world, timer: true }, 'ask', of);
  }
};

const stored = (world: World, is: Sent): World => ({
  ...world,
  bus: { ...world.bus, [is]: Math.min(world.bus[is] + 1, COPIES_MAX) },
});

const taken = (world: World, is: Sent): World => ({
  ...world,
  bus: { ...world.bus, [is]: Math.max(world.bus[is] - 1, 0) },
});

const operated = (
  world: World,
  worker: Worker,
  operation: Operation,
  of: Delivery,
): readonly [World, Worker] => {
  const { takes } = worker;
  switch (operation) {
    case 'look':
      return [world, { ...worker, fresh: world.counted === 0 }];
    case 'start':
      return [
        takes === 'ask' ? { ...world, effects: once(world.effects, world.counted === 0) } : world,
        worker,
      ];
    case 'send early':
      return [takes === 'ask' ? stored(world, 'answer') : world, worker];
    case 'commit':
      return [committed(world, worker, of), { takes, left: worker.left }];
    case 'ack':
      return [takes === 'timer' ? world : taken(world, takes), worker];
  }
};

const workerSteps = (world: World, index: number, of: Delivery): readonly Step<World>[] => {
  const worker = world.workers[index];
  const [operation, ...left] = worker?.left ?? [];
  if (worker === undefined || operation === undefined) return [];
  const others = world.workers.toSpliced(index, 1);
  const [after, changed] = operated(world, worker, operation, of);
  const workers = left.length === 0 ? others : [...others, { ...changed, left }];
  return [
    [`${operation} ${worker.takes}`, { ...after, workers: inOrder(workers) }],
    [`crash with ${worker.takes}`, { ...world, workers: others }],
  ];
};

/** A message stays on the bus until its acknowledgement, so another worker may take it too. */
const takingSteps = (world: World, of: Delivery): readonly Step<World>[] => {
  if (world.workers.length >= of.workers) return [];
  const take = (takes: Taken, from = world): Step<World> => [
    `take ${takes}`,
    { ...from, workers: inOrder([...world.workers, { takes, left: operations(takes, of) }]) },
  ];
  const forgets = of.mutant === 'timer deleted before its message is handled';
  return [
    ...(world.bus.ask > 0 ? [take('ask')] : []),
    ...(world.bus.answer > 0 ? [take('answer')] : []),
    ...(world.timer ? [take('timer', forgets ? { ...world, timer: false } : world)] : []),
  ];
};

/** A publish ends in one of three ways; the publisher learns only of the first. */
const publishSteps = (world: World, row: Row, { mutant }: Delivery): readonly Step<World>[] => {
  const without = { ...world, outbox: world.outbox.filter((each) => each !== row) };
  const unsure = mutant === 'outbox row deleted before the publish is confirmed' ? without : world;
  const same = mutant === 'asked again under the same message id';
  const seen = (from: World): World => ({
    ...stored(from, row.is),
    askKnown: from.askKnown || (same && row.is === 'ask'),
    outbox: from.outbox.map((each) => (each.is === row.is ? { ...each, known: true } : each)),
  });
  const ways: readonly Step<World>[] = row.known
    ? [[`publish ${row.is}: swallowed`, without]]
    : [
        [`publish ${row.is}: confirmed`, seen(without)],
        [`publish ${row.is}: stored, answer lost`, seen(unsure)],
      ];
  return [...ways, [`publish ${row.is}: lost`, unsure]];
};

const busSteps = (world: World, { bus }: Delivery): readonly Step<World>[] =>
  (['ask', 'answer'] as const).flatMap((is) => {
    if (world.bus[is] === 0) return [];
    const doubles = [`bus doubles ${is}`, stored(world, is)] as const;
    if (bus === 'keeps') return [doubles];
    return [doubles, [`bus loses ${is}`, taken(world, is)], ['bus is wiped', { ...world, bus: none }]];
  });

export const delivery = (of: Delivery): Model<World> => ({
  start: {
    counted: 0,
    effects: 0,
    answered: false,
    timer: of.asks === 'again',
    outbox: [{ is: 'ask', known: false }],
    bus: none,
    workers: [],
    askKnown: false,
  },
  steps: (world) => [
    ...takingSteps(world, of),
    ...world.workers.flatMap((_, index) => workerSteps(world, index, of)),
    ...world.outbox.flatMap((row) => publishSteps(world, row, of)),
    ...busSteps(world, of),
  ],
  wrong: ({ counted, effects, answered }) => [
    ...(counted > 1 ? ['counted twice'] : []),
    ...(answered && counted === 0 ? ['answered, and not counted'] : []),
    ...(effects > 1 ? ['effect started twice'] : []),
    ...(effects > 0 && counted === 0 ? ['effect started, and not recorded'] : []),
  ],
  rests: ({ answered }) => answered,
});
