import { AccessTokenView } from '@holdpoint/contracts/approval/access-token';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { isAway } from '@holdpoint/runtime/store/errors';
import { decodeCursor, pageOf } from '@holdpoint/runtime/store/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import { tokenView } from '../token/access-token.ts';

/** A stored token with its state. */
const TokenRow = AccessTokenView.omit({ status: true }).extend({
  status: z.literal('token'),
  sha256: z.string(),
});

export type StoredToken = Pick<
  z.infer<typeof TokenRow>,
  'id' | 'sha256' | 'principal' | 'groups' | 'scopes' | 'agent'
> & {
  readonly revoked: boolean;
  /** By the database's clock. */
  readonly expired: boolean;
};

const FoundToken = z.object({ view: TokenRow, now: z.coerce.number() });

/** The token whose secret has this SHA-256. Throws `RUNTIME_UNAVAILABLE` while the store does not answer. */
export const findToken = async (pool: Pool, sha256: string): Promise<StoredToken | undefined> => {
  try {
    const { rows } = await pool.query({
      name: 'hp_find_token',
      text: `SELECT view, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
               FROM heads WHERE kind = 'token' AND view->>'sha256' = $1`,
      values: [sha256],
    });
    if (rows[0] === undefined) return undefined;
    const { view, now } = FoundToken.parse(rows[0]);
    const { expiresAt, revokedBy } = view;
    return {
      ...view,
      revoked: revokedBy !== undefined,
      expired: expiresAt !== undefined && expiresAt <= now,
    };
  } catch (cause) {
    if (!isAway(cause)) throw cause;
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the store does not answer; try again', { cause });
  }
};

const Row = z.object({ id: z.string(), createdAt: z.coerce.number(), view: TokenRow });

/** Tokens of one person, or of everyone, oldest first; without their hashes. */
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
    `SELECT id, created_at AS "createdAt", view FROM heads
      WHERE status = 'token' AND ($1::bigint IS NULL OR (created_at, id) > ($1, $2))
        AND ($3::text IS NULL OR view->>'principal' = $3)
      ORDER BY created_at, id LIMIT $4`,
    [from?.at ?? null, from?.id ?? null, principal ?? null, limit + 1],
  );
  const page = pageOf(z.array(Row).parse(rows), limit, ({ createdAt, id }) => ({ at: createdAt, id }));
  const items = page.rows.map(({ view }) => tokenView(view));
  return { items, ...(page.next !== undefined && { next: page.next }) };
};
