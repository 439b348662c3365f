import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { BatchWrite } from '@holdpoint/runtime/engine/ports';
import { watchRetired } from '../invariants/retired.ts';
import type { World } from '../world.ts';

/** Of the aggregates of each service: what ends them, as in its migrations. */
const FINAL: Readonly<Record<ServiceName, ReadonlySet<string>>> = {
  orchestrator: new Set(['completed', 'failed', 'cancelled']),
  approvals: new Set([
    'approved',
    'rejected',
    'changes_requested',
    'answered',
    'expired',
    'cancelled',
    'withdrawn',
  ]),
  executor: new Set(['applied', 'failed_clean', 'not_applied', 'in_doubt', 'cancelled', 'refused']),
  recovery: new Set(['assessed']),
};
/** Timers that only look after what nobody needs to know any more. */
const IDLE: ReadonlySet<string> = new Set(['outcome']);
/** What a task has asked for, by the events that say so. */
const ASKS: ReadonlySet<string> = new Set(['approval_requested', 'step_ordered', 'input_requested']);

/**
 * The floor, in this world: longer than any message may be late here, or come again, or be tried again by people; and long
 * enough to ask several times, as everybody does who waits. Four days are some thousand times.
 */
export const KEEP_MS = 30 * 60_000;
/** Most tasks have ended by then, and some wait for people or for others until much later. */
const BEGINS_MS = KEEP_MS;
const WITHIN_MS = 40 * 60_000;
const TIMES = 25;

/** In the order of the services, or in any other: each looks after its own. */
const ORDER: readonly ServiceName[] = ['approvals', 'executor', 'recovery', 'orchestrator'];

export type Retire = (service: ServiceName, keepMs: number) => void;

/** What is planted in it: what belongs to a task that has not ended may go as well. */
export type RetentionBug = { readonly heedless?: boolean };

/**
 * What has ended goes, whole, and the task last: the rules of the function `retire` in the schemas, on the stores in memory. So
 * what the services do after something has gone is seen; the function itself is tested where there is a PostgreSQL.
 */
export const startRetention = (world: World, { heedless = false }: RetentionBug = {}): (() => void) => {
  const { databases, timeline, choices, watchers, books } = world;
  const finished = new Map<string, number>();
  const { goes, check } = watchRetired(world);

  watchers.committed.push((service: ServiceName, { heads }: BatchWrite, now) => {
    for (const { aggregate, status } of heads) {
      const key = `${service} ${aggregate}`;
      if (FINAL[service].has(status)) finished.set(key, now);
      else finished.delete(key);
    }
  });

  const has = (service: ServiceName, id: unknown): boolean =>
    typeof id === 'string' && databases[service].tables.heads.has(id);
  const historyOf = (service: ServiceName, id: string): readonly Record<string, unknown>[] =>
    (databases[service].tables.events.get(id) ?? []) as readonly Record<string, unknown>[];
  const hasTimer = (service: ServiceName, id: string, but: ReadonlySet<string> = new Set()): boolean =>
    [...databases[service].tables.timers.values()].some(
      ({ aggregate, name }) => aggregate === id && !but.has(name),
    );

  const isNeeded = (service: ServiceName, id: string, due: number): boolean => {
    if (service === 'orchestrator')
      return (
        has('recovery', id) ||
        historyOf('orchestrator', id).some(
          ({ type, approval, effectId }) =>
            ASKS.has(String(type)) && (has('approvals', approval) || has('executor', effectId)),
        )
      );
    if (heedless) return false;
    const task = service === 'recovery' ? id : historyOf(service, id)[0]?.['task'];
    if (typeof task !== 'string' || !has('orchestrator', task)) return false;
    return (finished.get(`orchestrator ${task}`) ?? Infinity) >= due || hasTimer('orchestrator', task);
  };

  const retire: Retire = (service, keepMs) => {
    const { tables, now, isLocked } = databases[service];
    const [oldest] = tables.outbox.values();
    const due = Math.min(now() - keepMs, oldest?.createdAt ?? Infinity);
    const gone = [...tables.heads.keys()].filter(
      (id) =>
        (finished.get(`${service} ${id}`) ?? Infinity) < due &&
        !isLocked(id) &&
        !hasTimer(service, id, service === 'approvals' ? IDLE : undefined) &&
        !isNeeded(service, id, due),
    );
    goes(service, gone);
    databases[service].retire(gone);
  };

  for (let i = 0; i < TIMES; i += 1) {
    const place = `retention ${String(i)}`;
    const service = choices.pick(place, ORDER);
    timeline.in(choices.between(place, BEGINS_MS, BEGINS_MS + WITHIN_MS), () => retire(service, KEEP_MS));
  }
  return () => {
    // Once everything has ended nothing keeps it: what its task has asked for goes, and then the task.
    for (const service of ORDER) retire(service, -1);
    check(books.orchestrator.states.keys());
  };
};
