import type { MemoryTables } from '@holdpoint/runtime/memory/store';
import type { World } from '../simulation/world.ts';
import type { Executors } from './executors.ts';

const copyOf = (tables: MemoryTables): MemoryTables => ({
  events: new Map([...tables.events].map(([id, events]) => [id, [...events]])),
  snapshots: new Map(tables.snapshots),
  timers: new Map(tables.timers),
  outbox: new Map([...tables.outbox].map(([id, row]) => [id, { ...row }])),
  heads: new Map(tables.heads),
  listed: new Map(tables.listed),
  shared: new Map(tables.shared),
  deadLetters: [...tables.deadLetters],
});

const refill = <Key, Value>(into: Map<Key, Value>, from: ReadonlyMap<Key, Value>): void => {
  into.clear();
  for (const [key, value] of from) into.set(key, value);
};

/** Longer than a call that is under way. */
const RESTORE_MS = 6_000;

/** Copies of the ledger's database, by the step before which they were made. */
export const createBackups = ({ timeline, databases: { executor }, watchers }: World, isNeeded: boolean) => {
  const copies: MemoryTables[] = [];
  return {
    take: (step: number): void => {
      if (isNeeded) copies[step] = copyOf(executor.tables);
    },
    /** The ledger of an earlier step, in place of the present one. Executors and journals stay. */
    restore: (step: number, { processes, nodes, journals }: Executors): void => {
      const wanted = copies[step] ?? copies.at(-1);
      if (wanted === undefined) return;
      const copy = copyOf(wanted);
      executor.goAway(RESTORE_MS);
      processes.forEach(({ crash }) => crash());
      timeline.in(RESTORE_MS - 1, () => {
        const { tables } = executor;
        refill(tables.events, copy.events);
        refill(tables.snapshots, copy.snapshots);
        refill(tables.timers, copy.timers);
        refill(tables.outbox, copy.outbox);
        refill(tables.heads, copy.heads);
        refill(tables.listed, copy.listed);
        refill(tables.shared, copy.shared);
        tables.deadLetters.splice(0, Infinity, ...copy.deadLetters);
        journals.mistrust();
        // No executor may keep in memory what the database has lost.
        processes.forEach(({ crash }) => crash());
        const nothing = {
          events: [],
          outbox: [],
          announced: [],
          outboxConfirmed: [],
          heads: [],
          snapshots: [],
        };
        const write = { ...nothing, timersSet: [...tables.timers.values()], timersCleared: [] };
        for (const heard of watchers.committed) heard('executor', write, executor.now());
        const sweep = (times: number): void => {
          nodes.forEach((node) => node.sweep());
          if (tables.outbox.size > 0 && times > 0) timeline.in(RESTORE_MS, () => sweep(times - 1));
        };
        timeline.in(RESTORE_MS, () => sweep(20));
      });
    },
  };
};
