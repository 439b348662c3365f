import { z } from 'zod';

/** What left a doubt: the worker was lost, it could not tell, or the ledger was set back behind it. */
export const InDoubtCause = z.enum(['worker_lost', 'outcome_unknown', 'ledger_set_back']);
export type InDoubtCause = z.infer<typeof InDoubtCause>;
