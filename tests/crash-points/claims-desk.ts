import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import {
  createClaimants,
  type Claimants,
  type FoundOrders,
} from '@holdpoint/executor/adapters/claimants/claimants';
import type { Hint } from '@holdpoint/executor/adapters/claimants/hints';
import type { ToEffect } from '@holdpoint/executor/adapters/runner/runner';
import type { createEffectDecider } from '@holdpoint/executor/effect/decide';
import { type EffectState, isWaiting } from '@holdpoint/executor/effect/state';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import type { Life } from '../simulation/process-life.ts';
import type { World } from '../simulation/world.ts';

const CALL_MS = 1;

/** What the index of the ledger knows of one effect. */
const foundIn = (state: EffectState, claim: string, uses: readonly string[]): FoundOrders => {
  if (state.status === 'absent' || state.entry === undefined) return { held: [], offered: [] };
  const { id, effect } = state.entry.order;
  const held = state.status === 'started' && state.remote?.claim === claim ? [id] : [];
  const isOffered = state.status === 'prepared' && isWaiting(state) && uses.includes(effect.uses);
  return { held, offered: isOffered ? [id] : [] };
};

/** The claimants of one executor, with the ledger and the other executors behind a network. */
export const createDesk = (
  world: World,
  life: Life,
  engine: Pick<Engine<ToEffect>, 'accept'>,
  {
    effect,
    decider,
    note,
    others,
  }: {
    readonly effect: RunEffect['id'];
    readonly decider: Pick<ReturnType<typeof createEffectDecider>, 'initial' | 'evolve'>;
    readonly note: (order: RunEffect, epoch: number) => Promise<void>;
    readonly others: () => readonly { readonly life: Life; readonly desk: Claimants }[];
  },
): Claimants =>
  createClaimants(engine, {
    self: { worker: life.name, journal: life.name },
    clock: life.clock,
    now: () => life.clock.now(),
    journalStart: note,
    find: ({ claim, uses }) =>
      new Promise((resolve) => {
        world.timeline.in(CALL_MS, () => {
          const { events } = world.databases.executor.tables;
          const stored = (events.get(effect) ?? []) as readonly EffectEvent[];
          const state = stored.reduce((before, event) => decider.evolve(before, event), decider.initial);
          const found = foundIn(state, claim, uses);
          world.timeline.in(CALL_MS, () => life.enter(() => resolve(found)));
        });
      }),
    claimed: () => Promise.resolve([]),
    announce: (hint: Hint) => {
      for (const other of others())
        world.timeline.in(CALL_MS, () => other.life.enter(() => other.desk.hear(hint)));
    },
    log: silentLogger(),
  });
