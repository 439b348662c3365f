import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { asSent, sha256Of } from '@holdpoint/contracts/values/json';
import { type WorkRequest, WorkAnswer, WorkOrder } from '@holdpoint/contracts/program/work';
import { artifactUriOf } from '@holdpoint/contracts/effect/stored-artifact';
import { workConsumer } from '@holdpoint/contracts/bus/streams';
import type { Delivery } from '@holdpoint/runtime/engine/intake';
import { type RunningActivation, startActivation } from '@holdpoint/sdk/activation/activation';
import type { TaskNews, WorkPort } from '@holdpoint/sdk/activation/session/port';
import type { Workflow } from '@holdpoint/sdk/definition/workflow';
import { createKnownOrders } from '@holdpoint/sdk/worker/known-orders';
import type { Cluster } from './cluster.ts';
import { createLife, type Life } from '../process-life.ts';
import type { Reply } from './replica.ts';
import type { World } from '../world.ts';

const RESTARTS_AFTER_MS = [50, 4_000] as const;
/** An unanswered message counts as lost after this time. */
const SAY_TIMEOUT_MS = 3_000;
/** Twice a lease: many workers wake up after another one took over. */
const FROZEN_AT_MOST_MS = 60_000;
/** How long a stopping worker waits for the confirmation of what it returns. */
const FAREWELL_MS = 5_000;
const PARKS_AFTER_MS = [300, 4_000] as const;

export type Words = {
  /** A worker sends a message. */
  readonly said: (said: WorkRequest) => void;
  /** A worker gets its answer. */
  readonly heard: (said: WorkRequest, answer: WorkAnswer) => void;
};

export type SimulatedWorker = {
  /** SIGTERM: the worker returns its phases and ends. */
  readonly stop: () => void;
  readonly crash: () => void;
  readonly freeze: (ms: number) => void;
};

const newsIn = (subject: string, body: string): { task: string; news: TaskNews } | undefined => {
  const [, kind, aggregate, type, task = ''] = subject.split('.');
  if (kind !== 'evt' || aggregate !== 'task') return undefined;
  const data = JSON.parse(body) as { readonly key?: string };
  if (type === 'cancelled') return { task, news: { kind: 'cancelled', reason: 'cancelled' } };
  return type === 'phase_entry_completed' && data.key !== undefined
    ? { task, news: { kind: 'informed', key: data.key } }
    : undefined;
};

/** Processes of a user that run phases with the real runner of the SDK. They store nothing. */
/** Undefined for a message that is no order: somebody else sent it. */
const orderIn = (data: Uint8Array): WorkOrder | undefined => {
  try {
    return WorkOrder.safeParse(JSON.parse(new TextDecoder().decode(data))).data;
  } catch {
    return undefined;
  }
};

export const startWorkers = (
  world: World,
  { orchestrator }: Pick<Cluster, 'orchestrator'>,
  workflows: readonly Workflow[],
  count: number,
  words: Words,
): readonly SimulatedWorker[] => {
  const { timeline, choices, weather, bus, trace, watchers } = world;
  const artifacts = new Map<string, Uint8Array>();
  const listeners = new Map<string, Set<(news: TaskNews) => void>>();
  watchers.published.push(({ subject, body }) => {
    const news = newsIn(subject, body);
    for (const hear of (news && listeners.get(news.task)) ?? [])
      if (news !== undefined && !weather.strikes('news of a task is lost', `${subject} to a worker`))
        hear(news.news);
  });

  const sayOver =
    (life: Life, name: string, crash: () => void): WorkPort['say'] =>
    (said) =>
      new Promise((resolve, reject) => {
        const { task, lease, request: say } = said;
        const place = `${name} says ${say.kind} of ${task} ${String(lease)}`;
        const unavailable = (): void => reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'no answer'));
        const reply = (what: Reply): void => {
          if (fault === 'worker dies after its message arrived') return crash();
          life.enter(() => {
            if (typeof what !== 'object') return unavailable();
            const { answer } = what;
            if (answer === undefined) return unavailable();
            if ('error' in answer) {
              const { code, message, details } = answer.error;
              return reject(new HoldpointError(code as never, message, { ...(details && { details }) }));
            }
            const known = WorkAnswer.parse(answer.ok);
            words.heard(said, known);
            return resolve(known);
          });
        };
        const once = (): void => {
          const up = orchestrator.filter((node) => node.isUp());
          if (up.length === 0) return;
          const payload = asSent(said) as WorkRequest;
          choices
            .pick(place, up)
            .call({ kind: 'program', aggregate: task, message: { kind: 'work', payload } }, reply);
        };
        const send = (): void => {
          words.said(said);
          // A message that has left arrives, even when its sender dies.
          timeline.in(weather.latency(place), once);
          if (fault === 'message of a worker is doubled')
            timeline.in(choices.between(`again ${place}`, 0, SAY_TIMEOUT_MS * 10), once);
        };
        const fault = weather.oneOf(place, [
          'worker dies before its message',
          'worker dies after its message arrived',
          'worker freezes before its message',
          'message of a worker is lost',
          'message of a worker is doubled',
        ]);
        if (fault === 'worker dies before its message') return crash();
        life.clock.after(SAY_TIMEOUT_MS, unavailable);
        if (fault === 'message of a worker is lost') return undefined;
        if (fault === 'worker freezes before its message')
          life.freeze(choices.between(`frozen ${place}`, 0, FROZEN_AT_MOST_MS));
        return life.enter(send);
      });

  const startOne = (name: string): SimulatedWorker => {
    let lives = 0;
    let life: Life;
    let stop = (): void => undefined;

    const crash = (): void => {
      if (!life.isAlive()) return;
      trace.note(name, '', () => 'dies');
      life.end();
      timeline.in(choices.between(`restart ${name}`, ...RESTARTS_AFTER_MS), start);
    };

    const start = (): void => {
      lives += 1;
      const born = createLife(name, timeline);
      life = born;
      const worker = `${name}-${String(lives)}`;
      const known = createKnownOrders();
      const running = new Set<RunningActivation>();
      let isStopping = false;
      const parkMs = choices.pick(`${worker} parks`, PARKS_AFTER_MS);
      const end = (): void => {
        if (born.isAlive()) crash();
      };
      const port: WorkPort = {
        say: sayOver(born, worker, end),
        keep: (content, { name: called, mediaType }) => {
          const sha256 = sha256Of(content);
          const uri = artifactUriOf(sha256);
          artifacts.set(uri, content);
          return Promise.resolve({ uri, sha256, bytes: content.length, mediaType, name: called });
        },
        fetch: ({ uri }) => {
          const content = artifacts.get(uri);
          return content === undefined
            ? Promise.reject(new HoldpointError('EXECUTOR_UNKNOWN_ARTIFACT', `there is no ${uri}`))
            : Promise.resolve(content);
        },
        listen: (task, hear) => {
          const of = listeners.get(task) ?? new Set();
          listeners.set(task, of);
          const own = (news: TaskNews): void => born.enter(() => hear(news));
          of.add(own);
          return () => void of.delete(own);
        },
      };
      const take =
        (workflow: Workflow) =>
        (delivery: Delivery): void => {
          const { data } = delivery;
          const ack = (): void => delivery.ack();
          if (isStopping) return delivery.giveBack(0);
          const order = orderIn(data);
          if (order === undefined) return ack();
          if (!known.add(order.task, order.lease)) return ack();
          let isAnswered = false;
          const activation = startActivation({
            workflow,
            order,
            port,
            clock: born.clock,
            worker,
            parkMs,
            log: ({ level, message, fields }) =>
              trace.note(worker, order.task, () => `${level}: ${message} ${JSON.stringify(fields ?? {})}`),
            acknowledge: () => {
              isAnswered = true;
              ack();
            },
          });
          running.add(activation);
          void activation.done.then(() => {
            running.delete(activation);
            if (!isAnswered) known.forget(order.task, order.lease);
          });
        };
      stop = () =>
        born.enter(() => {
          if (isStopping) return;
          isStopping = true;
          for (const activation of running) activation.giveBack('the worker stops');
          born.clock.after(FAREWELL_MS, end);
        });
      for (const workflow of workflows)
        bus.read(
          { ...workConsumer(workflow.hash), service: 'orchestrator' },
          { life: born, take: take(workflow) },
        );
    };
    start();
    return { stop: () => stop(), crash: () => crash(), freeze: (ms) => life.freeze(ms) };
  };

  return Array.from({ length: count }, (_, index) => startOne(`worker.${String(index + 1)}`));
};
