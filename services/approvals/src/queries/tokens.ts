import { AccessTokenView } from '@holdpoint/contracts/approval/access-token';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { AccessTokenId, PEOPLE_ID } from '@holdpoint/contracts/values/ids';
import { isAway } from '@holdpoint/runtime/store/errors';
import { decodeCursor, pageOf } from '@holdpoint/runtime/store/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import { tokenView } from '../token/access-token.ts';

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** A stored token with its state. */
const TokenRow = AccessTokenView.omit({ status: true }).extend({
  status: z.literal('token'),
  sha256: z.string().optional(),
  code: z.string().optional(),
});

export type StoredToken = Pick<
  z.infer<typeof TokenRow>,
  'id' | 'principal' | 'groups' | 'scopes' | 'claims' | 'agent' | 'createdAt'
> & {
  readonly sha256: string;
  readonly revoked: boolean;
  /** By the database's clock. */
  readonly expired: boolean;
  /** Version of the people in the same moment; 0 before the first person is added. */
  readonly peopleVersion: number;
  readonly isSession: boolean;
};

const FoundToken = z.object({
  view: TokenRow.required({ sha256: true }),
  now: z.coerce.number(),
  people: z.int().nullable(),
});

/** The token whose secret has this SHA-256. Throws `RUNTIME_UNAVAILABLE` while the store does not answer. */
export const findToken = async (pool: Pool, sha256: string): Promise<StoredToken | undefined> => {
  try {
    const { rows } = await pool.query({
      name: 'hp_find_token',
      text: `SELECT view, ${NOW} AS now,
                    (SELECT version FROM heads WHERE id = $2) AS people
               FROM heads WHERE kind = 'token' AND view->>'sha256' = $1`,
      values: [sha256, PEOPLE_ID],
    });
    if (rows[0] === undefined) return undefined;
    const { view, now, people } = FoundToken.parse(rows[0]);
    const { expiresAt, revokedBy } = view;
    return {
      ...view,
      revoked: revokedBy !== undefined,
      expired: expiresAt !== undefined && expiresAt <= now,
      peopleVersion: people ?? 0,
      isSession: view.signIn !== undefined,
    };
  } catch (cause) {
    if (!isAway(cause)) throw cause;
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the store does not answer; try again', { cause });
  }
};

const Row = z.object({
  id: z.string(),
  createdAt: z.coerce.number(),
  usedAt: z.coerce.number().nullable(),
  view: TokenRow,
});

/** Tokens of one person, or of everyone, oldest first; without their hashes. Sign-ins that are over are left out. */
export const listTokens = async (
  pool: Pool,
  {
    limit,
    after,
    principal,
  }: {
    readonly limit: number;
    readonly after?: string | undefined;
    readonly principal?: string | undefined;
  },
): Promise<{ items: AccessTokenView[]; next?: string }> => {
  const from = after === undefined ? undefined : decodeCursor(after);
  const { rows } = await pool.query(
    `SELECT id, created_at AS "createdAt", view, used_at AS "usedAt" FROM heads LEFT JOIN token_uses USING (id)
      WHERE (status = 'token' OR status = 'sign_in' AND (view->>'expiresAt')::bigint > ${NOW})
        AND ($1::bigint IS NULL OR (created_at, id) > ($1, $2))
        AND ($3::text IS NULL OR view->>'principal' = $3)
      ORDER BY created_at, id LIMIT $4`,
    [from?.at ?? null, from?.id ?? null, principal ?? null, limit + 1],
  );
  const page = pageOf(z.array(Row).parse(rows), limit, ({ createdAt, id }) => ({ at: createdAt, id }));
  const items = page.rows.map(({ view, usedAt }) => ({
    ...tokenView(view),
    ...(usedAt !== null && { usedAt }),
  }));
  return { items, ...(page.next !== undefined && { next: page.next }) };
};

export const isTokenKnown = async (pool: Pool, id: AccessTokenId): Promise<boolean> => {
  const { rows } = await pool.query(`SELECT FROM heads WHERE id = $1 AND kind = 'token'`, [id]);
  return rows.length > 0;
};

/** The tokens of a person that still count. */
export const tokensOf = async (pool: Pool, principal: string): Promise<readonly AccessTokenId[]> => {
  const { rows } = await pool.query(
    `SELECT id FROM heads
      WHERE kind = 'token' AND view->>'principal' = $1 AND view->>'revokedBy' IS NULL
        AND coalesce((view->>'expiresAt')::bigint > ${NOW}, true)`,
    [principal],
  );
  return z
    .array(z.object({ id: AccessTokenId }))
    .parse(rows)
    .map(({ id }) => id);
};

/** Stores the latest uses of tokens, by the clock of this process. */
export const storeUses = async (pool: Pool, uses: ReadonlyMap<string, number>): Promise<void> => {
  await pool.query(
    `INSERT INTO token_uses AS kept (id, used_at) SELECT * FROM unnest($1::text[], $2::bigint[])
     ON CONFLICT (id) DO UPDATE SET used_at = greatest(kept.used_at, excluded.used_at)`,
    [[...uses.keys()], [...uses.values()]],
  );
};
