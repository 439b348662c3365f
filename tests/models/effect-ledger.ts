import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import type { Decider } from '@holdpoint/runtime/decider';
import type { Step } from '@holdpoint/runtime/testing/explore';
import { createNumbering } from '@holdpoint/runtime/testing/numbering';
import {
  createEffectDecider,
  type EffectMessage,
  type EffectWork,
  type Finding,
} from '@holdpoint/executor/effect/decide';
import { type EffectState, entryIn } from '@holdpoint/executor/effect/state';
import { about, EFFECT, GRANT_ENDS, NOW } from '@holdpoint/executor/testing/orders';
import { classOf, LATER_ATTEMPT, ORDERS, resolutionOf, verify } from './effect-orders.ts';
import type { Model } from './examine.ts';

export type EffectDecider = Decider<EffectState, EffectMessage, EffectEvent, EffectWork>;
export const realDecider: EffectDecider = createEffectDecider({ verify, classOf });

/** A start of an executor, which may pause or crash at any point. */
type Start = {
  readonly pc: 'begun' | 'sent' | 'applied' | 'failed_clean' | 'unknown';
  readonly epoch: number;
};
export type LedgerWorld = {
  readonly ledger: EffectState;
  readonly now: number;
  /** Sorted by epoch: executors are interchangeable. */
  readonly executors: readonly Start[];
  /** The epochs of requests that are under way, sorted. */
  readonly wire: readonly number[];
  /** How often the target applied it. More than twice is as wrong as twice. */
  readonly applied: number;
  /** Its cancellation was stored, and no later answer wants the effect again. */
  readonly cancelStored: boolean;
  /** The latest probe, whose answer may be late or missing. */
  readonly asked?: Pick<Extract<EffectWork, { kind: 'probe' }>, 'epoch' | 'unended'>;
  /** The signed answer of a person, which may arrive late or never. One answer shows every known fault. */
  readonly statement?: Statement;
  /** A forbidden step of the ledger. */
  readonly fault: string | undefined;
};

type Statement = { readonly answer: InDoubtAnswer; readonly epoch: number; readonly knewOfCancel: boolean };

export type Ledger = {
  readonly effectClass: EffectClass;
  readonly decider: EffectDecider;
  /** Each start multiplies the worlds. */
  readonly startsMax: number;
};

const EXECUTORS_MAX = 2;
const APPLIED_MAX = 2;

type Decided = {
  readonly ledger: EffectState;
  readonly work: readonly EffectWork[];
  /** The event types that the message stores or sends again. */
  readonly reported: readonly string[];
};
type Decide = (ledger: EffectState, message: EffectMessage, now: number) => Decided;

/** A pure decider with few states: each question is answered once. */
const deciderOf = (decider: EffectDecider): Decide => {
  const numberOf = createNumbering();
  const answers = new Map<number, Decided>();
  return (ledger, message, now) => {
    const question = numberOf({ ledger, message, now });
    const known = answers.get(question);
    if (known !== undefined) return known;
    const { events, work, send } = decider.decide(ledger, message, { now });
    const after = events.reduce((state, event) => decider.evolve(state, event), ledger);
    const reported = [...events, ...send.map(({ data }) => data as EffectEvent)].map(({ type }) => type);
    const answer = { ledger: forgetful(after), work, reported };
    answers.set(question, answer);
    return answer;
  };
};

/** Other tests check which attempts came too late. */
const forgetful = (ledger: EffectState): EffectState => {
  const entry = entryIn(ledger);
  if (ledger.status === 'absent' || entry?.prevented === undefined) return ledger;
  const { prevented: _, ...rest } = entry;
  return { ...ledger, entry: rest };
};

const tell = (world: LedgerWorld, message: EffectMessage, decide: Decide): LedgerWorld => {
  const { ledger, work } = decide(world.ledger, message, world.now);
  const cancelStored =
    (world.cancelStored && !takesBack(world, message, ledger)) ||
    (message.kind === 'cancel' && ledger.status !== 'applied');
  const fault = world.fault ?? ignored(world, message, ledger);
  const changed =
    ledger !== world.ledger ||
    cancelStored !== world.cancelStored ||
    fault !== world.fault ||
    work.length > 0;
  // Most messages change nothing, and an identical world costs nothing.
  return changed ? work.reduce(performed, { ...world, ledger, cancelStored, fault }) : world;
};

const performed = (world: LedgerWorld, work: EffectWork): LedgerWorld => {
  switch (work.kind) {
    case 'start':
      return {
        ...world,
        executors: [...world.executors, { pc: 'begun', epoch: work.epoch }],
        fault: world.fault ?? badStart(world, work),
      };
    case 'probe':
      return { ...world, asked: { epoch: work.epoch, unended: work.unended } };
    case 'await_slot':
    case 'abort':
      return world;
  }
};

const badStart = (
  { now, cancelStored, statement }: LedgerWorld,
  { order, epoch }: Extract<EffectWork, { kind: 'start' }>,
): string | undefined => {
  if (cancelStored) return 'started after its cancellation was stored';
  // The answer must be about the latest doubt.
  const isAllowed = statement?.answer === 'retry' && statement.epoch === epoch - 1;
  if (now >= GRANT_ENDS && !isAllowed) return 'started after its grant had ended';
  return verify(order.grant ?? '')?.digest === order.digest ? undefined : 'started without a grant for it';
};

/** The answer is newer than the cancellation and wants the effect again. */
const takesBack = ({ ledger, statement }: LedgerWorld, message: EffectMessage, after: EffectState): boolean =>
  message.kind === 'resolve' && ledger !== after && statement?.answer === 'retry' && statement.knewOfCancel;

/** An effect in doubt with a first report of success must become applied. */
const ignored = ({ ledger }: LedgerWorld, message: EffectMessage, after: EffectState): string | undefined =>
  message.kind === 'outcome' &&
  message.outcome.kind === 'applied' &&
  ledger.status === 'in_doubt' &&
  !ledger.entry.evidence.includes(message.epoch) &&
  after.status !== 'applied'
    ? 'certain success ignored'
    : undefined;

const orderSteps = (
  world: LedgerWorld,
  { effectClass, startsMax }: Ledger,
  decide: Decide,
): readonly Step<LedgerWorld>[] => {
  const { ledger } = world;
  const free = world.executors.length < EXECUTORS_MAX ? { worker: 'E', slot: 0 } : undefined;
  const place = (entryIn(ledger)?.starts ?? 0) < startsMax ? free : undefined;
  const probes = ledger.status === 'in_doubt' && ledger.next === 'probe' && free !== undefined;
  const { plain, odd } = ORDERS[effectClass];
  const run = (name: string, payload: RunEffect, at: typeof place): Step<LedgerWorld> => [
    `${name} finds ${at === undefined ? 'no place' : 'a place'}`,
    tell(world, { kind: 'run', payload, slot: at }, decide),
  ];
  return [
    ...(place === undefined
      ? []
      : [
          run('the order', plain, place),
          ['claimed', tell(world, { kind: 'claim', id: EFFECT, slot: place }, decide)] as const,
        ]),
    ...(probes && place === undefined
      ? [['claimed to look', tell(world, { kind: 'claim', id: EFFECT, slot: free }, decide)] as const]
      : []),
    run('the order', plain, undefined),
    ...Object.entries(odd)
      // Admission is the same for every class, and this class has the most worlds.
      .filter(([name]) => effectClass !== 'probeable' || name === LATER_ATTEMPT)
      .map(([name, payload]) => run(name, payload, place)),
  ];
};

const OUTCOMES = {
  applied: { kind: 'applied', outputs: {} },
  failed_clean: { kind: 'failed_clean', error: { code: 'X', message: 'no' } },
  unknown: { kind: 'unknown', reason: 'no answer' },
} as const;

const executorSteps = (
  world: LedgerWorld,
  start: Start,
  effectClass: EffectClass,
  decide: Decide,
): readonly Step<LedgerWorld>[] => {
  const { pc, epoch } = start;
  const become = (next: Start['pc']): Pick<LedgerWorld, 'executors'> => ({
    executors: world.executors.map((each) => (each === start ? { pc: next, epoch } : each)),
  });
  const gone = { executors: world.executors.filter((each) => each !== start) };
  const crash = [`start ${String(epoch)} crashes`, { ...world, ...gone }] as const;
  switch (pc) {
    case 'begun': {
      const wire = [...world.wire, epoch].sort((a, b) => a - b);
      return [
        [`start ${String(epoch)} sends`, { ...world, ...become('sent'), wire }],
        [`start ${String(epoch)} fails before it sends`, { ...world, ...become('failed_clean') }],
        crash,
      ];
    }
    case 'sent':
      // A probeable target makes the executor wait for the end of its request.
      return effectClass === 'probeable' && world.wire.includes(epoch)
        ? [crash]
        : [[`start ${String(epoch)} has no answer`, { ...world, ...become('unknown') }], crash];
    case 'applied':
    case 'failed_clean':
    case 'unknown': {
      const told = tell(world, { kind: 'outcome', epoch, outcome: OUTCOMES[pc] }, decide);
      return [
        [`start ${String(epoch)} tells ${pc}`, { ...told, ...gone }],
        // The commit succeeded and its answer is lost, so the outcome is reported again.
        ...(effectClass === 'probeable'
          ? []
          : [[`start ${String(epoch)} tells ${pc}, unheard`, told] as const]),
        crash,
      ];
    }
  }
};

const wireSteps = (
  world: LedgerWorld,
  at: number,
  effectClass: EffectClass,
): readonly Step<LedgerWorld>[] => {
  const epoch = world.wire[at] ?? 0;
  const answered = (pc: 'applied' | 'failed_clean', applied = world.applied): LedgerWorld => ({
    ...world,
    wire: world.wire.toSpliced(at, 1),
    applied,
    executors: world.executors.map((each) =>
      each.pc === 'sent' && each.epoch === epoch ? { pc, epoch } : each,
    ),
  });
  const lost = [`wire loses ${String(epoch)}`, { ...world, wire: world.wire.toSpliced(at, 1) }] as const;
  // After its application a keyed or fenced target applies no other request.
  if ((effectClass === 'keyed' || effectClass === 'fenced') && world.applied > 0)
    return [[`target knows ${String(epoch)}`, answered('applied')], lost];
  return [
    [
      `target takes ${String(epoch)}`,
      answered('applied', Math.min(world.applied + 1, effectClass === 'idempotent' ? 1 : APPLIED_MAX)),
    ],
    [`target refuses ${String(epoch)}`, answered('failed_clean')],
    lost,
  ];
};

/** No request of this start can reach the target any more. */
const isOver = ({ executors, wire }: LedgerWorld, epoch: number): boolean =>
  !wire.includes(epoch) &&
  executors.every((start) => start.epoch !== epoch || (start.pc !== 'begun' && start.pc !== 'sent'));

/** Probes are honest. `not_applied` needs the end of every lost start. */
const targetSteps = (world: LedgerWorld, decide: Decide): readonly Step<LedgerWorld>[] => {
  const { asked, applied } = world;
  if (asked === undefined) return [];
  const over = asked.unended.every(({ epoch }) => isOver(world, epoch));
  const honest: Finding['found'] = applied > 0 ? 'applied' : over ? 'not_applied' : 'unproven';
  // Repeated `unproven` answers only multiply the worlds.
  const isNews = honest !== 'unproven' || (entryIn(world.ledger)?.probes ?? 0) === 0;
  return [...(isNews ? [honest] : []), 'unknown' as const].map((found) => [
    `the target says ${found}`,
    tell(world, { kind: 'probed', epoch: asked.epoch, finding: { found, reason: '' } }, decide),
  ]);
};

/** People answer honestly, and `not_applied` only when no request is under way. */
const personSteps = (
  world: LedgerWorld,
  { effectClass, startsMax }: Ledger,
  decide: Decide,
): readonly Step<LedgerWorld>[] => {
  const { ledger, statement, applied, wire, executors, cancelStored } = world;
  // The keyed model shows these answers for a repeatable class; two more models would only add worlds.
  if (WITHOUT_ANSWERS.has(effectClass)) return [];
  const told: readonly Step<LedgerWorld>[] =
    statement === undefined
      ? []
      : [
          [
            `the answer ${statement.answer} arrives`,
            tell(world, { kind: 'resolve', payload: resolutionOf(effectClass, statement) }, decide),
          ],
        ];
  if (statement !== undefined || ledger.status !== 'in_doubt' || ledger.next !== 'person') return told;
  const { epoch, starts } = ledger.entry;
  const isQuiet = wire.length === 0 && executors.every((start) => isOver(world, start.epoch));
  const answers: readonly InDoubtAnswer[] = [
    ...(applied > 0 ? (['applied'] as const) : []),
    ...(applied === 0 && isQuiet ? (['not_applied'] as const) : []),
    // The risk of a retry is the person's: an earlier request may still arrive.
    ...(starts < startsMax && (effectClass === 'probeable' || isQuiet) ? (['retry'] as const) : []),
  ];
  return [
    ...told,
    ...answers.map(
      (answer) =>
        [
          `a person answers ${answer}`,
          { ...world, statement: { answer, epoch, knewOfCancel: cancelStored } },
        ] as const,
    ),
  ];
};

const WITHOUT_ANSWERS: ReadonlySet<EffectClass> = new Set<EffectClass>(['fenced', 'idempotent']);

const outsideSteps = (
  world: LedgerWorld,
  effectClass: EffectClass,
  decide: Decide,
): readonly Step<LedgerWorld>[] => [
  ['cancelled', tell(world, { kind: 'cancel', payload: { ...about, reason: 'over' } }, decide)],
  ['offered again', tell(world, { kind: 'timer', name: 'slot', data: null }, decide)],
  ['lease over', tell(world, { kind: 'timer', name: 'lease', data: null }, decide)],
  // A probe needs no grant.
  ...(world.now < GRANT_ENDS && effectClass !== 'probeable'
    ? [['grant over', { ...world, now: GRANT_ENDS }] as const]
    : []),
];

const wrong = ({ ledger: { status }, applied, fault, statement }: LedgerWorld): readonly string[] => {
  const open = status === 'started' || status === 'in_doubt';
  return [
    ...(fault === undefined ? [] : [fault]),
    // A retry by a person may apply the effect twice.
    ...(applied > 1 && statement?.answer !== 'retry' ? ['applied twice'] : []),
    ...(status === 'applied' && applied === 0 ? ['recorded as applied, and is not'] : []),
    ...(status !== 'applied' && !open && applied > 0 ? ['recorded as not applied, and is'] : []),
  ];
};

/** A task that orders or cancels learns the state: it is reported at once, or a timer will report it. */
const unanswered = (
  { ledger, now }: LedgerWorld,
  effectClass: EffectClass,
  decide: Decide,
): readonly string[] => {
  const order = ORDERS[effectClass].plain;
  const ordered = decide(ledger, { kind: 'run', payload: order, slot: undefined }, now);
  const cancelled = decide(ledger, { kind: 'cancel', payload: { ...about, reason: 'over' } }, now);
  // The key stays with the effect that was ordered first.
  const isConflict = (entryIn(ordered.ledger)?.order.digest ?? order.digest) !== order.digest;
  const next = cancelled.ledger.status === 'in_doubt' ? cancelled.ledger.next : undefined;
  return [
    ...(isAnswered(ordered, isConflict ? 'refused' : ordered.ledger.status) ? [] : ['order not answered']),
    ...(isAnswered(cancelled, cancelled.ledger.status) ? [] : ['cancellation not answered']),
    ...(cancelled.ledger.status === 'prepared' || next === 'repeat' ? ['cancelled, and still to start'] : []),
  ];
};

const isAnswered = ({ ledger, reported }: Decided, expected: string): boolean =>
  ledger.status === 'started' ||
  ledger.status === 'prepared' ||
  (ledger.status === 'in_doubt' && ledger.next !== 'person') ||
  reported.includes(expected);

const RESTS: readonly EffectState['status'][] = [
  'applied',
  'failed_clean',
  'not_applied',
  'refused',
  'cancelled',
];

/** The real executor decider with two executors, a wire, a target, and every sender of its messages. */
export const effectLedger = (of: Ledger): Model<LedgerWorld> => {
  const decide = deciderOf(of.decider);
  return {
    start: {
      ledger: of.decider.initial,
      now: NOW,
      executors: [],
      wire: [],
      applied: 0,
      cancelStored: false,
      fault: undefined,
    },
    steps: (world) => [
      ...orderSteps(world, of, decide),
      ...world.executors.flatMap((start) => executorSteps(world, start, of.effectClass, decide)),
      ...world.wire.flatMap((_, at) => wireSteps(world, at, of.effectClass)),
      ...targetSteps(world, decide),
      ...personSteps(world, of, decide),
      ...outsideSteps(world, of.effectClass, decide),
    ],
    wrong: (world) => [...wrong(world), ...unanswered(world, of.effectClass, decide)],
    rests: ({ ledger }) =>
      RESTS.includes(ledger.status) || (ledger.status === 'in_doubt' && ledger.next === 'person'),
  };
};
