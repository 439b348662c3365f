import { type ApprovalStatus, ApprovalView } from '@holdpoint/contracts/approval';
import type { Summary } from '@holdpoint/runtime/ports';
import { decodeCursor, pageOf } from '@holdpoint/runtime/postgres/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { ApprovalState } from '../domain/approval.ts';

/** An approval as the API shows it. */
export const approvalView = (
  state: Extract<ApprovalState, { status: 'pending' | 'closed' }>,
): ApprovalView => {
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
    answer: decided?.answer,
  };
};

/** What lists show of an approval: all of it, once somebody was asked. */
export const summarise = (state: ApprovalState): Summary => {
  if (state.status === 'absent' || state.status === 'withdrawn') return { status: state.status, view: null };
  const view = approvalView(state);
  return { status: view.status, view };
};

const Row = z.object({ id: z.string(), createdAt: z.coerce.number(), view: ApprovalView });

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
    `SELECT id, created_at AS "createdAt", view FROM heads
      WHERE status = $1 AND ($2::bigint IS NULL OR (created_at, id) > ($2, $3))
      ORDER BY created_at, id LIMIT $4`,
    [status, from?.at ?? null, from?.id ?? null, limit + 1],
  );
  const page = pageOf(z.array(Row).parse(rows), limit, ({ createdAt, id }) => ({ at: createdAt, id }));
  const items = page.rows.map(({ view }) => view);
  return { items, ...(page.next !== undefined && { next: page.next }) };
};
