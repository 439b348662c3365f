import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { programDecider } from '@holdpoint/programs/decide';
import type { ProgramMessage } from '@holdpoint/programs/messages';
import { isProgram, type Program, type ProgramTaskEvent, type ProgramState } from '@holdpoint/programs/state';
import { awaitCommit } from '@holdpoint/runtime/engine/await-commit';
import { createEngine } from '@holdpoint/runtime/engine/engine';
import { createMemoryStore } from '@holdpoint/runtime/memory/store';
import type { Addressed, AggregateKind } from '@holdpoint/runtime/engine/kinds';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';
import type { Timeline } from './timeline.ts';

/** The orchestrator in memory: the same decider on the same engine as in a deployment. */
export type TestOrchestrator = {
  /** Resolves after the commit; throws `HoldpointError` with the reason of a refusal. */
  readonly tell: (task: string, message: ProgramMessage) => Promise<JsonObject>;
  readonly history: (task: string) => readonly HistoryEntry[];
  /** The task at a version. Throws `HoldpointError` for an unknown task. */
  readonly at: (task: string, version?: number) => Program;
  /** The time of the next timer, in milliseconds since the start of the test. */
  readonly nextTimerAt: () => number | undefined;
  readonly fireTimers: () => void;
  /** Resolves when no decision is pending. */
  readonly idle: () => Promise<void>;
  /** The number of events so far. */
  readonly events: () => number;
};

const CACHED_MAX = 100;
const BATCH_MAX = 50;

type ToProgram = Addressed<'program', ProgramMessage>;

const kinds: { readonly program: AggregateKind<ProgramState, ProgramMessage, ProgramTaskEvent, never> } = {
  program: {
    publishedAs: 'task',
    announcesChanges: true,
    decider: programDecider,
    summarise: ({ phase }) => ({ status: phase, view: null }),
    snapshotDue: () => false,
  },
};

type Parts = {
  readonly timeline: Timeline;
  /** Start of the test's time. Epoch milliseconds. */
  readonly epoch: number;
  /** Receives the orchestrator's messages, including published events. */
  readonly deliver: (message: WireMessage) => void;
  readonly onTrouble: (error: unknown) => void;
};

export const createTestOrchestrator = ({ timeline, epoch, deliver, onTrouble }: Parts): TestOrchestrator => {
  const store = createMemoryStore(() => epoch + timeline.now());
  const histories = new Map<string, HistoryEntry[]>();
  let events = 0;

  const engine = createEngine<ToProgram, ProgramTaskEvent, never>({
    service: 'orchestrator',
    kinds,
    store,
    publisher: {
      publish: (messages) => {
        for (const message of messages) deliver(message);
        return Promise.resolve(true);
      },
    },
    perform: () => undefined,
    onCommitted: (committed) => {
      events += committed.length;
      for (const { aggregate, event, version, at } of committed) {
        const entry = { version, at, type: event.type, data: event as unknown as JsonObject };
        histories.set(aggregate, [...(histories.get(aggregate) ?? []), entry]);
      }
    },
    observer: {
      committed: () => undefined,
      batchFailed: (_messages, error) => onTrouble(error),
      timerFailed: (_aggregate, _name, error) => onTrouble(error),
      publishUnconfirmed: () => undefined,
      callbackFailed: onTrouble,
    },
    batchMax: BATCH_MAX,
    cacheMax: CACHED_MAX,
  });

  return {
    tell: (task, message) => awaitCommit<ToProgram>(engine, { kind: 'program', aggregate: task, message }),
    history: (task) => histories.get(task) ?? [],
    at: (task, version = Infinity) => {
      const entries = (histories.get(task) ?? []).filter((entry) => entry.version <= version);
      const state = entries.reduce<ProgramState>(
        (before, { data }) => programDecider.evolve(before, data as unknown as ProgramTaskEvent),
        programDecider.initial,
      );
      if (isProgram(state)) return state;
      throw new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', `unknown task: ${task}`);
    },
    nextTimerAt: () => {
      const due = [...store.tables.timers.values()].map(({ dueAt }) => dueAt - epoch);
      return due.length === 0 ? undefined : Math.min(...due);
    },
    fireTimers: () => engine.tick(),
    idle: () => engine.idle(),
    events: () => events,
  };
};
