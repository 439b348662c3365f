import { hostname } from 'node:os';
import { WorkOrder } from '@holdpoint/contracts/program/work';
import { parseJson } from '@holdpoint/runtime/engine/inbound';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { JsMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { type RunningActivation, startActivation } from '../activation/activation.ts';
import { failureOf } from '../activation/phases/failure.ts';
import type { WorkerLog } from '../activation/session/port.ts';
import { askOver } from '../bus/ask-service.ts';
import { busPort } from '../bus/bus-port.ts';
import type { Workflow } from '../definition/workflow.ts';
import { createDispatch } from './dispatch.ts';
import { createKnownOrders } from './known-orders.ts';
import { createOrderSource } from './order-source.ts';
import { keepRegistered } from './registration.ts';

/** By default, writes JSON lines to standard error. */
const logToStandardError: WorkerLog = (line) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`);
};

export type WorkerOptions = {
  /** A NATS user that may work on programs. The worker does not close it. */
  readonly connection: NatsConnection;
  /** May contain several versions of one workflow. */
  readonly workflows: readonly Workflow[];
  /** Phases at the same time; 10 by default. With at least one per workflow, each workflow has one of its own. */
  readonly concurrency?: number;
  /** For operators; the host name by default. */
  readonly name?: string;
  /** A phase that only waits for this long is handed back and runs again after news; 30 s by default. */
  readonly parkMs?: number;
  /** By default, JSON lines on standard error. */
  readonly log?: WorkerLog;
  /** Time for running phases to finish when the worker stops; 30 s by default. */
  readonly drainMs?: number;
  /** Whether to stop on SIGTERM and SIGINT; `true` by default. */
  readonly signals?: boolean;
};

export type Worker = {
  /** Resolves once all workflows are registered, or the worker stops; rejects when the orchestrator refuses one. */
  readonly ready: Promise<void>;
  /** Of the workflows, in order. */
  readonly hashes: readonly string[];
  /** Pulls no more orders, lets running phases finish, and hands the rest back. May be called twice. */
  readonly stop: () => Promise<void>;
  /** Resolves when the worker has stopped for any reason. */
  readonly stopped: Promise<void>;
};

const CONCURRENCY = 10;
const PARK_MS = 30_000;
const DRAIN_MS = 30_000;
/** Time for handing phases back when the orchestrator or NATS does not answer. */
const FAREWELL_MS = 5_000;
const NAME_MAX = 60;

const within = async (ms: number, work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
};

/**
 * Runs the phases of workflows until it is stopped. It keeps no state: all records are with the orchestrator,
 * and after a crash another worker continues.
 */
export const startWorker = (options: WorkerOptions): Worker => {
  const { connection, workflows, concurrency = CONCURRENCY, parkMs = PARK_MS, drainMs = DRAIN_MS } = options;
  const { log = logToStandardError, signals = true } = options;
  if (workflows.length === 0) throw new TypeError('a worker needs at least one workflow');
  const worker = `${(options.name ?? hostname()).slice(0, NAME_MAX)}-${crypto.randomUUID().slice(0, 12)}`;
  const byHash = new Map(workflows.map((workflow) => [workflow.hash, workflow]));
  const ask = askOver(connection);
  const port = busPort(connection, ask);
  const known = createKnownOrders();
  const running = new Set<RunningActivation>();
  let stopping: Promise<void> | undefined;

  const trouble = (message: string, error: unknown): void => {
    const { code, message: text } = failureOf(error);
    log({ level: 'warn', message, fields: { code, text } });
  };

  const nameOf = (hash: string): string => byHash.get(hash)?.id ?? hash;

  const orderIn = (message: JsMsg): WorkOrder | undefined => {
    try {
      return WorkOrder.parse(parseJson(message.data));
    } catch (error) {
      trouble('dropped an unreadable order', error);
      return undefined;
    }
  };

  const workOff = async (workflow: Workflow, message: JsMsg): Promise<void> => {
    if (stopping !== undefined) return message.nak();
    const order = orderIn(message);
    if (order === undefined || !known.add(order.task, order.lease)) return message.ack();
    let isAnswered = false;
    const activation = startActivation({
      workflow,
      order,
      port,
      clock: systemClock,
      worker,
      parkMs,
      log,
      acknowledge: () => {
        isAnswered = true;
        message.ack();
      },
    });
    running.add(activation);
    await activation.done;
    running.delete(activation);
    // The bus will redeliver it as a new order.
    if (!isAnswered) known.forget(order.task, order.lease);
  };

  const definitions = workflows.map(({ definition }) => definition);
  const registered = keepRegistered(connection, ask, definitions, (error) =>
    trouble('the workflows could not be registered', error),
  );
  // A version that is refused now may have orders from before.
  const isRegistered = registered.ready.catch(() => undefined);
  const sources = new Map(
    [...byHash.keys()].map((hash) => [hash, createOrderSource(connection, hash, isRegistered)]),
  );
  const dispatch = createDispatch({
    sources,
    concurrency,
    take: async (hash, message) => {
      const workflow = byHash.get(hash);
      if (workflow !== undefined) await workOff(workflow, message);
    },
    onTrouble: (hash, error, again) => {
      // One line for an outage, however long it lasts.
      if (!again) {
        const text = error instanceof Error ? error.message : String(error);
        const fields = { code: 'RUNTIME_UNAVAILABLE', text };
        log({ level: 'warn', message: `no orders of ${nameOf(hash)}: trying until NATS answers`, fields });
      }
      registered.again();
    },
    onRecovery: (hash) => log({ level: 'info', message: `orders of ${nameOf(hash)} are pulled again` }),
  });

  const allDone = (): Promise<unknown> => Promise.all([...running].map(({ done }) => done));
  const stopAll = async (): Promise<void> => {
    registered.stop();
    dispatch.stop();
    await within(drainMs, allDone());
    for (const activation of running) activation.giveBack('the worker stops');
    await within(FAREWELL_MS, allDone());
    // Includes pending acknowledgements. Without NATS it would wait for the next connection.
    if (!connection.isClosed())
      await within(
        FAREWELL_MS,
        connection.flush().catch(() => undefined),
      );
  };
  let tellStopped = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (tellStopped = resolve));
  const onSignal = (): void => void stop();
  const stop = (): Promise<void> =>
    (stopping ??= stopAll().finally(() => {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
      tellStopped();
    }));
  if (signals) {
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  }

  return { ready: registered.ready, hashes: workflows.map(({ hash }) => hash), stop, stopped };
};
