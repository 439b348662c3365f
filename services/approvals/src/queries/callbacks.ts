import type { ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { CallbackView } from '@holdpoint/contracts/effect/hold';
import { callbackIdOf, type TaskId } from '@holdpoint/contracts/values/ids';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { CallbackState } from '../callback/callback.ts';

/** The task of a held effect has some ten versions; earlier ones of a task with more are not searched. */
const VERSIONS_MAX = 500;

/** The URL is left out: people see it with the task. */
export const callbackView = ({ order, status, tries, at, problem }: CallbackState): CallbackView => ({
  event: `effect.${order.held.state}`,
  state: status === 'open' ? 'waiting' : status,
  tries,
  at,
  ...(problem !== undefined && { problem }),
});

const Rows = z.array(z.object({ view: CallbackView }));

/** Callbacks of a held effect, oldest first. The primary key finds them: each id is that of a version of the task. */
export const listCallbacks = async (
  pool: Pool,
  { task, version }: ApiRequest<'approvals', 'callbacks'>,
): Promise<ApiResponse<'approvals', 'callbacks'>> => {
  const first = Math.max(1, version - VERSIONS_MAX + 1);
  const ids = Array.from({ length: version - first + 1 }, (_, place) =>
    callbackIdOf(task as TaskId, first + place),
  );
  const { rows } = await pool.query({
    name: 'hp_callbacks',
    text: "SELECT view FROM heads WHERE id = ANY ($1) AND kind = 'callback' ORDER BY created_at, id",
    values: [ids],
  });
  return { items: Rows.parse(rows).map(({ view }) => view) };
};
