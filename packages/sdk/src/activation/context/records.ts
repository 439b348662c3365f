import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type Json } from '@holdpoint/contracts/values/json';
import type { Entry, WorkRecord } from '@holdpoint/contracts/program/recording';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Activity, Branch } from './activity.ts';
import { toJson } from './json-value.ts';
import type { TaskNews } from '../session/port.ts';
import type { Session } from '../session/session.ts';

/** Stands for `undefined`, which JSON cannot store: a repeated step returns `undefined` again. */
const NOTHING = { $holdpoint: 'nothing' } as const;

export const toRecord = (value: Json | undefined): Json => (value === undefined ? NOTHING : value);

export const fromRecord = (recorded: Json): Json | undefined =>
  typeof recorded === 'object' &&
  recorded !== null &&
  '$holdpoint' in recorded &&
  recorded['$holdpoint'] === NOTHING.$holdpoint
    ? undefined
    : recorded;

/** News may be lost, so a waiting phase also polls. */
const ASK_EVERY_MS = 5_000;

type Kinds = { readonly [Kind in Entry['kind']]: Extract<Entry, { readonly kind: Kind }> };

/** The records of a phase in this visit. */
export type Records = {
  readonly find: <Kind extends Entry['kind']>(kind: Kind, key: string) => Kinds[Kind] | undefined;
  /** Throws `HoldpointError` with the orchestrator's reason. */
  readonly record: <Kind extends Entry['kind']>(kind: Kind, record: WorkRecord) => Promise<Kinds[Kind]>;
  /** Returns the recorded value of a key, or runs the function and records its value. */
  readonly once: (branch: Branch, key: string, name: string, run: () => unknown) => Promise<Json | undefined>;
  /** Resolves once the entry has ended. `soonMs`: the earliest useful poll. */
  readonly ended: <Kind extends 'effect' | 'sleep'>(
    branch: Branch,
    entry: Kinds[Kind],
    record: WorkRecord,
    soonMs?: number,
  ) => Promise<Kinds[Kind]>;
  readonly hear: (news: TaskNews) => void;
};

type Parts = {
  readonly entries: readonly Entry[];
  readonly session: Pick<Session, 'record'>;
  readonly activity: Activity;
  readonly clock: Clock;
  readonly isOver: () => boolean;
};

const hasEnded = (entry: Kinds['effect'] | Kinds['sleep']): boolean =>
  entry.kind === 'effect' ? entry.ended !== undefined : entry.over === true;

export const createRecords = ({ entries, session, activity, clock, isOver }: Parts): Records => {
  const known = new Map<string, Entry>(entries.map((entry) => [entry.key, entry]));
  const underWay = new Map<string, Promise<Json | undefined>>();
  const heard = new Set<string>();
  const waiters = new Map<string, Set<() => void>>();

  const find = <Kind extends Entry['kind']>(kind: Kind, key: string): Kinds[Kind] | undefined => {
    const entry = known.get(key);
    return entry?.kind === kind ? (entry as Kinds[Kind]) : undefined;
  };

  const record = async <Kind extends Entry['kind']>(kind: Kind, wanted: WorkRecord): Promise<Kinds[Kind]> => {
    const entry = await session.record(wanted);
    if (entry?.kind !== kind)
      throw new HoldpointError('RUNTIME_POISON', `the orchestrator has not recorded the ${kind}`);
    known.set(entry.key, entry);
    return entry as Kinds[Kind];
  };

  const news = (key: string, withinMs: number): Promise<void> =>
    new Promise((resolve) => {
      const of = waiters.get(key) ?? new Set();
      waiters.set(key, of);
      const wake = (): void => {
        callOff();
        of.delete(wake);
        resolve();
      };
      const callOff = clock.after(withinMs, wake);
      of.add(wake);
      if (heard.delete(key)) wake();
    });

  return {
    find,
    record,
    once: (branch, key, name, run) => {
      const before = underWay.get(key);
      if (before !== undefined) return before;
      const body = async (): Promise<Json | undefined> => {
        const entry = find('step', key);
        if (entry !== undefined) return fromRecord(entry.output);
        const value = await run();
        const output =
          value === undefined ? undefined : toJson(value, { code: 'PROGRAM_OUTPUT_INVALID', what: name });
        const made = await record('step', { kind: 'step', key, output: toRecord(output) });
        return fromRecord(made.output);
      };
      const running = activity.working(branch, body).finally(() => underWay.delete(key));
      underWay.set(key, running);
      return running;
    },
    ended: async <Kind extends 'effect' | 'sleep'>(
      branch: Branch,
      entry: Kinds[Kind],
      wanted: WorkRecord,
      soonMs = ASK_EVERY_MS,
    ) => {
      if (hasEnded(entry)) return entry;
      return activity.waiting(branch, entry.key, async () => {
        for (let waitMs = Math.min(soonMs, ASK_EVERY_MS); ; waitMs = ASK_EVERY_MS) {
          await news(entry.key, waitMs);
          // The activation is over, so the poll stops.
          if (isOver()) return new Promise<never>(() => undefined);
          const now = await record(entry.kind, wanted);
          if (hasEnded(now)) return now;
        }
      });
    },
    hear: (told) => {
      if (told.kind !== 'informed') return;
      const of = waiters.get(told.key);
      if (of === undefined || of.size === 0) heard.add(told.key);
      else for (const wake of of) wake();
    },
  };
};
