import { z } from 'zod';

/** What left a doubt: the worker was lost, it could not tell, or the ledger was set back behind it. */
export const DoubtCause = z.enum(['worker_lost', 'outcome_unknown', 'ledger_set_back']);
export type DoubtCause = z.infer<typeof DoubtCause>;
