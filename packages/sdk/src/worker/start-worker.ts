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

/** Where nothing else is said: a line of JSON for each, to standard error. */
const logToStandardError: WorkerLog = (line) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`);
};

export type WorkerOptions = {
  /** To the bus, as a user that may work on programs. The worker does not close it. */
  readonly connection: NatsConnection;
  /** Several versions of one workflow may stand side by side. */
  readonly workflows: readonly Workflow[];
  /** Phases at the same time; 10, when left out. Better no fewer than there are workflows. */
  readonly concurrency?: number;
  /** For people; the name of the machine, when left out. */
  readonly name?: string;
  /** A phase that does nothing but wait for so long is given back, and run again when there is news; 30 s, when left out. */
  readonly parkMs?: number;
  /** Lines of JSON to standard error, when left out. */
  readonly log?: WorkerLog;
  /** What is at work when the worker stops has so long to come to an end; 30 s, when left out. */
  readonly drainMs?: number;
  /** Stops on SIGTERM and SIGINT; `true`, when left out. */
  readonly signals?: boolean;
};

export type Worker = {
  /** Resolves once the workflows are known to the orchestrator; rejects when it refuses one of them. */
  readonly ready: Promise<void>;
  /** Of the workflows, in their order. */
  readonly hashes: readonly string[];
  /** Takes nothing new, lets what is at work come to an end, and gives the rest back. May be called twice. */
  readonly stop: () => Promise<void>;
  /** Resolves when it has stopped, whatever has stopped it. */
  readonly stopped: Promise<void>;
};

const CONCURRENCY = 10;
const PARK_MS = 30_000;
const DRAIN_MS = 30_000;
/** What is given back says so, unless nobody answers. */
const FAREWELL_MS = 5_000;
const NAME_MAX = 60;

const within = async (ms: number, work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))]);
  clearTimeout(timer);
};

/**
 * Works on the phases of workflows, until it is stopped. It keeps nothing: whatever a phase has recorded is with the
 * orchestrator, and when this process dies another goes on from there.
 */
export const startWorker = (options: WorkerOptions): Worker => {
  const { connection, workflows, concurrency = CONCURRENCY, parkMs = PARK_MS, drainMs = DRAIN_MS } = options;
  const { log = logToStandardError, signals = true } = options;
  if (workflows.length === 0) throw new TypeError('a worker needs a workflow to work on');
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

  const orderIn = (message: JsMsg): WorkOrder | undefined => {
    try {
      return WorkOrder.parse(parseJson(message.data));
    } catch (error) {
      trouble('an order could not be read, and is dropped', error);
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
      isRepeat: message.info.deliveryCount > 1,
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
    // It comes again, and then it is new.
    if (!isAnswered) known.forget(order.task, order.lease);
  };

  const definitions = workflows.map(({ definition }) => definition);
  const registered = keepRegistered(connection, ask, definitions, (error) =>
    trouble('the workflows could not be registered', error),
  );
  const sources = new Map([...byHash.keys()].map((hash) => [hash, createOrderSource(connection, hash)]));
  const dispatch = createDispatch({
    sources,
    concurrency,
    take: async (hash, message) => {
      const workflow = byHash.get(hash);
      if (workflow !== undefined) await workOff(workflow, message);
    },
    onTrouble: (hash, error) =>
      trouble(`no orders of ${byHash.get(hash)?.id ?? hash} can be asked for`, error),
  });

  const allDone = (): Promise<unknown> => Promise.all([...running].map(({ done }) => done));
  const stopAll = async (): Promise<void> => {
    registered.stop();
    dispatch.stop();
    await within(drainMs, allDone());
    for (const activation of running) activation.giveBack('the worker stops');
    await within(FAREWELL_MS, allDone());
    // Acknowledgements on their way are part of it.
    if (!connection.isClosed()) await connection.flush().catch(() => undefined);
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
