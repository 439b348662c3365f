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
    'What this service is: version, clocks, migrations; of one of its replicas',
    z.object({}),
    ServiceInfo,
  ),
  counts: endpoint('How much is open, and how much has ended within the last hour', z.object({}), Counts),
  retention: endpoint(
    'What is kept, for how long, and how much would go by that or by another number of days',
    RetentionRequest,
    Retention,
  ),
  purge: endpoint(
    'Remove at once what has ended longer ago than it is kept, as the service does by itself twice a minute',
    z.object({}),
    z.object({ purged: z.int() }),
  ),
} as const;

/** Each service resolves its own dead letters. */
export const resolveDeadLetter = endpoint(
  'Handle a dead letter of this service once more, or drop it',
  ResolveDeadLetter,
  DeadLetterResolved,
);
/** Endpoints that the runtime answers for every service. */
export type AdminEndpoint = keyof typeof adminEndpoints;
