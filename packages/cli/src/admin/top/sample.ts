import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { questionOf } from '@holdpoint/contracts/approval/question';
import type { Counts } from '@holdpoint/contracts/api/admin';
import type { CircuitView } from '@holdpoint/contracts/recovery/circuit';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { StuckJob } from '@holdpoint/contracts/recovery/views';
import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { Client } from '../../bus/client.ts';

/** A consumer that lags or is missing. */
export type Lag = { readonly consumer: string; readonly pending: number };

/** The system at one moment. Unavailable values are undefined and shown as unknown. */
export type Sample = {
  readonly at: number;
  readonly counts: Readonly<Partial<Record<ServiceName, Counts>>>;
  readonly away: readonly ServiceName[];
  /** The oldest pending request, and the number of questions about in-doubt effects. */
  readonly oldest?: ApprovalView | undefined;
  readonly inDoubt?: number;
  /** Not all pending requests were checked for in-doubt questions. */
  readonly inDoubtMore?: boolean;
  /** Executors that have given no sign of life for ten minutes, and are not forgotten. */
  readonly missing?: readonly string[];
  readonly stuck?: readonly StuckJob[];
  readonly circuits?: readonly CircuitView[];
  /** Messages ever stored, per stream. */
  readonly published: Readonly<Record<string, number>>;
  readonly lags?: readonly Lag[];
};

/** Larger counts are shown as "or more". */
const LIST_LIMIT = 200;

const orUndefined = async <Answer>(request: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await request;
  } catch {
    // Draw the available data: an unavailable service is shown as such and asked again in the next frame.
    return undefined;
  }
};

const countsOf = async (client: Client, service: ServiceName): Promise<Counts | undefined> => {
  try {
    return await client.call(service, 'counts', {});
  } catch (error) {
    if (error instanceof HoldpointError) return undefined;
    throw error;
  }
};

const busMetrics = async (
  manager: JetStreamManager,
): Promise<Pick<Sample, 'published'> & { readonly lags: readonly Lag[] | undefined }> => {
  const published: Record<string, number> = {};
  await Promise.all(
    streams.map(async ({ name }) => {
      const info = await orUndefined(manager.streams.info(name));
      if (info !== undefined) published[name] = info.state.last_seq;
    }),
  );
  const infos = await orUndefined(
    Promise.all(consumers.map(({ stream, name }) => manager.consumers.info(stream, name))),
  );
  const lags = infos?.map(({ name, num_pending: pending }) => ({ consumer: name, pending }));
  return { published, lags };
};

export const takeSample = async (client: Client, now: () => number): Promise<Sample> => {
  const manager = await jetstreamManager(client.connection, { checkAPI: false });
  const [counted, pending, executors, stuck, circuits, bus] = await Promise.all([
    Promise.all(SERVICES.map(async (service) => [service, await countsOf(client, service)] as const)),
    orUndefined(client.call('approvals', 'list', { limit: LIST_LIMIT })),
    orUndefined(client.call('executor', 'executors', {})),
    orUndefined(client.call('recovery', 'stuck', { limit: LIST_LIMIT })),
    orUndefined(client.call('recovery', 'circuits', { limit: LIST_LIMIT })),
    busMetrics(manager),
  ]);
  const { published, lags } = bus;
  return {
    at: now(),
    counts: Object.fromEntries(counted.filter(([, counts]) => counts !== undefined)),
    away: counted.filter(([, counts]) => counts === undefined).map(([service]) => service),
    ...(pending && {
      oldest: pending.items[0],
      inDoubt: pending.items.filter((item) => questionOf(item) === 'in_doubt').length,
      inDoubtMore: pending.next !== undefined,
    }),
    ...(executors && { missing: executors.items.filter((each) => each.missing).map(({ name }) => name) }),
    ...(stuck && { stuck: stuck.items }),
    ...(circuits && { circuits: circuits.items.filter(({ state }) => state !== 'closed') }),
    published,
    ...(lags && { lags }),
  };
};
