import type { Step } from '@holdpoint/runtime/testing/explore';
import type { Model } from './examine.ts';

/**
 * The protocol of one effect without product code: one row of truth, two executors that may pause or crash
 * between any two steps, a faulty wire, a target, and a lease that may end at any moment because clocks are
 * not trusted.
 */
export type Protocol = {
  /**
   * `fenced` accepts only epochs above its fence, `keyed` accepts its key once, `plain` accepts every
   * request.
   */
  readonly target: 'fenced' | 'keyed' | 'plain';
  /** What follows a doubt. A probe is believed; then the effect is ordered again or closed. */
  readonly doubt: 'person' | 'repeat' | 'probe and repeat' | 'probe and close';
  /** The effect is declared idempotent. */
  readonly harmless?: true;
  readonly wireDoubles?: true;
  readonly mutant?: Mutant;
};
export type Mutant =
  | 'no intent before the act'
  | 'lease over: ordered again'
  | 'record of any epoch'
  | 'repeat that failed closes'
  | 'fence not raised'
  | 'fence raised after the probe'
  | 'probe before all is quiet'
  | 'repeat after the window'
  | 'refusal believed though a copy is on its way';

type Executor = { readonly pc: 'idle' | 'claimed' | 'sent' | 'applied' | 'refused'; readonly epoch: number };
type World = {
  readonly row: 'prepared' | 'started' | 'applied' | 'not_applied' | 'in_doubt';
  readonly epoch: number;
  /** An earlier start ended in doubt. */
  readonly unsure: boolean;
  readonly repeats: number;
  readonly resolver: 'idle' | 'fence raised' | 'told no' | 'sure of no';
  readonly executors: readonly Executor[];
  /** The epochs of requests under way, sorted. They may overtake each other. */
  readonly wire: readonly number[];
  readonly target: { readonly applied: number; readonly fence: number; readonly keyKnown: boolean };
  /** The target remembers the key. After `closing` nothing is repeated, and later the key is forgotten. */
  readonly window: 'open' | 'closing' | 'over';
};
export type ProtocolWorld = World;

/** One repeat shows every known fault; each more multiplies the worlds. */
const REPEATS_MAX = 1;
const WIRE_MAX = 2;
/** More than twice is as wrong as twice. */
const APPLIED_MAX = 2;
const idle: Executor = { pc: 'idle', epoch: 0 };

const start: World = {
  row: 'prepared',
  epoch: 0,
  unsure: false,
  repeats: 0,
  resolver: 'idle',
  executors: [idle, idle],
  wire: [],
  target: { applied: 0, fence: 0, keyKnown: false },
  window: 'open',
};

const quiet = ({ executors, wire }: World): boolean =>
  wire.length === 0 && executors.every(({ pc }) => pc === 'idle');

const executorSteps = (world: World, index: number, { mutant }: Protocol): readonly Step<World>[] => {
  const executor = world.executors[index] ?? idle;
  const { epoch } = executor;
  const become = (next: Executor): Pick<World, 'executors'> => ({
    executors: world.executors.with(index, next),
  });
  const crash = [`E${String(index)} crashes`, { ...world, ...become(idle) }] as const;
  switch (executor.pc) {
    case 'idle': {
      if (world.row !== 'prepared') return [];
      const next = world.epoch + 1;
      const claimed = become({ pc: 'claimed', epoch: next });
      const row = mutant === 'no intent before the act' ? 'prepared' : 'started';
      return [[`E${String(index)} claims`, { ...world, ...claimed, row, epoch: next }]];
    }
    case 'claimed':
      return [
        [
          `E${String(index)} sends`,
          {
            ...world,
            ...become({ pc: 'sent', epoch }),
            wire: [...world.wire, epoch].sort((a, b) => a - b),
          },
        ],
        [`E${String(index)} fails before it sends`, { ...world, ...become({ pc: 'refused', epoch }) }],
        crash,
      ];
    case 'sent':
      return [crash];
    case 'applied':
    case 'refused': {
      const row = recorded(world, executor.pc, epoch, mutant);
      return [
        [`E${String(index)} records ${executor.pc}`, { ...world, ...become(idle), row }],
        // The commit succeeded and its answer is lost, so it is recorded again.
        [`E${String(index)} records ${executor.pc}, unheard`, { ...world, row }],
        crash,
      ];
    }
  }
};

const recorded = (
  world: World,
  outcome: 'applied' | 'refused',
  epoch: number,
  mutant: Mutant | undefined,
): World['row'] => {
  const open = world.row === 'started' || mutant === 'no intent before the act';
  if (open && (world.epoch === epoch || mutant === 'record of any epoch')) {
    if (outcome === 'applied') return 'applied';
    return world.unsure && mutant !== 'repeat that failed closes' ? 'in_doubt' : 'not_applied';
  }
  // Late, but certain.
  return world.row === 'in_doubt' && outcome === 'applied' ? 'applied' : world.row;
};

/** How the target handles a request: it applies it, recognises it or refuses it. */
const received = ({ fence, keyKnown, applied }: World['target'], epoch: number, { target }: Protocol) => {
  if (target === 'fenced') {
    if (epoch > fence) return 'takes';
    return epoch === fence && applied > 0 ? 'knows' : 'fences off';
  }
  return target === 'keyed' && keyKnown ? 'knows' : 'takes';
};

/** Another copy of a refused request may still be applied, so the refusal proves nothing. */
const refusalProves = ({ wireDoubles, mutant }: Protocol): boolean =>
  !wireDoubles || mutant === 'refusal believed though a copy is on its way';

const wireSteps = (world: World, at: number, protocol: Protocol): readonly Step<World>[] => {
  const epoch = world.wire[at] ?? 0;
  const rest = { ...world, wire: world.wire.toSpliced(at, 1) };
  const answered = (from: World, pc: 'applied' | 'refused'): World => ({
    ...from,
    executors: from.executors.map((each) =>
      each.pc === 'sent' && each.epoch === epoch ? { pc, epoch } : each,
    ),
  });
  const doubled: World = { ...world, wire: world.wire.toSpliced(at, 0, epoch) };
  const verb = received(world.target, epoch, protocol);
  const target = {
    applied: Math.min(world.target.applied + 1, APPLIED_MAX),
    fence: Math.max(epoch, world.target.fence),
    keyKnown: true,
  };
  const arrives = {
    takes: answered({ ...rest, target }, 'applied'),
    knows: answered(rest, 'applied'),
    'fences off': answered(rest, 'refused'),
  }[verb];
  return [
    [`target ${verb} ${String(epoch)}`, arrives],
    ...(verb === 'takes' && refusalProves(protocol)
      ? [[`target refuses ${String(epoch)}`, answered(rest, 'refused')] as const]
      : []),
    [`wire loses ${String(epoch)}`, rest],
    ...(protocol.wireDoubles && world.wire.length < WIRE_MAX
      ? [[`wire doubles ${String(epoch)}`, doubled] as const]
      : []),
  ];
};

const leaseSteps = (world: World, { mutant }: Protocol): readonly Step<World>[] => {
  if (world.row !== 'started') return [];
  return mutant === 'lease over: ordered again'
    ? [['lease over', { ...world, row: 'prepared' }]]
    : [['lease over', { ...world, row: 'in_doubt', epoch: world.epoch + 1, unsure: true }]];
};

const again = (world: World): readonly Step<World>[] =>
  world.repeats < REPEATS_MAX
    ? [['ordered again', { ...world, row: 'prepared', repeats: world.repeats + 1, resolver: 'idle' }]]
    : [];

const resolverSteps = (world: World, protocol: Protocol): readonly Step<World>[] => {
  const { doubt, mutant } = protocol;
  // Nothing happened, so every class may try again.
  if (world.row === 'not_applied' && doubt !== 'probe and close') return again(world);
  if (world.row !== 'in_doubt' || doubt === 'person') return [];
  if (doubt === 'repeat')
    return world.window === 'open' || mutant === 'repeat after the window' ? again(world) : [];
  const raise = (resolver: World['resolver']): World => ({
    ...world,
    resolver,
    target: { ...world.target, fence: Math.max(world.target.fence, world.epoch) },
  });
  const probe = (resolver: World['resolver']): Step<World> =>
    world.target.applied > 0
      ? ['probe says yes', { ...world, row: 'applied', resolver: 'idle' }]
      : ['probe says no', { ...world, resolver }];
  switch (world.resolver) {
    case 'idle': {
      if (protocol.target !== 'fenced')
        return quiet(world) || mutant === 'probe before all is quiet' ? [probe('sure of no')] : [];
      if (mutant === 'fence not raised') return [probe('sure of no')];
      if (mutant === 'fence raised after the probe') return [probe('told no')];
      return [['fence raised', raise('fence raised')]];
    }
    case 'fence raised':
      return [probe('sure of no')];
    case 'told no':
      return [['fence raised', raise('sure of no')]];
    case 'sure of no':
      return doubt === 'probe and close'
        ? [['closed', { ...world, row: 'not_applied', resolver: 'idle' }]]
        : again(world);
  }
};

/** The only assumption about time: a request arrives within the window or never. */
const windowSteps = (world: World, { target }: Protocol): readonly Step<World>[] => {
  if (target !== 'keyed') return [];
  if (world.window === 'open') return [['window closing', { ...world, window: 'closing' }]];
  return world.window === 'closing' && world.row !== 'prepared' && quiet(world)
    ? [['key forgotten', { ...world, window: 'over', target: { ...world.target, keyKnown: false } }]]
    : [];
};

export const effectProtocol = (protocol: Protocol): Model<World> => ({
  start,
  steps: (world) => [
    ...world.executors.flatMap((_, index) => executorSteps(world, index, protocol)),
    ...world.wire.flatMap((_, at) => wireSteps(world, at, protocol)),
    ...leaseSteps(world, protocol),
    ...resolverSteps(world, protocol),
    ...windowSteps(world, protocol),
  ],
  wrong: ({ row, target: { applied } }) => [
    ...(applied > 1 && !protocol.harmless ? ['applied twice'] : []),
    ...(row === 'applied' && applied === 0 ? ['recorded as applied, and is not'] : []),
    ...(row === 'not_applied' && applied > 0 ? ['recorded as not applied, and is'] : []),
  ],
  rests: ({ row }) => row === 'applied' || row === 'not_applied' || row === 'in_doubt',
});
