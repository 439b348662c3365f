import { z } from 'zod';
import { ServiceInfo, RetentionRequest, Counts, Retention } from '../api/admin.ts';
import { DeadLetterResolved, ResolveDeadLetter } from '../bus/dead-letter.ts';

export const endpoint = <Request extends z.ZodType, Response extends z.ZodType>(
  description: string,
  request: Request,
  response: Response,
) => ({ description, request, response });

/** Admin endpoints of every service, answered by the runtime. */
export const adminEndpoints = {
  info: endpoint(
    'Version, clocks and migrations of the service, from one replica',
    z.object({}),
    ServiceInfo,
  ),
  counts: endpoint(
    'Number of open aggregates, and of those that ended within the last hour',
    z.object({}),
    Counts,
  ),
  retention: endpoint(
    'Retention of the service, and the number of aggregates due to be purged',
    RetentionRequest,
    Retention,
  ),
  purge: endpoint(
    'Purge expired data now; the service does this every 30 seconds',
    z.object({}),
    z.object({ purged: z.int() }),
  ),
} as const;

/** Each service resolves its own dead letters. */
export const resolveDeadLetter = endpoint(
  'Retry or drop a dead letter of this service',
  ResolveDeadLetter,
  DeadLetterResolved,
);
/** Endpoints that the runtime answers for every service. */
export type AdminEndpoint = keyof typeof adminEndpoints;
