import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { Claimants } from '@holdpoint/executor/adapters/claimants/claimants';
import type { JournalEntry } from '@holdpoint/executor/adapters/journal/segments';
import { reportJournalled } from '@holdpoint/executor/adapters/ledger/reconciler';
import { allEndedFor } from '@holdpoint/executor/adapters/runner/execute';
import { createRunner, type ToEffect } from '@holdpoint/executor/adapters/runner/runner';
import { createSlots } from '@holdpoint/executor/adapters/slots/slots';
import { executorBindings, executorKinds } from '@holdpoint/executor/bindings';
import type { createEffectDecider, EffectWork } from '@holdpoint/executor/effect/decide';
import type { EffectState } from '@holdpoint/executor/effect/state';
import { type Capability, CleanFailure, OutcomeUnknown } from '@holdpoint/executor/ports/capability';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { z } from 'zod';
import type { Life } from '../simulation/process-life.ts';
import { addNode, createProcess, type Node, type SimulatedProcess } from '../simulation/services/replica.ts';
import type { World } from '../simulation/world.ts';
import { simulatedAdoption } from '../simulation/services/adoption.ts';
import { createDesk } from '../simulation/services/claims-desk.ts';
import type { Work } from './function.ts';
import { usesOf } from './orders.ts';

type Decider = ReturnType<typeof createEffectDecider>;

/** Journals on disks: they outlive their processes and every database. */
export type Journals = {
  readonly entries: ReadonlyMap<string, readonly JournalEntry[]>;
  /** From now on no effect starts until each executor has reported its journal. */
  readonly mistrust: () => void;
};

export type Executors = {
  readonly nodes: readonly Node<ToEffect>[];
  readonly processes: readonly SimulatedProcess[];
  readonly journals: Journals;
  /** Where claimants ask, in the order of the nodes. */
  readonly desks: () => readonly (Claimants | undefined)[];
};

const EXECUTORS = 2;
const SLOTS = 2;
const NOTE_MS = 1;
const LOOKS_AGAIN_MS = 200;

const log = silentLogger();
const Args = z.record(z.string(), z.unknown());

/** The function of the story as a capability inside the executor. */
const capabilityOf = (effectClass: EffectClass, life: Life, work: Work): Capability<typeof Args> => ({
  uses: usesOf('executor', effectClass),
  input: Args,
  run: async (_args, { order, epoch, assertInForce }) => {
    const result = await work.run(life, { order, epoch, assertInForce });
    if (result.kind === 'applied') return result.outputs;
    if (result.kind === 'unknown') throw new OutcomeUnknown(result.reason);
    throw new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', result.error.message));
  },
  ...(effectClass === 'probeable' && {
    probe: async () => ({ found: await work.probe(life), reason: 'as the target says' }),
  }),
});

/** Two executors on one ledger, with their real deciders, intakes, slots and runners. */
export const startExecutors = (
  world: World,
  { id: effect, effect: { effectClass } }: RunEffect,
  decider: Decider,
  work: Work,
): Executors => {
  const entries = new Map<string, JournalEntry[]>();
  const reported = new Map<string, number>();
  let generation = 0;
  const names = Array.from({ length: EXECUTORS }, (_, index) => `executor.${String(index + 1)}`);
  const isTrusted = (): boolean => names.every((name) => reported.get(name) === generation);
  for (const name of names) reported.set(name, generation);
  const desks = new Map<string, { readonly life: Life; readonly desk: Claimants }>();

  const logicFor = (
    life: Life,
    _crash: () => void,
    engine: Pick<Engine<ToEffect>, 'accept'>,
  ): ServiceLogic<ToEffect, EffectEvent, EffectWork> => {
    const { name } = life;
    const slots = createSlots({ worker: name, journal: name }, SLOTS);
    slots.close();
    const note = (order: RunEffect, epoch: number): Promise<void> =>
      new Promise((resolve) => {
        life.clock.after(NOTE_MS, () => {
          const before = entries.get(name) ?? [];
          entries.set(name, [...before, { order, epoch, position: before.length + 1, at: 0 }]);
          resolve();
        });
      });
    const runner = createRunner({
      capabilities: new Map([[usesOf('executor', effectClass), capabilityOf(effectClass, life, work)]]),
      slots,
      clock: life.clock,
      journalStart: note,
      allEnded: allEndedFor((journal) => journal === name),
      log,
    });
    /** Reports what the ledger may have lost, and opens once every executor has. */
    const reconcile = (): void => {
      const mine = generation;
      if (reported.get(name) === mine) {
        if (isTrusted()) slots.open();
        else slots.close();
        return;
      }
      slots.close();
      const all = entries.get(name) ?? [];
      const report = async (): Promise<void> => {
        for (const entry of all) await reportJournalled(engine, entry);
        reported.set(name, mine);
      };
      report().catch(() => undefined);
    };
    const states = (): readonly EffectState[] => {
      const { events } = world.databases.executor.tables;
      const stored = (events.get(effect) ?? []) as readonly EffectEvent[];
      return [stored.reduce((before, event) => decider.evolve(before, event), decider.initial)];
    };
    const claimants = createDesk(world, life, engine, {
      states,
      note,
      others: () => [...desks.values()].filter(({ life: other }) => other !== life && other.isAlive()),
    });
    desks.set(name, { life, desk: claimants });
    const adoption = simulatedAdoption(world, life, engine, { states, isQueued: runner.isQueued });
    void adoption.endFormerStarts();
    const look = (): void => {
      reconcile();
      if (slots.areOpen()) {
        claimants.open();
        adoption.open();
        // The next look repeats what the ledger refuses now.
        adoption.look().catch(() => undefined);
      }
      // Only while there is something to wait for: the timeline would never end otherwise.
      const waits = [...states()].some(({ status }) => status === 'prepared');
      if (!slots.areOpen() || waits) life.clock.after(LOOKS_AGAIN_MS, look);
    };
    life.clock.after(0, look);
    return {
      service: 'executor',
      kinds: executorKinds(decider),
      ...executorBindings({ slots, runner, claimants, pools: [DEFAULT_POOL] }),
    };
  };

  const processes = names.map((name) => createProcess(world, name));
  const nodes = processes.map((process, index) => addNode(world, process, names[index] ?? '', logicFor));
  for (const { start } of processes) start();
  return {
    nodes,
    processes,
    desks: () => names.map((name) => desks.get(name)?.desk),
    journals: {
      entries,
      mistrust: () => {
        generation += 1;
      },
    },
  };
};
