import { z } from 'zod';

/** Why an effect is in doubt: lost worker, unknown outcome, or a restored ledger. */
export const InDoubtCause = z.enum(['worker_lost', 'outcome_unknown', 'ledger_set_back']);
export type InDoubtCause = z.infer<typeof InDoubtCause>;
