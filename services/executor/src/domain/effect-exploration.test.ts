import type { EffectEvent } from '@holdpoint/contracts/effect';
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
} from '../testing/orders.ts';
import type { EffectMessage, Outcome } from './effect.ts';
import { type EffectState, entryIn } from './ledger.ts';

/** What really became of each start: the ledger knows it only from what it is told. */
type Truth = 'running' | 'applied' | 'failed';
type World = {
  readonly state: EffectState;
  readonly now: number;
  readonly truth: Readonly<Record<number, Truth>>;
};
type Step = readonly [label: string, next: World];

const order = orderFor();
const other = orderFor(effectOf({ args: { file: 'sample.txt', line: 'other' } }));

const messages: readonly (readonly [label: string, message: EffectMessage])[] = [
  ['run', { kind: 'run', payload: order, place }],
  ['run without place', { kind: 'run', payload: order, place: undefined }],
  ['run again', { kind: 'run', payload: { ...order, attempt: 2 }, place }],
  ['run other', { kind: 'run', payload: other, place }],
  ['run forged', { kind: 'run', payload: { ...order, grant: forgedGrantFor(effectOf()) }, place }],
  ['claim', { kind: 'claim', id: EFFECT, place }],
  ['cancel', { kind: 'cancel', payload: { ...about, reason: 'over' } }],
  ['lease over', { kind: 'timer', name: 'lease', data: null }],
  ['offered again', { kind: 'timer', name: 'place', data: null }],
];

const reach = (world: World, message: EffectMessage): World => {
  const made = decider.decide(world.state, message, { now: world.now });
  const state = made.events.reduce((before, event) => decider.evolve(before, event), world.state);
  const begun = made.work.flatMap((work) =>
    work.kind === 'start' ? [[work.epoch, 'running'] as const] : [],
  );
  return { ...world, state, truth: { ...world.truth, ...Object.fromEntries(begun) } };
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

const steps = (world: World): readonly Step[] => [
  ...messages.map(([label, message]) => [label, reach(world, message)] as const),
  ...Object.entries(world.truth).flatMap(([epoch, truth]) => workerSteps(world, Number(epoch), truth)),
  ...(world.now < GRANT_ENDS ? [['grant over', { ...world, now: GRANT_ENDS }] as const] : []),
];

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
const checkAnswered = ({ world: { state, now }, way }: Found<World>): void => {
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
      (after.status === 'in_doubt' && after.next === 'repeat');
    if (message.kind === 'cancel') expect(after.status, said).not.toBe('prepared');
    if (message.kind === 'cancel' && after.status === 'in_doubt') expect(after.next, said).toBe('person');
    // The key belongs to another effect for ever.
    const ordered = entryIn(after)?.order.digest ?? order.digest;
    const conflict = message.kind === 'run' && ordered !== order.digest;
    if (!goesOn) expect(told, `${message.kind} ${said}`).toContain(conflict ? 'refused' : after.status);
  }
};

const DEPTH = 10;
/** Fewer states than this would mean that something which could happen no longer can. */
const STATES_KNOWN = 5_519;

test('whatever the bus, the workers and the clock do, the ledger claims nothing that is not so', () => {
  const found = explore<World>({
    start: { state: decider.initial, now: NOW, truth: {} },
    steps,
    check: ({ world }) => check(world),
    depth: DEPTH,
  });
  // What really became of the starts is not known to the ledger: worlds that differ in it alone answer the same.
  const known = new Map(
    found.toReversed().map((each) => [JSON.stringify([each.world.state, each.world.now]), each]),
  );
  for (const each of known.values()) checkAnswered(each);
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
    'in_doubt: person',
    'in_doubt: repeat',
    'prepared',
    'refused',
    'started',
  ]);
  expect(found.length).toBeGreaterThanOrEqual(STATES_KNOWN);
});
