import type { CancelApproval, RequestApproval } from '@holdpoint/contracts/approval/commands';
import type { WorkOrder } from '@holdpoint/contracts/program/work';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';
import { failureOf } from '../activation/phases/failure.ts';
import type { WorkerLine } from '../activation/session/port.ts';
import { type Client, clientOver } from '../client/create-client.ts';
import type { Workflow } from '../definition/workflow.ts';
import { createClientPort } from './client-port.ts';
import { startDriver } from './driver.ts';
import { type ExecuteEffect, createEffects, type TestEffect, type TestEffectEnd } from './effects.ts';
import { type TestMessage, type CrashOptions, type CrashPoint, createFaults } from './faults.ts';
import { createTestOrchestrator } from './orchestrator.ts';
import { type AnswerQuestion, createTestApprovals, type TestAnswer, type TestQuestion } from './approvals.ts';
import { createTimeline } from './timeline.ts';
import { createTestWorkers } from './worker.ts';

export type TestEnvironmentOptions = {
  readonly workflows: readonly Workflow[];
  /** Start of the test's time, in epoch milliseconds; 1 January 2026 by default. */
  readonly epoch?: number;
  /** As for a worker; 30 s of the test's time by default. */
  readonly parkMs?: number;
  /**
   * Time passes once no phase has been active for this long: 50 real milliseconds by default. Raise it for
   * phases that wait for something real.
   */
  readonly graceMs?: number;
};

/**
 * A complete system in memory: orchestrator, workers, approvals, effects, and a clock that skips idle time.
 */
export type TestEnvironment = {
  /** The same client as on the bus. */
  readonly client: Client;
  readonly start: Client['start'];
  /**
   * Answers questions, by a function or by a list in order of the questions. Without it, time stops at a
   * question.
   */
  readonly onInput: (answering: AnswerQuestion | readonly TestAnswer[]) => void;
  /** Decides the result of effects; by default each succeeds without outputs. */
  readonly onEffect: (carryingOut: ExecuteEffect) => void;
  /** Open questions. */
  readonly questions: () => readonly TestQuestion[];
  readonly answer: (question: TestQuestion, answer: TestAnswer) => void;
  /** The requested effects, each once. */
  readonly effects: () => readonly TestEffect[];
  /** Ends a pending effect. */
  readonly endEffect: (idempotencyKey: string, end: TestEffectEnd) => void;
  /** The test's time, in epoch milliseconds. */
  readonly now: () => number;
  /** Lets this much time pass, even during open questions. */
  readonly advance: (ms: number) => Promise<void>;
  /** Resolves when nothing more happens by itself: everything ended, or a question is open. */
  readonly settled: () => Promise<void>;
  /** Crashes the worker there; the next one starts after a second without any memory. */
  readonly crashWorkerAt: (point: CrashPoint, options?: CrashOptions) => void;
  readonly crashWorker: () => void;
  /** Stops the worker as on SIGTERM: it hands unfinished phases back. */
  readonly restartWorker: () => Promise<void>;
  readonly lose: (what: TestMessage, times?: number) => void;
  readonly double: (what: 'order' | 'request', times?: number) => void;
  /** The log lines of phases and the worker. */
  readonly lines: () => readonly WorkerLine[];
  readonly stop: () => void;
};

const EPOCH = Date.UTC(2026, 0, 1);
const PARK_MS = 30_000;
const GRACE_MS = 50;

/** Runs workflows with the orchestrator's real decisions and the real worker code, without real delays. */
export const createTestEnvironment = (options: TestEnvironmentOptions): TestEnvironment => {
  const { workflows, epoch = EPOCH, parkMs = PARK_MS, graceMs = GRACE_MS } = options;
  const timeline = createTimeline();
  const faults = createFaults();
  const lines: WorkerLine[] = [];
  const log = (line: WorkerLine): void => void lines.push(line);
  const trouble = (error: unknown): void =>
    log({ level: 'error', message: 'the orchestrator failed', fields: { error: failureOf(error).message } });

  /** Delivers asynchronously: no call is answered within itself. */
  const deliver = (message: WireMessage): void => {
    driver.stir();
    queueMicrotask(() => route(message));
  };
  const orchestrator = createTestOrchestrator({ timeline, epoch, deliver, onTrouble: trouble });
  const tell: Parameters<typeof createTestApprovals>[2] & Parameters<typeof createEffects>[1] = (
    task,
    message,
  ) => {
    driver.stir();
    orchestrator.tell(task, message).catch(trouble);
  };
  const people = createTestApprovals(timeline, epoch, tell);
  const effects = createEffects(timeline, tell);
  const driver = startDriver({
    now: timeline.now,
    nextAt: () => {
      const all = [timeline.nextAt(), orchestrator.nextTimerAt()].filter((at) => at !== undefined);
      return all.length === 0 ? undefined : Math.max(Math.min(...all), timeline.now());
    },
    moveTo: (time) => {
      timeline.moveTo(time);
      orchestrator.fireTimers();
    },
    isBusy: () => workers.isBusy(),
    idle: () => orchestrator.idle(),
    maySkip: () => people.open().length === 0,
    isAwaited: effects.isAnyUnderWay,
    events: () => orchestrator.events(),
    graceMs,
  });
  const workers = createTestWorkers({
    workflows,
    orchestrator,
    timeline,
    faults,
    parkMs,
    log,
    stir: driver.stir,
  });
  const { port, ring } = createClientPort(workflows, orchestrator, people, workers.fetch);
  const client = clientOver(
    { ...port, ask: (...asked) => (driver.stir(), port.ask(...asked).finally(driver.stir)) },
    'the token of a tester',
  );

  const route = (message: WireMessage): void => {
    const [, area, aggregate, command] = message.subject.split('.');
    const data = JSON.parse(message.body) as Readonly<
      Record<'id' | 'watcher' | 'type' | 'key' | 'reason', string>
    >;
    if (area === 'evt') {
      const { id, type, key, reason } = data;
      ring(id);
      if (type === 'phase_entry_completed') workers.hear(id, { kind: 'informed', key });
      if (type === 'cancelled') workers.hear(id, { kind: 'cancelled', reason });
      return;
    }
    if (area === 'work') return workers.take(data as unknown as WorkOrder);
    switch (`${String(aggregate)}.${String(command)}`) {
      case 'task.submit':
        return effects.submit(data as unknown as SubmitTask);
      case 'task.watch':
        return effects.watch(data.id, data.watcher);
      case 'task.cancel':
        return effects.cancel(data.id);
      case 'approval.request':
        return people.ask(data as unknown as RequestApproval);
      case 'approval.cancel': {
        const { task, node, revision } = data as unknown as CancelApproval;
        if (task !== undefined && node !== undefined && revision !== undefined)
          people.cancel(data.id, { task, node, revision });
        return undefined;
      }
      default:
        return undefined;
    }
  };

  return {
    client,
    start: client.start,
    onInput: (answering) => {
      people.answerWith(answering);
      driver.stir();
    },
    onEffect: effects.carryOutWith,
    questions: people.open,
    answer: ({ approval }, answer) => people.decide(approval, answer),
    effects: effects.all,
    endEffect: effects.end,
    now: () => epoch + timeline.now(),
    advance: driver.advance,
    settled: driver.settled,
    crashWorkerAt: faults.crashAt,
    crashWorker: () => workers.crash(),
    restartWorker: () => workers.restart(),
    lose: (what, times = 1) => faults.lose(what, times),
    double: (what, times = 1) => faults.double(what, times),
    lines: () => lines,
    stop: () => {
      workers.stop();
      driver.stop();
    },
  };
};
