import { explore } from '@holdpoint/runtime/testing/explore';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { describe, expect, test } from 'vitest';
import { about, decider, EFFECT, effectOf, NOW, orderFor, slot } from '../../testing/orders.ts';
import type { EffectMessage } from './decide.ts';
import type { EffectState } from './state.ts';

/** What really became of each start. Epochs may come twice in the world, if the ledger gives them twice. */
type Start = { readonly epoch: number; readonly truth: 'running' | 'applied' | 'failed' };
type World = {
  readonly state: EffectState;
  readonly starts: readonly Start[];
  readonly backup: EffectState | 'none' | 'used';
  /** How much of the journal is still to be brought; nothing starts until it is none. */
  readonly toBring: number;
};

const messages = (order: RunEffect): readonly (readonly [string, EffectMessage])[] => [
  ['run', { kind: 'run', payload: order, slot }],
  ['run again', { kind: 'run', payload: { ...order, attempt: 2 }, slot }],
  ['run without slot', { kind: 'run', payload: order, slot: undefined }],
  ['claim', { kind: 'claim', id: EFFECT, slot }],
  ['cancel', { kind: 'cancel', payload: { ...about, reason: 'over' } }],
  ['lease over', { kind: 'timer', name: 'lease', data: null }],
];

/** As the executor decides while the ledger is not reconciled: without a slot. */
const withoutPlace = (message: EffectMessage): EffectMessage => {
  if (message.kind === 'run') return { ...message, slot: undefined };
  return message.kind === 'claim' ? { kind: 'timer', name: 'slot', data: null } : message;
};

const reach = (world: World, message: EffectMessage): World => {
  const made = decider.decide(world.state, world.toBring > 0 ? withoutPlace(message) : message, { now: NOW });
  const begun = made.work.flatMap((work) =>
    work.kind === 'start' ? [{ epoch: work.epoch, truth: 'running' } as const] : [],
  );
  return {
    ...world,
    state: made.events.reduce((before, event) => decider.evolve(before, event), world.state),
    starts: [...world.starts, ...begun],
  };
};

const ends = (world: World): readonly (readonly [string, World])[] =>
  world.starts.flatMap((start, at) => {
    const become = (truth: Start['truth']): World => ({
      ...world,
      starts: world.starts.map((each, i) => (i === at ? { ...each, truth } : each)),
    });
    const says = (outcome: object): World =>
      reach(world, { kind: 'outcome', epoch: start.epoch, outcome } as EffectMessage);
    const name = `${String(at)} (${String(start.epoch)})`;
    switch (start.truth) {
      case 'running':
        return [
          [`${name} applied`, become('applied')],
          [`${name} failed`, become('failed')],
        ] as const;
      case 'applied':
        return [[`${name} says applied`, says({ kind: 'applied', outputs: {} })]] as const;
      case 'failed': {
        const error = { code: 'X', message: 'no' };
        return [[`${name} says failed`, says({ kind: 'failed_clean', error })]] as const;
      }
    }
  });

type Bringing = (world: World, order: RunEffect) => World;

/** One entry of the journal after the other, oldest first; anything may happen in between. */
const bringNext: Bringing = (world, order) => {
  const start = world.starts[world.starts.length - world.toBring];
  if (start === undefined) throw new Error('there is nothing to bring');
  const told = reach(world, { kind: 'journalled', order, epoch: start.epoch });
  return { ...told, toBring: world.toBring - 1 };
};

const steps =
  (order: RunEffect, bring: Bringing) =>
  (world: World): readonly (readonly [string, World])[] => [
    ...messages(order).map(([label, message]) => [label, reach(world, message)] as const),
    ...ends(world),
    ...(world.backup === 'none' ? [['backup', { ...world, backup: world.state }] as const] : []),
    ...(world.backup === 'none' || world.backup === 'used'
      ? []
      : [['restore', restored(world, world.backup)] as const]),
    ...(world.toBring > 0 ? [['bring', bring(world, order)] as const] : []),
  ];

const restored = (world: World, backup: EffectState): World => ({
  ...world,
  state: backup,
  backup: 'used',
  toBring: world.starts.length,
});

const check = (world: World, order: RunEffect): void => {
  if (order.effect.effectClass === 'opaque')
    expect(world.starts.filter(({ truth }) => truth !== 'failed').length).toBeLessThanOrEqual(1);
  expect(new Set(world.starts.map(({ epoch }) => epoch)).size, 'an epoch is given once').toBe(
    world.starts.length,
  );
  if (world.toBring > 0) return;
  const { status } = world.state;
  const truths = world.starts.map(({ truth }) => truth);
  if (status === 'applied') expect(truths).toContain('applied');
  else if (status !== 'started' && status !== 'in_doubt')
    expect({ status, notFailed: truths.filter((each) => each !== 'failed') }).toEqual({
      status,
      notFailed: [],
    });
};

const search = (order: RunEffect, bring: Bringing, depth: number) =>
  explore<World>({
    start: { state: decider.initial, starts: [], backup: 'none', toBring: 0 },
    steps: steps(order, bring),
    check: ({ world }) => check(world, order),
    depth,
  });

const keyed = orderFor();
const opaque = orderFor(effectOf({ uses: 'cap.http.request', effectClass: 'opaque' }));

describe('a restored ledger', () => {
  test.each([
    ['keyed', keyed, 9, 8_000],
    ['opaque', opaque, 12, 1_000],
  ])('a restored ledger makes no false claim about a %s effect', (_class, order, depth, atLeast) => {
    expect(search(order, bringNext, depth).length).toBeGreaterThanOrEqual(atLeast);
  });
});

test('the check fails when the journal is not replayed', () => {
  const forget: Bringing = (world) => ({ ...world, toBring: 0 });
  // The message says the way there, shortest first.
  expect(() => search(opaque, forget, 9)).toThrow('restore');
  expect(() => search(keyed, forget, 9)).toThrow('restore');
});
