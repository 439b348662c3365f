import { z } from 'zod';
import { ServiceInfo, RetentionRequest, Counts, Retention } from '../api/admin.ts';
import {
  DeadLetterId,
  DeadLetterPage,
  DeadLetterResolved,
  ListDeadLetters,
  ResolveDeadLetter,
  StoredDeadLetter,
} from '../bus/dead-letter.ts';

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

/** Each service keeps and resolves its own dead letters. */
export const deadLetterEndpoints = {
  dead_letter_list: endpoint(
    'Unresolved dead letters of this service, latest first',
    ListDeadLetters,
    DeadLetterPage,
  ),
  dead_letter_get: endpoint(
    'One dead letter of this service, resolved or not',
    z.object({ id: DeadLetterId }),
    StoredDeadLetter,
  ),
  dead_letter_resolve: endpoint(
    'Retry or drop a dead letter of this service',
    ResolveDeadLetter,
    DeadLetterResolved,
  ),
} as const;
/** Endpoints that the runtime answers for every service. */
export type AdminEndpoint = keyof typeof adminEndpoints;
export type DeadLetterEndpoint = keyof typeof deadLetterEndpoints;
