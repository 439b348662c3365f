import { consumers } from '@holdpoint/contracts/bus/streams';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream';
import type { Deployment, Row } from '../deployment/deployment.ts';
import type { ConsumerEvidence, ServiceEvidence } from './evidence.ts';

/** A timer that is overdue by more than this is lost. */
const STALE = "interval '30 seconds'";

const numberIn = (row: Row | undefined, name: string): number => Number(row?.[name] ?? Number.NaN);

export const lookAtService = async (
  { query }: Pick<Deployment, 'query'>,
  service: ServiceName,
): Promise<ServiceEvidence> => {
  const [row] = await query(
    `SELECT (SELECT count(*)::int FROM ${service}.outbox) AS outbox,
            (SELECT count(*)::int FROM ${service}.timers WHERE due_at < now() - ${STALE}) AS stale,
            (SELECT count(*)::int FROM ${service}.timers) AS timers,
            (pg_total_relation_size('${service}.outbox') + pg_total_relation_size('${service}.timers'))::float8 AS bytes`,
  );
  return {
    service,
    outbox: numberIn(row, 'outbox'),
    staleTimers: numberIn(row, 'stale'),
    timers: numberIn(row, 'timers'),
    queueBytes: numberIn(row, 'bytes'),
  };
};

export const lookAtServices = (deployment: Deployment): Promise<readonly ServiceEvidence[]> =>
  Promise.all(SERVICES.map((service) => lookAtService(deployment, service)));

const isMissing = (error: unknown): boolean => error instanceof JetStreamApiError && error.status === 404;

/** Unread and unacknowledged messages of each consumer. A missing consumer counts as unread. */
export const lookAtConsumers = async ({
  natsUrl,
  credentialsDir,
}: Pick<Deployment, 'natsUrl' | 'credentialsDir'>): Promise<readonly ConsumerEvidence[]> => {
  const connection = await connectAs({ url: natsUrl, credentialsDir, user: 'monitor' });
  try {
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const found: ConsumerEvidence[] = [];
    for (const { stream, name } of consumers) {
      const info = await manager.consumers.info(stream, name).catch((error: unknown) => {
        if (isMissing(error)) return undefined;
        throw error;
      });
      found.push({
        name,
        pending: info?.num_pending ?? Infinity,
        unacknowledged: info?.num_ack_pending ?? 0,
      });
    }
    return found;
  } finally {
    await connection.close();
  }
};

/** Ids of the run in a store that no planned task explains. */
export const findStrangers = async (
  { query }: Pick<Deployment, 'query'>,
  prefix: string,
  looked: {
    readonly tasks: ReadonlySet<string>;
    readonly approvals: ReadonlySet<string>;
    readonly effects: ReadonlySet<string>;
  },
): Promise<readonly string[]> => {
  const ours = `LIKE '${prefix.replaceAll('_', '\\_')}%'`;
  const idsOf = async (sql: string): Promise<readonly string[]> =>
    (await query(sql)).map(({ id }) => String(id));
  const missing = (ids: readonly string[], among: ReadonlySet<string>) => ids.filter((id) => !among.has(id));
  return [
    ...missing(await idsOf(`SELECT id FROM orchestrator.heads WHERE id ${ours}`), looked.tasks),
    ...missing(await idsOf(`SELECT id FROM approvals.heads WHERE view->>'task' ${ours}`), looked.approvals),
    ...missing(await idsOf(`SELECT id FROM executor.heads WHERE view->>'task' ${ours}`), looked.effects),
  ];
};
