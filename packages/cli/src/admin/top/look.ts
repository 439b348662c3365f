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

/** A consumer that is behind, or not there. */
export type Lag = { readonly consumer: string; readonly pending: number };

/** The system at one moment. What could not be had is undefined, and said so. */
export type Look = {
  readonly at: number;
  readonly counts: Readonly<Partial<Record<ServiceName, Counts>>>;
  readonly away: readonly ServiceName[];
  /** The oldest request that waits, and how many are questions of what became of an effect. */
  readonly oldest?: ApprovalView | undefined;
  readonly doubts?: number;
  /** There are more requests than were looked at for doubts. */
  readonly doubtsMore?: boolean;
  readonly stuck?: readonly StuckJob[];
  readonly circuits?: readonly CircuitView[];
  /** How many messages each stream has ever had. */
  readonly published: Readonly<Record<string, number>>;
  readonly lags?: readonly Lag[];
};

/** More are told as more. */
const LOOKED_AT = 200;

const orUndefined = async <Answer>(asked: Promise<Answer>): Promise<Answer | undefined> => {
  try {
    return await asked;
  } catch {
    // A frame is drawn with what there is: what is away is shown as away, and asked again in a moment.
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

const busFigures = async (
  manager: JetStreamManager,
): Promise<Pick<Look, 'published'> & { readonly lags: readonly Lag[] | undefined }> => {
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

/** Looks at all of it at once. */
export const lookAround = async (client: Client, now: () => number): Promise<Look> => {
  const manager = await jetstreamManager(client.connection, { checkAPI: false });
  const [counted, pending, stuck, circuits, bus] = await Promise.all([
    Promise.all(SERVICES.map(async (service) => [service, await countsOf(client, service)] as const)),
    orUndefined(client.call('approvals', 'list', { limit: LOOKED_AT })),
    orUndefined(client.call('recovery', 'stuck', { limit: LOOKED_AT })),
    orUndefined(client.call('recovery', 'circuits', { limit: LOOKED_AT })),
    busFigures(manager),
  ]);
  const { published, lags } = bus;
  return {
    at: now(),
    counts: Object.fromEntries(counted.filter(([, counts]) => counts !== undefined)),
    away: counted.filter(([, counts]) => counts === undefined).map(([service]) => service),
    ...(pending && {
      oldest: pending.items[0],
      doubts: pending.items.filter((item) => questionOf(item) === 'doubt').length,
      doubtsMore: pending.next !== undefined,
    }),
    ...(stuck && { stuck: stuck.items }),
    ...(circuits && { circuits: circuits.items.filter(({ state }) => state !== 'closed') }),
    published,
    ...(lags && { lags }),
  };
};
