import type { RemoteFinding, RemoteHolder } from '@holdpoint/contracts/effect/remote';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import type { Step } from '@holdpoint/runtime/testing/explore';
import { createNumbering } from '@holdpoint/runtime/testing/numbering';
import { createEffectDecider, type EffectMessage, type EffectWork } from '@holdpoint/executor/effect/decide';
import { type EffectState, entryIn } from '@holdpoint/executor/effect/state';
import { effectOf, EFFECT, NOW, orderFor } from '@holdpoint/executor/testing/orders';
import type { EffectDecider } from './effect-ledger.ts';
import { verify } from './effect-orders.ts';
import type { Model } from './examine.ts';

// The ledger with claimants instead of executors. Process A holds a seat; B takes the seat when A has died. C has no seat. Answers
// to claims get lost, claims are repeated, functions begin long after their lease, and ends come twice, late or under a wrong key.

export const remoteDecider: EffectDecider = createEffectDecider({ verify });

type Process = 'A' | 'B' | 'C';
/** A start in the hands of a process, which checks no lease: a frozen one cannot. */
type Start = {
  readonly pc: 'begun' | 'sent' | 'applied' | 'failed_clean' | 'unknown';
  readonly epoch: number;
  readonly by: Process;
};
export type RemoteWorld = {
  readonly ledger: EffectState;
  readonly hasADied: boolean;
  readonly starts: readonly Start[];
  /** A start whose answer was lost: a repeated claim hands it over. */
  readonly lost?: Pick<Start, 'epoch' | 'by'>;
  /** An executor could not write this start to its journal, and reports that, perhaps late. */
  readonly unwritten?: number;
  /** The epochs of requests that are under way, sorted. */
  readonly wire: readonly number[];
  readonly applied: number;
  /** A probe in the hands of a process. */
  readonly asked?: Pick<Start, 'epoch' | 'by'>;
  /** A forbidden step of the ledger. */
  readonly fault?: string;
};

export type RemoteLedger = {
  readonly effectClass: EffectClass;
  readonly decider: EffectDecider;
  readonly startsMax: number;
};

const STARTS_MAX = 2;
const APPLIED_MAX = 2;
/** One repeat of a claim shows every known fault. */
const GIVEN_MAX = 2;

const holderOf = (by: Process): Omit<RemoteHolder, 'since'> => ({
  claimant: by,
  x: by.repeat(43),
  claim: `claim-of-${by}`.padEnd(16, '-'),
  leaseMs: 30_000,
  principal: 'ada',
  ...(by !== 'C' && { seat: 'seat' }),
});
const living = ({ hasADied }: RemoteWorld): readonly Process[] => [hasADied ? 'B' : 'A', 'C'];

const without = <Key extends 'lost' | 'unwritten' | 'asked'>(world: RemoteWorld, key: Key): RemoteWorld => {
  const { [key]: _, ...rest } = world;
  return rest as RemoteWorld;
};
const named = ({ epoch, by }: Pick<Start, 'epoch' | 'by'>): string => `${by}${String(epoch)}`;

type Decided = {
  /** Undefined if nothing has changed. */
  readonly ledger: EffectState | undefined;
  readonly work: readonly EffectWork[];
  readonly answer: unknown;
};
type Decide = (ledger: EffectState, message: EffectMessage) => Decided;

/** Each question is answered once. */
const deciderOf = (decider: EffectDecider): Decide => {
  const numberOf = createNumbering();
  const answers = new Map<number, Decided>();
  return (ledger, message) => {
    const question = numberOf({ ledger, message });
    const known = answers.get(question);
    if (known !== undefined) return known;
    const { events, work, answer } = decider.decide(ledger, message, { now: NOW });
    const after = events.reduce((state, event) => decider.evolve(state, event), ledger);
    const decided = { ledger: events.length === 0 ? undefined : after, work, answer };
    answers.set(question, decided);
    return decided;
  };
};

type Of = Omit<RemoteLedger, 'decider'> & { readonly decide: Decide };
type Told = { readonly world: RemoteWorld; readonly work: readonly EffectWork[] };

const tell = (world: RemoteWorld, message: EffectMessage, { decide }: Of): Told => {
  const { ledger, work } = decide(world.ledger, message);
  return { world: ledger === undefined ? world : { ...world, ledger }, work };
};

const claimSteps = (world: RemoteWorld, by: Process, of: Of): readonly Step<RemoteWorld>[] => {
  const { ledger } = world;
  const to = ledger.status === 'in_doubt' && ledger.next === 'probe' ? 'probe' : 'run';
  const isRepeat = ledger.status === 'started';
  if (isRepeat && (ledger.remote?.given ?? 0) >= GIVEN_MAX) return [];
  const isFull = (entryIn(ledger)?.starts ?? 0) >= of.startsMax || world.starts.length >= STARTS_MAX;
  if (to === 'run' && !isRepeat && isFull) return [];
  const slot = { worker: by, slot: -1, journal: 'J', remote: { to, holder: holderOf(by) } } as const;
  const told = tell(world, { kind: 'claim', id: EFFECT, slot }, of);
  const label = `${by} claims to ${to}`;
  const [work] = told.work.filter(({ kind }) => kind === 'start' || kind === 'probe');
  if (work?.kind === 'probe') return [[label, { ...told.world, asked: { epoch: work.epoch, by } }]];
  if (work?.kind !== 'start') return told.world === world ? [] : [[label, told.world]];
  const start = { epoch: work.epoch, by } as const;
  const handedOver = { ...told.world, starts: [...told.world.starts, { pc: 'begun', ...start } as const] };
  if ((work.remote?.given ?? 1) > 1) {
    const { lost } = world;
    const owner = lost?.epoch === work.epoch ? lost : world.starts.find(({ epoch }) => epoch === work.epoch);
    if (owner !== undefined && owner.by !== by)
      return [[`${label} again, for another`, { ...handedOver, fault: 'given to another claimant' }]];
    // A process carries out each start once.
    return [
      [`${label} again`, owner === lost && lost !== undefined ? without(handedOver, 'lost') : told.world],
    ];
  }
  return [
    [label, handedOver],
    [`${label}, and its answer is lost`, { ...told.world, lost: start }],
    [`${label}, and the journal is away`, { ...told.world, lost: start, unwritten: work.epoch }],
  ];
};

const RESULTS = {
  applied: { kind: 'applied', outputs: {} },
  failed_clean: { kind: 'failed_clean', error: { code: 'REMOTE_X', message: 'no' } },
  unknown: { kind: 'unknown', reason: 'no answer' },
} as const;

const startSteps = (world: RemoteWorld, start: Start, of: Of): readonly Step<RemoteWorld>[] => {
  const { pc, epoch, by } = start;
  const become = (next: Start['pc']): Pick<RemoteWorld, 'starts'> => ({
    starts: world.starts.map((each) => (each === start ? { ...start, pc: next } : each)),
  });
  const gone = { starts: world.starts.filter((each) => each !== start) };
  const name = named(start);
  switch (pc) {
    case 'begun': {
      const wire = [...world.wire, epoch].sort((one, other) => one - other);
      return [
        [`${name} sends`, { ...world, ...become('sent'), wire }],
        [`${name} fails before it sends`, { ...world, ...become('failed_clean') }],
      ];
    }
    case 'sent':
      // A probeable function waits for the end of its request.
      return of.effectClass === 'probeable' && world.wire.includes(epoch)
        ? []
        : [[`${name} has no answer`, { ...world, ...become('unknown') }]];
    case 'applied':
    case 'failed_clean':
    case 'unknown': {
      const end = (x: string) => tell(world, { kind: 'end', epoch, x, result: RESULTS[pc] }, of).world;
      const told = end(holderOf(by).x);
      const forged = end(holderOf(by === 'C' ? 'A' : 'C').x);
      const { ledger } = world;
      const isFirst = ledger.status === 'in_doubt' && !ledger.entry.evidence.includes(epoch);
      const isIgnored = pc === 'applied' && isFirst && told.ledger.status !== 'applied';
      const fault = isIgnored ? { fault: 'certain success ignored' } : {};
      return [
        [`${name} ends ${pc}`, { ...told, ...gone, ...fault }],
        ...(of.effectClass !== 'opaque'
          ? []
          : [[`${name} ends ${pc}, unheard`, { ...told, ...fault }] as const]),
        ...(forged === world
          ? []
          : [[`another key ends ${name}`, { ...forged, fault: 'ended by another key' }] as const]),
      ];
    }
  }
};

const wireSteps = (world: RemoteWorld, at: number, { effectClass }: Of): readonly Step<RemoteWorld>[] => {
  const epoch = world.wire[at] ?? 0;
  const answered = (pc: 'applied' | 'failed_clean', applied = world.applied): RemoteWorld => ({
    ...world,
    wire: world.wire.toSpliced(at, 1),
    applied,
    starts: world.starts.map((each) => (each.pc === 'sent' && each.epoch === epoch ? { ...each, pc } : each)),
  });
  const name = String(epoch);
  const lost = [`wire loses ${name}`, { ...world, wire: world.wire.toSpliced(at, 1) }] as const;
  if ((effectClass === 'keyed' || effectClass === 'fenced') && world.applied > 0)
    return [[`target knows ${name}`, answered('applied')], lost];
  const most = effectClass === 'idempotent' ? 1 : APPLIED_MAX;
  return [
    [`target takes ${name}`, answered('applied', Math.min(world.applied + 1, most))],
    [`target refuses ${name}`, answered('failed_clean')],
    lost,
  ];
};

/** The process looks once, and knows nothing of other processes. */
const probeSteps = (world: RemoteWorld, of: Of): readonly Step<RemoteWorld>[] => {
  const { asked, applied } = world;
  if (asked === undefined) return [];
  const seen = applied > 0 ? 'applied' : 'not_applied';
  return ([seen, 'unknown'] as const).map((found) => {
    const result: RemoteFinding = { kind: 'found', found, reason: 'as the target says' };
    const x = holderOf(asked.by).x;
    const told = tell(world, { kind: 'end', epoch: asked.epoch, x, result }, of).world;
    return [`${named(asked)} finds ${found}`, without(told, 'asked')];
  });
};

/** A function of a probeable target is a local process: it ends with the process that began it. */
const deathOfA = (world: RemoteWorld, { effectClass }: Of): RemoteWorld => {
  const ofA = new Set(world.starts.flatMap(({ by, epoch }) => (by === 'A' ? [epoch] : [])));
  const dead: RemoteWorld = {
    ...world,
    hasADied: true,
    starts: world.starts.filter(({ by }) => by !== 'A'),
    ...(effectClass === 'probeable' && { wire: world.wire.filter((epoch) => !ofA.has(epoch)) }),
  };
  const heard = dead.lost?.by === 'A' ? without(dead, 'lost') : dead;
  return heard.asked?.by === 'A' ? without(heard, 'asked') : heard;
};

const outsideSteps = (world: RemoteWorld, of: Of): readonly Step<RemoteWorld>[] => {
  const { unwritten } = world;
  const error = { code: 'EXECUTOR_JOURNAL_UNAVAILABLE', message: 'no journal' } as const;
  return [
    ['the order', tell(world, { kind: 'run', payload: orderOf(of.effectClass), slot: undefined }, of).world],
    ['lease over', tell(world, { kind: 'timer', name: 'lease', data: null }, of).world],
    ['offered again', tell(world, { kind: 'timer', name: 'slot', data: null }, of).world],
    ...(unwritten === undefined
      ? []
      : [
          [
            `${String(unwritten)} was not given`,
            without(
              tell(world, { kind: 'not_given', epoch: unwritten, given: 1, error }, of).world,
              'unwritten',
            ),
          ] as const,
        ]),
    ...(world.hasADied ? [] : [['A dies', deathOfA(world, of)] as const]),
  ];
};

const orders = new Map<EffectClass, ReturnType<typeof orderFor>>();
const orderOf = (effectClass: EffectClass): ReturnType<typeof orderFor> => {
  const known = orders.get(effectClass);
  if (known !== undefined) return known;
  const order = orderFor(effectOf({ uses: 'cap.remote.refund', effectClass, target: 'payments' }));
  orders.set(effectClass, order);
  return order;
};

const wrong = (world: RemoteWorld, { decide }: Of): readonly string[] => {
  const { ledger, applied, fault, starts } = world;
  const { status } = ledger;
  const open = status === 'started' || status === 'in_doubt';
  const isHeld = ({ epoch, by }: Start): boolean => {
    const { answer } = decide(ledger, { kind: 'beat', epoch, x: holderOf(by).x });
    const { ok } = (answer ?? {}) as { readonly ok?: { readonly state: string } };
    return ok?.state === 'held';
  };
  const isLate = starts.some(
    (start) => (status !== 'started' || ledger.entry.epoch !== start.epoch) && isHeld(start),
  );
  return [
    ...(fault === undefined ? [] : [fault]),
    ...(isLate ? ['a lost start keeps its lease'] : []),
    ...(applied > 1 ? ['applied twice'] : []),
    ...(status === 'applied' && applied === 0 ? ['recorded as applied, and is not'] : []),
    ...(status !== 'applied' && !open && applied > 0 ? ['recorded as not applied, and is'] : []),
  ];
};

const RESTS: readonly EffectState['status'][] = ['applied', 'failed_clean', 'not_applied', 'refused'];

/** The real decider of the ledger with claimants, a wire, and a target. */
export const remoteLedger = ({ decider, ...rest }: RemoteLedger): Model<RemoteWorld> => {
  const of: Of = { ...rest, decide: deciderOf(decider) };
  return {
    start: { ledger: decider.initial, hasADied: false, starts: [], wire: [], applied: 0 },
    steps: (world) => [
      ...outsideSteps(world, of),
      ...living(world).flatMap((by) => claimSteps(world, by, of)),
      ...world.starts.flatMap((start) => startSteps(world, start, of)),
      ...world.wire.flatMap((_, at) => wireSteps(world, at, of)),
      ...probeSteps(world, of),
    ],
    wrong: (world) => wrong(world, of),
    // A further start would only multiply the worlds.
    rests: ({ ledger }) =>
      RESTS.includes(ledger.status) ||
      (ledger.status === 'in_doubt' &&
        (ledger.next === 'person' || (ledger.next === 'repeat' && ledger.entry.starts >= of.startsMax))),
  };
};
