import type { Step } from '@holdpoint/runtime/testing/explore';
import type { Model } from './examine.ts';

/**
 * One service with two processes, one lease and one message. A process that freezes is one that takes no step for as long as the
 * other likes, so every history contains an owner that freezes after each of its steps.
 */
export type Ownership = {
  /**
   * The lease table is once replaced by that of a backup. An owner that finds itself in it does not learn of the owners in
   * between, so only the acknowledgement wait brings back what they held.
   */
  readonly restores?: boolean;
  readonly mutant?: Mutant;
};
export type Mutant =
  | 'fence not checked'
  | 'fence read without a lock'
  | 'fence compares epochs only'
  | 'lease of another clock is believed'
  | 'nothing taken back at a takeover'
  | 'fenced message acknowledged'
  | 'fenced message kept';

type Name = 'a' | 'b';
/** A process that starts again has another name: what it was is gone. */
type Hold = { readonly owner: Name | 'gone' | undefined; readonly epoch: number };
type Row = Hold & {
  /** `never over`: a lease of a restored table, by the time of another clock. */
  readonly lease: 'live' | 'over' | 'never over';
};
type Process = {
  /** The epoch with which it commits. */
  readonly epoch: number | undefined;
  readonly at: 'rest' | 'took' | 'checked' | 'committed' | 'refused';
};
type World = {
  readonly row: Row;
  readonly backup: Row | undefined;
  readonly a: Process;
  readonly b: Process;
  readonly message: 'waits' | 'held' | 'done';
  readonly decided: boolean;
  /** A process that did not own the service has committed. */
  readonly trespassed: boolean;
};
export type OwnershipWorld = World;

const EPOCH_MAX = 3;
const NAMES: readonly Name[] = ['a', 'b'];
const AT_REST: Process = { epoch: undefined, at: 'rest' };

const owns = ({ row }: World, name: Name, epoch: number | undefined): boolean =>
  row.owner === name && row.epoch === epoch;

/** A takeover waits for every transaction that has locked the row. A renewal does not, because it keeps the key. */
const isLocked = (world: World, { mutant }: Ownership): boolean =>
  mutant !== 'fence read without a lock' &&
  mutant !== 'fence not checked' &&
  NAMES.some((name) => world[name].at === 'checked');

const look = (world: World, name: Name, of: Ownership): readonly Step<World>[] => {
  const { row } = world;
  const me = world[name];
  const impossible = row.lease === 'never over' && of.mutant !== 'lease of another clock is believed';
  const isFree = row.owner === undefined || row.lease === 'over' || impossible;
  if (row.owner === name || isFree) {
    if (row.owner !== name && isLocked(world, of)) return [];
    const epoch = row.owner === name ? row.epoch : row.epoch + 1;
    if (epoch > EPOCH_MAX) return [];
    const gains = me.epoch !== epoch;
    const taken = gains && world.message === 'held' && of.mutant !== 'nothing taken back at a takeover';
    return [
      [
        `${name} ${gains ? 'takes over' : 'renews'}`,
        {
          ...world,
          row: { owner: name, epoch, lease: 'live' },
          [name]: { ...me, epoch },
          message: taken ? 'waits' : world.message,
        },
      ],
    ];
  }
  return me.epoch === undefined
    ? []
    : [[`${name} sees another owner`, { ...world, [name]: { ...me, epoch: undefined } }]];
};

const passes = (world: World, name: Name, { mutant }: Ownership): boolean =>
  mutant === 'fence not checked' ||
  (mutant === 'fence compares epochs only'
    ? world.row.epoch === world[name].epoch
    : owns(world, name, world[name].epoch));

const work = (world: World, name: Name, of: Ownership): readonly Step<World>[] => {
  const me = world[name];
  const goes = (at: Process['at'], changes: Partial<World> = {}): World => ({
    ...world,
    ...changes,
    [name]: { ...me, at },
  });
  switch (me.at) {
    case 'rest':
      return me.epoch !== undefined && world.message === 'waits'
        ? [[`${name} takes the message`, goes('took', { message: 'held' })]]
        : [];
    case 'took':
      return passes(world, name, of)
        ? [[`${name} passes the fence`, goes('checked')]]
        : [[`${name} is fenced`, goes('refused')]];
    case 'checked': {
      const trespassed = world.trespassed || !owns(world, name, me.epoch);
      return [[`${name} commits`, goes('committed', { decided: true, trespassed })]];
    }
    case 'committed':
      return [[`${name} acknowledges`, goes('rest', { message: 'done' })]];
    case 'refused':
      if (of.mutant === 'fenced message kept') return [];
      return [
        [
          `${name} gives back`,
          {
            ...world,
            [name]: AT_REST,
            // Another process may have handled it meanwhile.
            message:
              of.mutant === 'fenced message acknowledged'
                ? 'done'
                : world.message === 'held'
                  ? 'waits'
                  : world.message,
          },
        ],
      ];
  }
};

const ends = (world: World, name: Name): readonly Step<World>[] =>
  world[name].epoch === undefined && world[name].at === 'rest'
    ? []
    : [
        [
          `${name} ends`,
          // The server sees the end of the session, so that the lease is free.
          {
            ...world,
            [name]: AT_REST,
            row: world.row.owner === name ? { ...world.row, owner: 'gone', lease: 'over' } : world.row,
            backup: world.backup?.owner === name ? { ...world.backup, owner: 'gone' } : world.backup,
          },
        ],
      ];

const isHeld = ({ a, b }: World): boolean => [a, b].some(({ at }) => at !== 'rest');

const outside = (world: World, of: Ownership): readonly Step<World>[] => [
  ...(of.restores === true && world.message === 'held' && !isHeld(world)
    ? [['the acknowledgement wait is over', { ...world, message: 'waits' }] as const]
    : []),
  ...(world.row.lease === 'live'
    ? [['the lease runs out', { ...world, row: { ...world.row, lease: 'over' } }] as const]
    : []),
  ...(of.restores === true && world.backup !== undefined && !isLocked(world, of)
    ? (['over', 'never over'] as const).map(
        (lease) =>
          [
            `the table of the backup, whose lease is ${lease}`,
            { ...world, row: { ...(world.backup as Row), lease }, backup: undefined },
          ] as const,
      )
    : []),
];

export const ownership = (of: Ownership): Model<World> => ({
  start: {
    row: { owner: undefined, epoch: 0, lease: 'over' },
    backup: of.restores === true ? { owner: undefined, epoch: 0, lease: 'over' } : undefined,
    a: AT_REST,
    b: AT_REST,
    message: 'waits',
    decided: false,
    trespassed: false,
  },
  steps: (world) => [
    ...NAMES.flatMap((name) => [
      ...look(world, name, of),
      ...work(world, name, of),
      ...(world.row.epoch < EPOCH_MAX ? ends(world, name) : []),
    ]),
    ...outside(world, of),
    ...(of.restores === true && world.backup !== undefined && world.row !== world.backup
      ? [['a backup is made', { ...world, backup: { ...world.row, lease: 'over' } }] as const]
      : []),
  ],
  wrong: ({ trespassed, message, decided }) => [
    ...(trespassed ? ['committed by a process that does not own the service'] : []),
    ...(message === 'done' && !decided ? ['acknowledged, and not decided'] : []),
  ],
  rests: ({ message, decided }) => message === 'done' && decided,
});
