import { EffectView } from '@holdpoint/contracts/effect/views';
import { EffectId } from '@holdpoint/contracts/values/ids';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { ClaimantsParts } from './claimants.ts';

const Found = z.array(z.object({ id: EffectId, held: z.boolean() }));

const FIND = `
  (SELECT id, true AS held FROM heads WHERE status = 'claimed' AND view->'remote'->>'claim' = $1 LIMIT 100)
  UNION ALL
  (SELECT waiting.id, false FROM unnest($2::text[]) AS label, LATERAL (
     SELECT id, created_at FROM heads WHERE status = 'offered' AND view->>'uses' = label ORDER BY created_at LIMIT $3) waiting
    ORDER BY waiting.created_at LIMIT $3)`;

/** Shown orders in the hands of claimants. */
const CLAIMED_SHOWN = 10_000;

/** Remote orders of the ledger. Each question is answered by one index. */
export const remoteOrders = (pool: Pool): Pick<ClaimantsParts, 'find' | 'claimed'> => ({
  find: async ({ claim, uses, limit }) => {
    const { rows } = await pool.query({ name: 'hp_claim', text: FIND, values: [claim, uses, limit] });
    const found = Found.parse(rows);
    const ids = (isHeld: boolean) => found.filter(({ held }) => held === isHeld).map(({ id }) => id);
    return { held: ids(true), offered: ids(false) };
  },
  claimed: async () => {
    const text = `SELECT view FROM heads WHERE status = 'claimed' ORDER BY view->'remote'->>'claim' LIMIT $1`;
    const { rows } = await pool.query(text, [CLAIMED_SHOWN]);
    return z
      .array(z.object({ view: EffectView }))
      .parse(rows)
      .map(({ view }) => view);
  },
});
