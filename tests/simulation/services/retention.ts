import { EndPhase } from '@holdpoint/contracts/task/status';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { BatchWrite } from '@holdpoint/runtime/engine/ports';
import { watchRetired } from '../invariants/purged.ts';
import type { World } from '../world.ts';

/** By service: the final statuses of its aggregates, as in the migrations. */
const FINAL: Readonly<Record<ServiceName, ReadonlySet<string>>> = {
  orchestrator: new Set(EndPhase.options),
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
/** Timers that do not keep an aggregate. */
const IDLE: ReadonlySet<string> = new Set(['outcome']);
/** Events that name another aggregate of the task. */
const ASKS: ReadonlySet<string> = new Set(['approval_requested', 'step_ordered', 'input_requested']);

/**
 * The shortest retention: longer than any message is late, redelivered or retried, and long enough for
 * several resends.
 */
export const KEEP_MS = 30 * 60_000;
/** By then most tasks have ended, and some still wait. */
const BEGINS_MS = KEEP_MS;
const WITHIN_MS = 40 * 60_000;
const TIMES = 25;

/** Any order works: each service purges its own aggregates. */
const ORDER: readonly ServiceName[] = ['approvals', 'executor', 'recovery', 'orchestrator'];

export type Retire = (service: ServiceName, keepMs: number) => void;

/** The planted bug: records of an open task may be purged. */
export type RetentionBug = { readonly heedless?: boolean };

/**
 * Purges ended aggregates by the rules of the SQL function, on the stores in memory. It shows what services
 * do after a purge; the function itself has integration tests.
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
    // Once everything has ended nothing keeps an aggregate.
    for (const service of ORDER) retire(service, -1);
    check(books.orchestrator.states.keys());
  };
};
