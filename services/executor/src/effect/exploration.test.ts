import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { DoubtAnswer } from '@holdpoint/contracts/effect/grant';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import { explore, type Found } from '@holdpoint/runtime/testing/explore';
import { expect, test } from 'vitest';
import {
  about,
  decider,
  EFFECT,
  effectOf,
  forgedGrantFor,
  GRANT_ENDS,
  NOW,
  orderFor,
  place,
  probeableOf,
  resolveFor,
} from '../../testing/orders.ts';
import type { EffectMessage, EffectWork, Outcome } from './decide.ts';
import { type EffectState, entryIn, type Next } from './state.ts';

/** What really became of each start: the ledger knows it only from what it is told. */
type Truth = 'running' | 'applied' | 'failed';
type Probe = Extract<EffectWork, { kind: 'probe' }>;
type World = {
  readonly state: EffectState;
  readonly now: number;
  readonly truth: Readonly<Record<number, Truth>>;
  /** The latest question that the target was asked, which may be answered late, or never. */
  readonly asked?: Pick<Probe, 'epoch' | 'unended'>;
};
type Step = readonly [label: string, next: World];

/** An effect of one class, and everything that may be ordered under its key. */
type Kind = {
  readonly effect: CanonicalEffect;
  /** Answers of people are worth a few steps each: the deepest at which the run takes seconds. */
  readonly depth: number;
  /** Fewer states than this would mean that something which could happen no longer can. */
  readonly statesKnown: number;
  /** Which doubts there are. */
  readonly doubts: readonly Next[];
};

const messagesOf = (
  effect: CanonicalEffect,
): readonly (readonly [label: string, message: EffectMessage])[] => {
  const order = orderFor(effect);
  return [
    ['run', { kind: 'run', payload: order, place }],
    ['run without place', { kind: 'run', payload: order, place: undefined }],
    ['run again', { kind: 'run', payload: { ...order, attempt: 2 }, place }],
    ['run other', { kind: 'run', payload: orderFor({ ...effect, args: { line: 'other' } }), place }],
    ['run forged', { kind: 'run', payload: { ...order, grant: forgedGrantFor(effect) }, place }],
    ['claim', { kind: 'claim', id: EFFECT, place }],
    ['cancel', { kind: 'cancel', payload: { ...about, reason: 'over' } }],
    ['lease over', { kind: 'timer', name: 'lease', data: null }],
    ['offered again', { kind: 'timer', name: 'place', data: null }],
  ];
};

const reach = (world: World, message: EffectMessage): World => {
  const made = decider.decide(world.state, message, { now: world.now });
  const state = made.events.reduce((before, event) => decider.evolve(before, event), world.state);
  const begun = made.work.flatMap((work) =>
    work.kind === 'start' ? [[work.epoch, 'running'] as const] : [],
  );
  const asked = made.work.find((work) => work.kind === 'probe');
  return {
    ...world,
    state: forgetful(state),
    truth: { ...world.truth, ...Object.fromEntries(begun) },
    ...(asked && { asked: { epoch: asked.epoch, unended: asked.unended } }),
  };
};

/** Which attempts came too late is told apart by tests of its own, and would multiply the worlds. */
const forgetful = (state: EffectState): EffectState => {
  const entry = entryIn(state);
  if (state.status === 'absent' || entry?.prevented === undefined) return state;
  const { prevented: _, ...rest } = entry;
  return { ...state, entry: rest };
};

/** What a worker may honestly report: `unknown` whatever happened, anything else only when it is so. */
const reports = (truth: Truth): readonly Outcome[] => [
  ...(truth === 'running' ? [] : [{ kind: 'unknown', reason: 'reset' } as const]),
  ...(truth === 'applied' ? [{ kind: 'applied', outputs: {} } as const] : []),
  ...(truth === 'failed' ? [{ kind: 'failed_clean', error: { code: 'X', message: 'no' } } as const] : []),
];

/** Each start ends in the world when it likes, and reports when it likes, if at all and as often as it likes. */
const workerSteps = (world: World, epoch: number, truth: Truth): readonly Step[] => [
  ...(truth === 'running' ? (['applied', 'failed'] as const) : []).map(
    (end) => [`${String(epoch)} ${end}`, { ...world, truth: { ...world.truth, [epoch]: end } }] as const,
  ),
  ...reports(truth).map(
    (outcome) =>
      [`${String(epoch)} says ${outcome.kind}`, reach(world, { kind: 'outcome', epoch, outcome })] as const,
  ),
];

/** The target tells what is so. That it was not applied is said once all is over that is not known to be. */
const targetSteps = (world: World): readonly Step[] => {
  const { asked, truth } = world;
  if (asked === undefined) return [];
  const { epoch } = asked;
  const isOver = asked.unended.every((start) => truth[start.epoch] !== 'running');
  const honest = Object.values(truth).includes('applied') ? 'applied' : isOver ? 'not_applied' : 'unproven';
  return ([honest, 'unknown'] as const).map((found) => [
    `target says ${found} of ${String(epoch)}`,
    reach(world, { kind: 'probed', epoch, finding: { found, reason: '' } }),
  ]);
};

/** People say what is so, and that it did not happen only when nothing of it is under way any more. */
const personSteps = (world: World, effect: CanonicalEffect): readonly Step[] => {
  const { state, truth } = world;
  if (state.status !== 'in_doubt') return [];
  const starts = Object.values(truth);
  const answers = [
    ...(starts.includes('applied') ? (['applied'] as const) : []),
    ...(starts.every((start) => start === 'failed') ? (['not_applied'] as const) : []),
    'retry' as const,
  ];
  return answers.map((answer) => [
    `somebody says ${answer}`,
    reach(world, { kind: 'resolve', payload: resolutionOf(answer, state.entry.epoch, effect) }),
  ]);
};

const signed = new Map<string, ResolveEffect>();
/** Signing takes longer than all the rest. */
const resolutionOf = (answer: DoubtAnswer, epoch: number, effect: CanonicalEffect): ResolveEffect => {
  const key = `${answer} ${String(epoch)} ${effect.effectClass}`;
  const known = signed.get(key) ?? resolveFor(answer, epoch, effect);
  signed.set(key, known);
  return known;
};

const stepsOf = (effect: CanonicalEffect) => {
  const messages = messagesOf(effect);
  return (world: World): readonly Step[] => [
    ...messages.map(([label, message]) => [label, reach(world, message)] as const),
    ...Object.entries(world.truth).flatMap(([epoch, truth]) => workerSteps(world, Number(epoch), truth)),
    ...targetSteps(world),
    ...personSteps(world, effect),
    ...(world.now < GRANT_ENDS ? [['grant over', { ...world, now: GRANT_ENDS }] as const] : []),
  ];
};

const check = ({ state, truth }: World): void => {
  const starts = Object.values(truth);
  // What the ledger is sure of is so, and stays so: nothing that may still happen contradicts it.
  if (state.status === 'applied') expect(starts).toContain('applied');
  else if (state.status !== 'started' && state.status !== 'in_doubt') {
    expect({ status: state.status, starts: starts.filter((each) => each !== 'failed') }).toEqual({
      status: state.status,
      starts: [],
    });
  }
};

/** Whoever orders or cancels is told what is so, now or later: it is stated, or a timer makes it so. */
const checkAnswered = ({ world: { state, now }, way }: Found<World>, order: RunEffect): void => {
  const said = `after ${way.join(', ')}`;
  for (const message of [
    { kind: 'run', payload: order, place: undefined },
    { kind: 'cancel', payload: { ...about, reason: 'over' } },
  ] as const) {
    const made = decider.decide(state, message, { now });
    const after = made.events.reduce((before, event) => decider.evolve(before, event), state);
    const told = [...made.events, ...made.send.map(({ data }) => data as EffectEvent)].map(
      ({ type }) => type,
    );
    const goesOn =
      after.status === 'started' ||
      after.status === 'prepared' ||
      (after.status === 'in_doubt' && after.next !== 'person');
    if (message.kind === 'cancel') expect(after.status, said).not.toBe('prepared');
    if (message.kind === 'cancel' && after.status === 'in_doubt') expect(after.next, said).not.toBe('repeat');
    // The key belongs to another effect for ever.
    const ordered = entryIn(after)?.order.digest ?? order.digest;
    const conflict = message.kind === 'run' && ordered !== order.digest;
    if (!goesOn) expect(told, `${message.kind} ${said}`).toContain(conflict ? 'refused' : after.status);
  }
};

const KINDS: readonly Kind[] = [
  { effect: effectOf(), depth: 9, statesKnown: 10_624, doubts: ['person', 'repeat'] },
  {
    effect: effectOf({ uses: 'cap.http.request', effectClass: 'opaque' }),
    depth: 9,
    statesKnown: 4_812,
    doubts: ['person', 'repeat'],
  },
  { effect: probeableOf(), depth: 11, statesKnown: 7_958, doubts: ['person', 'probe', 'repeat'] },
];

test.each(KINDS)(
  'whatever the bus, the workers, the target, people and the clock do, the ledger claims nothing that is not so: $effect.effectClass',
  ({ effect, depth, statesKnown, doubts }) => {
    const found = explore<World>({
      start: { state: decider.initial, now: NOW, truth: {} },
      steps: stepsOf(effect),
      check: ({ world }) => check(world),
      depth,
    });
    // What really became of the starts is not known to the ledger: worlds that differ in it alone answer the same.
    const known = new Map(
      found.toReversed().map((each) => [JSON.stringify([each.world.state, each.world.now]), each]),
    );
    const order = orderFor(effect);
    for (const each of known.values()) checkAnswered(each, order);
    const statuses = new Set(
      found.map(({ world: { state } }) =>
        state.status === 'in_doubt' ? `in_doubt: ${state.next}` : state.status,
      ),
    );
    expect([...statuses].toSorted()).toEqual([
      'absent',
      'applied',
      'cancelled',
      'failed_clean',
      ...doubts.map((next) => `in_doubt: ${next}`),
      'not_applied',
      'prepared',
      'refused',
      'started',
    ]);
    expect(found.length).toBeGreaterThanOrEqual(statesKnown);
  },
);
