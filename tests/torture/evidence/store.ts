import { TOKEN } from '@holdpoint/contracts/bus/subjects';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { z } from 'zod';
import type { Deployment } from '../deployment/deployment.ts';
import type { StoredAggregate } from './evidence.ts';

const Stored = z.object({
  version: z.int(),
  type: z.string(),
  at: z.coerce.number(),
  data: z.record(z.string(), z.unknown()),
});
const Row = z.object({
  id: z.string(),
  version: z.int().nullable(),
  status: z.string().nullable(),
  events: z.array(Stored).nullable(),
});

const quoted = (id: string): string => {
  if (!TOKEN.test(id)) throw new TypeError(`not an id: ${JSON.stringify(id)}`);
  return `'${id}'`;
};

export const loadAggregates = async (
  { query }: Pick<Deployment, 'query'>,
  service: ServiceName,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredAggregate>> => {
  if (ids.length === 0) return new Map();
  const among = ids.map(quoted).join(',');
  // One statement reads head and events of the same moment.
  const rows = await query(
    `SELECT coalesce(h.id, e.aggregate) AS id, h.version, h.status, e.events
       FROM (SELECT id, version, status FROM ${service}.heads WHERE id IN (${among})) h
       FULL JOIN (SELECT aggregate, json_agg(json_build_object('version', version, 'type', type,
                           'at', extract(epoch FROM at) * 1000, 'data', data) ORDER BY version) AS events
                    FROM ${service}.events WHERE aggregate IN (${among}) GROUP BY aggregate) e
         ON e.aggregate = h.id`,
  );
  return new Map(
    z
      .array(Row)
      .parse(rows)
      .map((row) => [row.id, aggregateOf(row)]),
  );
};

const aggregateOf = ({ id, version, status, events }: z.infer<typeof Row>): StoredAggregate => ({
  id,
  head: version === null || status === null ? undefined : { version, status },
  events: events ?? [],
});
