import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import {
  type Adoption,
  createAdoption,
  type WaitingOrder,
} from '@holdpoint/executor/adapters/ledger/adoption';
import type { Runner, ToEffect } from '@holdpoint/executor/adapters/runner/runner';
import type { EffectState } from '@holdpoint/executor/effect/state';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import type { Life } from '../process-life.ts';
import type { World } from '../world.ts';

const CALL_MS = 1;
const LOOK_MS = 5_000;
const LOOK_AGAIN_MS = 5_100;

/** Whether executors find an order in the index of waiting orders. */
const isOffered = (state: EffectState | undefined): boolean =>
  state?.status === 'prepared' && !isRemote(state.entry.order.effect.uses);

/** What the index of the ledger knows. */
const foundIn = (states: Iterable<EffectState>): readonly WaitingOrder[] =>
  [...states].flatMap((state) =>
    state.status === 'prepared' && isOffered(state) ? [{ id: state.entry.order.id, createdAt: 0 }] : [],
  );

/** The look of one executor for waiting orders, with the ledger behind a network. */
export const simulatedAdoption = (
  world: World,
  life: Life,
  engine: Pick<Engine<ToEffect>, 'accept'>,
  { states, isQueued }: { readonly states: () => Iterable<EffectState> } & Pick<Runner, 'isQueued'>,
): Adoption =>
  createAdoption(engine, {
    journal: life.name,
    // A new process reads them before it starts any.
    findStarts: () =>
      Promise.resolve(
        [...states()].flatMap((state) =>
          state.status === 'started' ? [{ id: state.entry.order.id, epoch: state.entry.epoch }] : [],
        ),
      ),
    find: () =>
      new Promise((resolve) => {
        world.timeline.in(CALL_MS, () => {
          const found = foundIn(states());
          world.timeline.in(CALL_MS, () => life.enter(() => resolve(found)));
        });
      }),
    isQueued,
    clock: life.clock,
    lookMs: LOOK_MS,
    log: silentLogger(),
  });

/**
 * Lets executors look for orders that wait. They look only while one waits: a clock that moves from event to event would otherwise
 * never stop.
 */
export const lookForWaiting = (
  { books, timeline, watchers }: World,
  executors: () => Iterable<{ readonly life: Life; readonly adoption: Adoption }>,
): void => {
  const watched = new Set<string>();
  const look = (id: string): void => {
    if (!isOffered(books.executor.states.get(id))) return void watched.delete(id);
    // The next look repeats what the ledger refuses now.
    for (const { life, adoption } of executors())
      life.enter(() => void adoption.look().catch(() => undefined));
    timeline.in(LOOK_AGAIN_MS, () => look(id));
  };
  watchers.committed.push((service, { heads }) => {
    for (const { aggregate, status } of heads) {
      if (service !== 'executor' || status !== 'prepared' || watched.has(aggregate)) continue;
      watched.add(aggregate);
      timeline.in(LOOK_AGAIN_MS, () => look(aggregate));
    }
  });
};
