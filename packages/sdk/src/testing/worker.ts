import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type WorkRequest, WorkAnswer, WorkOrder } from '@holdpoint/contracts/program/work';
import { asSent, sha256Of } from '@holdpoint/contracts/values/json';
import { artifactUriOf } from '@holdpoint/contracts/effect/stored-artifact';
import { type RunningActivation, startActivation } from '../activation/activation.ts';
import type { TaskNews, WorkerLog, WorkPort } from '../activation/session/port.ts';
import type { Workflow } from '../definition/workflow.ts';
import { createKnownOrders } from '../worker/known-orders.ts';
import type { CrashPoint, Faults } from './faults.ts';
import type { TestOrchestrator } from './orchestrator.ts';
import { clockOf, type Timeline } from './timeline.ts';

/** The bus redelivers an unacknowledged order after this time. */
const ACK_WAIT_MS = 30_000;
const RESTART_MS = 1_000;

export type TestWorkers = {
  /** Receives an order from the bus. */
  readonly take: (order: WorkOrder) => void;
  readonly hear: (task: string, news: TaskNews) => void;
  /** Whether a phase does more than wait. */
  readonly isBusy: () => boolean;
  readonly crash: () => void;
  /** Resolves when the worker has stopped, as on SIGTERM; the next one starts after a second. */
  readonly restart: () => Promise<void>;
  readonly fetch: WorkPort['fetch'];
  readonly stop: () => void;
};

export type TestWorkersParts = {
  readonly workflows: readonly Workflow[];
  readonly orchestrator: TestOrchestrator;
  readonly timeline: Timeline;
  readonly faults: Faults;
  readonly parkMs: number;
  readonly log: WorkerLog;
  /** Reports activity. */
  readonly stir: () => void;
};

type Process = {
  readonly name: string;
  isAlive: boolean;
  isStopping: boolean;
  readonly running: Set<RunningActivation>;
  readonly known: ReturnType<typeof createKnownOrders>;
};

const never = <Value>(): Promise<Value> => new Promise(() => undefined);

/** Runs one worker at a time. After a crash, the next one starts a second later without any memory. */
export const createTestWorkers = (parts: TestWorkersParts): TestWorkers => {
  const { orchestrator, timeline, faults, parkMs, log, stir } = parts;
  const workflows = new Map(parts.workflows.map((workflow) => [workflow.hash, workflow]));
  const artifacts = new Map<string, Uint8Array>();
  const listeners = new Map<string, Set<(news: TaskNews) => void>>();
  /** Unacknowledged orders. */
  const waiting = new Set<WorkOrder>();
  let lives = 0;
  let stopped = false;

  const born = (): Process => {
    lives += 1;
    return {
      name: `worker-${String(lives)}`,
      isAlive: true,
      isStopping: false,
      running: new Set(),
      known: createKnownOrders(),
    };
  };
  let process = born();

  const end = (dying: Process): void => {
    if (!dying.isAlive) return;
    dying.isAlive = false;
    stir();
    timeline.after(RESTART_MS, () => {
      if (stopped) return;
      process = born();
      for (const order of waiting) deliver(order);
    });
  };

  /** The process may crash before or after each request; its pending calls never resolve. */
  const sayAs =
    (life: Process, phase: string): WorkPort['say'] =>
    async (said: WorkRequest) => {
      const dies = (point: CrashPoint): boolean => {
        const now = life.isAlive && faults.crashes(point, phase);
        if (now) end(life);
        return !life.isAlive;
      };
      const { kind } = said.request;
      stir();
      if (dies(`before:${kind}`)) return never();
      if (faults.isLost('request')) throw new HoldpointError('RUNTIME_UNAVAILABLE', 'a request was lost');
      const message = { kind: 'work', payload: asSent(said) as WorkRequest } as const;
      const telling = orchestrator.tell(said.task, message);
      if (faults.isDoubled('request')) orchestrator.tell(said.task, message).catch(() => undefined);
      const answer = await telling.finally(() => stir());
      if (dies(`after:${kind}`)) return never();
      if (faults.isLost('answer')) throw new HoldpointError('RUNTIME_UNAVAILABLE', 'an answer was lost');
      return WorkAnswer.parse(answer);
    };

  const fetch: WorkPort['fetch'] = ({ uri }) => {
    const content = artifacts.get(uri);
    return content === undefined
      ? Promise.reject(new HoldpointError('EXECUTOR_UNKNOWN_ARTIFACT', `there is no ${uri}`))
      : Promise.resolve(content);
  };

  const portOf = (life: Process, phase: string): WorkPort => ({
    say: sayAs(life, phase),
    keep: (content, { name, mediaType }) => {
      const sha256 = sha256Of(content);
      const uri = artifactUriOf(sha256);
      artifacts.set(uri, content);
      return Promise.resolve({ uri, sha256, bytes: content.length, mediaType, name });
    },
    fetch,
    listen: (task, hear) => {
      const of = listeners.get(task) ?? new Set();
      listeners.set(task, of);
      const own = (news: TaskNews): void => {
        if (life.isAlive) hear(news);
      };
      of.add(own);
      return () => void of.delete(own);
    },
  });

  const work = async (life: Process, order: WorkOrder, workflow: Workflow): Promise<void> => {
    if (!life.known.add(order.task, order.lease)) return void waiting.delete(order);
    const activation = startActivation({
      workflow,
      order,
      port: portOf(life, order.node),
      clock: clockOf(timeline, () => life.isAlive),
      worker: life.name,
      parkMs,
      log,
      acknowledge: () => {
        if (life.isAlive) waiting.delete(order);
      },
    });
    life.running.add(activation);
    await activation.done;
    life.running.delete(activation);
    if (waiting.has(order)) life.known.forget(order.task, order.lease);
    stir();
  };

  const deliver = (order: WorkOrder): void => {
    const workflow = workflows.get(order.program.hash);
    if (workflow === undefined || !waiting.has(order) || !process.isAlive || process.isStopping) return;
    timeline.after(ACK_WAIT_MS, () => {
      if (waiting.has(order)) deliver(order);
    });
    stir();
    void work(process, order, workflow);
  };

  return {
    take: (data) => {
      if (faults.isLost('order')) return;
      const order = WorkOrder.parse(data);
      const copies = faults.isDoubled('order') ? [order, { ...order }] : [order];
      for (const copy of copies) {
        waiting.add(copy);
        deliver(copy);
      }
    },
    hear: (task, news) => {
      if (faults.isLost('news')) return;
      stir();
      for (const hear of listeners.get(task) ?? []) hear(news);
    },
    isBusy: () => process.isAlive && [...process.running].some((activation) => !activation.isWaiting()),
    crash: () => end(process),
    restart: async () => {
      const stopping = process;
      stopping.isStopping = true;
      for (const activation of stopping.running) activation.giveBack('the worker stops');
      await Promise.all([...stopping.running].map(({ done }) => done));
      end(stopping);
    },
    fetch,
    stop: () => {
      stopped = true;
      process.isAlive = false;
    },
  };
};
