import { api } from '@holdpoint/contracts/catalog/api';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { consumers } from '@holdpoint/contracts/bus/streams';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { BusOverview, StreamStatus } from '@holdpoint/runtime/bus/bus-overview';
import type { Answer, Listener } from '@holdpoint/runtime/bus/listener';
import type { SurfaceDeps } from '../surface-deps.ts';
import { listEveryDeadLetter } from './dead-letters.ts';

/** Health of the system for the console. Values that could not be determined are left out. */
export type Health = {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly services: readonly {
    readonly name: ServiceName;
    /** The service and its store answer. */
    readonly up: boolean;
    /** Processes of the service that answer on the bus. */
    readonly replicas?: number;
    readonly latencyMs?: number;
    readonly detail?: string;
    /** Executors without a sign of life for ten minutes, which are not forgotten. */
    readonly missing?: readonly string[];
  }[];
  readonly streams?: readonly (Omit<StreamStatus, 'consumers'> & {
    readonly consumers: readonly (StreamStatus['consumers'][number] & { readonly service?: ServiceName })[];
  })[];
  /** Unresolved ones. */
  readonly deadLetters?: Readonly<Partial<Record<ServiceName, number>>>;
};

const PING_WITHIN_MS = 500;
const LOOK_WITHIN_MS = 4_000;
/** Results are shared by all pages for this long. */
const KEPT_MS = 2_000;

/** A cheap query that needs the store. */
const QUESTIONS = {
  orchestrator: ['list', { limit: 1 }],
  executor: ['executors', {}],
  recovery: ['stuck', { limit: 1 }],
} as const satisfies Record<Exclude<ServiceName, 'approvals'>, readonly [endpoint: string, request: object]>;

/** Executors have one more consumer per pool, such as `executor-gpu`. */
const ownerOf = (consumer: string): ServiceName | undefined =>
  consumers.find(({ name }) => name === consumer)?.service ??
  SERVICES.find((service) => consumer.startsWith(`${service}-`));

const timed = async <Value>(ask: Promise<Value>): Promise<readonly [value: Value, ms: number]> => {
  const begun = performance.now();
  return [await ask, Math.round(performance.now() - begun)];
};

const Executors = api.executor.executors.response;

const missingIn = (answer: unknown): { readonly missing?: readonly string[] } => {
  const { success, data } = Executors.safeParse(answer);
  return success ? { missing: data.items.filter((each) => each.missing).map(({ name }) => name) } : {};
};

export type HealthParts = {
  readonly deps: SurfaceDeps;
  readonly listener: Pick<Listener, 'call'>;
  readonly look: BusOverview;
};

export const createHealth = ({ deps, listener, look }: HealthParts): (() => Promise<Health>) => {
  const { pool, log } = deps;

  const askOne = async (service: ServiceName): Promise<Answer> => {
    if (service !== 'approvals') {
      const [endpoint, request] = QUESTIONS[service];
      return listener.call(service, endpoint, request);
    }
    try {
      await pool.query('SELECT 1');
      return { ok: {} };
    } catch {
      return { error: { code: 'RUNTIME_UNAVAILABLE', message: 'the store does not answer' } };
    }
  };

  const orNothing = async <Value>(what: string, looking: Promise<Value>): Promise<Value | undefined> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), LOOK_WITHIN_MS);
    });
    try {
      return await Promise.race([looking, late]);
    } catch (error) {
      log.warn({ ...errorFields(error), what }, 'the bus could not be inspected');
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  };

  const find = async (): Promise<Health> => {
    const [instances, answers, streams, deadLetters] = await Promise.all([
      look.instances(PING_WITHIN_MS),
      Promise.all(SERVICES.map((service) => timed(askOne(service)))),
      orNothing('streams', look.streams()),
      orNothing('dead letters', listEveryDeadLetter({ pool, listener }, 1)),
    ]);
    return {
      at: Date.now(),
      services: SERVICES.map((name, i) => {
        const [answer, ms] = answers[i] ?? [{ ok: {} }, 0];
        const replicas = instances.filter(({ service }) => service === name).length;
        return 'ok' in answer
          ? { name, up: true, replicas, latencyMs: ms, ...(name === 'executor' && missingIn(answer.ok)) }
          : { name, up: false, replicas, detail: answer.error.message };
      }),
      ...(streams && {
        streams: streams.map((stream) => ({
          ...stream,
          consumers: stream.consumers.map((consumer) => {
            const service = ownerOf(consumer.name);
            return { ...consumer, ...(service && { service }) };
          }),
        })),
      }),
      ...(deadLetters && { deadLetters: deadLetters.open }),
    };
  };

  let kept: { readonly health: Promise<Health>; readonly until: number } | undefined;
  return () => {
    const now = performance.now();
    if (kept === undefined || now >= kept.until) kept = { health: find(), until: now + KEPT_MS };
    return kept.health;
  };
};
