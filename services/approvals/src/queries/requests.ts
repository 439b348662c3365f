import { ApprovalView, riskOf } from '@holdpoint/contracts/approval/views';
import { ListApprovals } from '@holdpoint/contracts/approval/queries';
import { describedRisk } from '@holdpoint/contracts/effect/describe';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { Closed, Pending } from '../approval/state.ts';
import { decidedPage } from './inbox-decided.ts';
import { pendingPage } from './inbox-pending.ts';
import { decodeCursor, encodeCursor, type Order, firstCursor } from './inbox-cursor.ts';

/** The effect of a question about a job only names the job. */
const riskIn = (request: Pending['request']): ApprovalView['risk'] =>
  request.risk ??
  (['effect', 'in_doubt'].includes(questionOf(request))
    ? describedRisk(request.effect)
    : riskOf(request.effect));

type Progress = Omit<ApprovalView, Exclude<keyof Pending['request'], 'risk'>> &
  Pick<ApprovalView, 'task' | 'audience'>;

/** What an approval shows beside its request. */
export const approvalProgress = (state: Pending | Closed): Progress => {
  const { request, requestedAt, expiresAt, audience, votes, outcome } = state;
  const decided = state.status === 'closed' ? state.decided : undefined;
  return {
    task: request.task,
    audience: [...audience],
    risk: riskIn(request),
    status: decided?.outcome ?? 'pending',
    requestedAt,
    expiresAt,
    decidedBy: decided?.by,
    ...(decided?.agent !== undefined && { decidedByAgent: decided.agent }),
    decidedAt: decided?.at,
    comment: decided?.comment,
    answer: decided?.answer,
    response: decided?.response,
    surface: decided?.surface,
    rule: decided?.rule,
    remembered: decided?.remembered,
    outcome: outcome?.outcome,
    ...(votes.length > 0 && { votes: [...votes] }),
  };
};

/** An approval as the API shows it. */
export const approvalView = (state: Pending | Closed): ApprovalView => ({
  ...state.request,
  ...approvalProgress(state),
});

const Row = z.object({ id: z.string(), view: ApprovalView });

/** Bytes of one page, well below the limit of an answer. A single approval always fits. */
const PAGE_MAX_BYTES = 524_288;

/** Requests of earlier releases do not contain their risk. */
const withRisk = (view: ApprovalView): ApprovalView => ({ risk: riskOf(view.effect), ...view });

const orderOf = ({ status, order }: Pick<ListApprovals, 'status' | 'order'>): Order => {
  if (status !== 'pending') return order === 'newest' ? 'newest' : 'decided';
  return order;
};

/**
 * Approvals of one status: pending ones in any order, decided ones oldest or newest first. A page ends early
 * when it is too large or its scan too long. Throws `CONTRACT_INVALID` when `after` is not the `next` of a
 * page in this order.
 */
export const listRequests = async (
  pool: Pool,
  { after, ...query }: ListApprovals,
): Promise<{ items: ApprovalView[]; next?: string }> => {
  const order = orderOf(query);
  const from = after === undefined ? firstCursor(order) : decodeCursor(order, after);
  const { places, next } =
    order === 'decided' || (order === 'newest' && query.status !== 'pending')
      ? await decidedPage(pool, order, query, from)
      : await pendingPage(pool, { ...query, order }, from);
  if (places.length === 0) return { items: [], ...(next && { next: encodeCursor(order, next) }) };
  const ids = places.map(({ id }) => id);
  const { rows } = await pool.query('SELECT id, view FROM inbox_views($1, $2)', [ids, PAGE_MAX_BYTES]);
  const taken = z.array(Row).parse(rows);
  const last = taken.at(-1)?.id;
  const isCut = last !== undefined && last !== ids.at(-1);
  const end = isCut ? places.find(({ id }) => id === last) : next;
  return {
    // Decided after the list was read.
    items: taken
      .map(({ view }) => withRisk(view))
      .filter(({ status }) => (query.status === 'decided' ? status !== 'pending' : status === query.status)),
    ...(end && { next: encodeCursor(order, end) }),
  };
};

/**
 * The request of a task that waits for this answer; the digest tells them apart. Throws `APPROVALS_UNKNOWN` without one, and
 * `CONTRACT_INVALID` with several.
 */
export const findWaiting = async (pool: Pool, task: TaskId, digest: string): Promise<ApprovalId> => {
  const read = async (after?: string): Promise<readonly ApprovalView[]> => {
    const { items, next } = await listRequests(pool, ListApprovals.parse({ task, limit: 500, after }));
    return next === undefined ? items : [...items, ...(await read(next))];
  };
  const waiting = await read();
  const seen = waiting.length === 1 ? waiting : waiting.filter((each) => each.digest === digest);
  const [found] = seen;
  if (found === undefined)
    throw new HoldpointError('APPROVALS_UNKNOWN', `no request of ${task} waits for this answer`);
  if (seen.length > 1)
    throw new HoldpointError(
      'CONTRACT_INVALID',
      `${String(seen.length)} requests of ${task} wait: name one as approval, such as ${found.id}`,
    );
  return found.id;
};
