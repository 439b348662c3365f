import { EffectId } from '@holdpoint/contracts/values/ids';
import { RemoteHolder } from '@holdpoint/contracts/effect/remote';
import { RemoteLabel } from '@holdpoint/contracts/effect/remote-name';
import { z } from 'zod';

/**
 * What executors of one ledger tell one another about claims. A hint has no authority: the ledger decides, and a lost hint costs
 * one poll.
 */
export const Hint = z.discriminatedUnion('kind', [
  /** An order waits for a claimant. */
  z.object({ kind: z.literal('offered'), from: z.string(), id: EffectId, uses: RemoteLabel }),
  /** A claim arrived. An executor that has the same claim answers it, empty. */
  z.object({
    kind: z.literal('claim'),
    from: z.string(),
    claim: z.string(),
    uses: z.array(RemoteLabel),
    waitMs: z.int(),
    who: RemoteHolder.pick({ claimant: true, x: true, principal: true, token: true, from: true }),
  }),
]);
export type Hint = z.infer<typeof Hint>;
