import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectId } from '@holdpoint/contracts/values/ids';
import {
  type ClaimQuery,
  createClaimants,
  type Claimants,
  type FoundOrders,
} from '@holdpoint/executor/adapters/claimants/claimants';
import type { Hint } from '@holdpoint/executor/adapters/claimants/hints';
import type { ToEffect } from '@holdpoint/executor/adapters/runner/runner';
import { type EffectState, isWaiting } from '@holdpoint/executor/effect/state';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import type { Life } from '../process-life.ts';
import type { World } from '../world.ts';

const CALL_MS = 1;

/** What the index of the ledger knows. */
const foundIn = (states: Iterable<EffectState>, { claim, uses, limit }: ClaimQuery): FoundOrders => {
  const held: EffectId[] = [];
  const offered: EffectId[] = [];
  for (const state of states) {
    if (state.status === 'absent' || state.entry === undefined) continue;
    const { id, effect } = state.entry.order;
    if (state.status === 'started' && state.remote?.claim === claim) held.push(id);
    if (state.status === 'prepared' && isWaiting(state) && uses.includes(effect.uses)) offered.push(id);
  }
  return { held, offered: offered.slice(0, limit) };
};

/** The claimants of one executor, with the ledger and the other executors behind a network. */
export const createDesk = (
  world: World,
  life: Life,
  engine: Pick<Engine<ToEffect>, 'accept'>,
  {
    states,
    note,
    others,
  }: {
    /** The states in the ledger when a question arrives. */
    readonly states: () => Iterable<EffectState>;
    readonly note: (order: RunEffect, epoch: number) => Promise<void>;
    readonly others: () => readonly { readonly life: Life; readonly desk: Claimants }[];
  },
): Claimants =>
  createClaimants(engine, {
    self: { worker: life.name, journal: life.name },
    clock: life.clock,
    now: () => life.clock.now(),
    journalStart: note,
    find: (query) =>
      new Promise((resolve) => {
        world.timeline.in(CALL_MS, () => {
          const found = foundIn(states(), query);
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
