import { type ApprovalStatus, ApprovalView } from '@holdpoint/contracts/approval';
import type { ProjectionRow } from '@holdpoint/runtime/ports';
import { decodeCursor, pageOf } from '@holdpoint/runtime/postgres/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { ApprovalState } from '../domain/approval.ts';

/** An approval as the API shows it. */
export const approvalView = (state: Exclude<ApprovalState, { status: 'absent' }>): ApprovalView => {
  const { request, requestedAt, expiresAt } = state;
  const decided = state.status === 'closed' ? state.decided : undefined;
  return {
    ...request,
    status: decided?.outcome ?? 'pending',
    requestedAt,
    expiresAt,
    decidedBy: decided?.by,
    decidedAt: decided?.at,
    comment: decided?.comment,
  };
};

export const requestRow = (id: string, state: ApprovalState): ProjectionRow | undefined => {
  if (state.status === 'absent') return undefined;
  const view = approvalView(state);
  return { id, status: view.status, requestedAt: view.requestedAt, view };
};

/** Upserts the rows of a batch from the JSON array in `$9`. */
export const requestsProjection = `INSERT INTO requests (id, status, requested_at, view)
    SELECT id, status, "requestedAt", view
      FROM json_to_recordset($9::json) AS r(id text, status text, "requestedAt" bigint, view json)
    ON CONFLICT (id) DO UPDATE SET status = excluded.status, view = excluded.view`;

const Row = z.object({ view: ApprovalView });

/** Approvals of one status, oldest first. */
export const listRequests = async (
  pool: Pool,
  {
    limit,
    after,
    status,
  }: { readonly limit: number; readonly after?: string | undefined; readonly status: ApprovalStatus },
): Promise<{ items: ApprovalView[]; next?: string }> => {
  const from = after === undefined ? undefined : decodeCursor(after);
  const { rows } = await pool.query(
    `SELECT view FROM requests WHERE status = $1 AND ($2::bigint IS NULL OR (requested_at, id) > ($2, $3))
      ORDER BY requested_at, id LIMIT $4`,
    [status, from?.at ?? null, from?.id ?? null, limit + 1],
  );
  const views = z
    .array(Row)
    .parse(rows)
    .map(({ view }) => view);
  const page = pageOf(views, limit, ({ requestedAt, id }) => ({ at: requestedAt, id }));
  return { items: [...page.rows], ...(page.next !== undefined && { next: page.next }) };
};
