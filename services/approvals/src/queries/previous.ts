import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApprovalDetail } from '@holdpoint/contracts/approval/queries';
import { approvalIdOf } from '@holdpoint/contracts/values/ids';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { readState } from '@holdpoint/runtime/store/read';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { ApprovalDecider } from '../approval/decide.ts';
import { changesBetween } from './changes.ts';
import { approvalView } from './requests.ts';

/** Revisions searched; those without a request are skipped. */
const STEPS_MAX = 20;
const CHANGES_MAX = 200_000;
/** Bytes for the rest of the answer. */
const ROOM_BYTES = 16_384;
/** Bytes of a character as JSON, at most. */
const BYTES_PER_CHARACTER = 6;

const Row = z.object({ id: z.string() });

/** The latest of these ids with a request. */
const latestOf = async (pool: Pool, ids: readonly string[]): Promise<string | undefined> => {
  const { rows } = await pool.query(
    `SELECT h.id FROM unnest($1::text[]) WITH ORDINALITY AS wanted(id, place) JOIN heads h ON h.id = wanted.id
      WHERE h.status <> 'withdrawn' ORDER BY place LIMIT 1`,
    [ids],
  );
  return z.array(Row).parse(rows)[0]?.id;
};

const earlierIds = ({ task, node, revision }: ApprovalView): readonly string[] =>
  Array.from({ length: Math.min(revision - 1, STEPS_MAX) }, (_, i) =>
    approvalIdOf(task, node, revision - 1 - i),
  );

/**
 * The node's previous request, and the changes since. Undefined for the first request, and for questions,
 * which have no effect to compare.
 */
export const previousOf = async (
  pool: Pool,
  decider: ApprovalDecider,
  view: ApprovalView,
): Promise<ApprovalDetail['previous']> => {
  const ids = questionOf(view) === 'effect' ? earlierIds(view) : [];
  const id = ids.length === 0 ? undefined : await latestOf(pool, ids);
  if (id === undefined) return undefined;
  const state = await readState(pool, decider, id);
  // Purged a moment ago.
  if (state.status !== 'pending' && state.status !== 'closed') return undefined;
  const earlier = approvalView(state);
  const { comment } = earlier;
  const left = PAYLOAD_MAX_BYTES - ROOM_BYTES - Buffer.byteLength(JSON.stringify([view, comment]));
  const max = Math.max(0, Math.min(CHANGES_MAX, Math.floor(left / BYTES_PER_CHARACTER)));
  return {
    id: earlier.id,
    status: earlier.status,
    ...(comment !== undefined && { comment }),
    changes: changesBetween(earlier, view, max),
  };
};
