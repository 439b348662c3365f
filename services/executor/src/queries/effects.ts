import { EffectView } from '@holdpoint/contracts/effect/views';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import type { Summary } from '@holdpoint/runtime/engine/ports';
import type { Pool } from 'pg';
import { z } from 'zod';
import { type EffectState, entryIn } from '../effect/state.ts';

/** The reason for the state, if it has one. */
const reasonOf = (state: EffectState): string | undefined => {
  switch (state.status) {
    case 'in_doubt':
    case 'not_applied':
    case 'cancelled':
      return state.reason;
    case 'failed_clean':
    case 'refused':
      return `${state.error.code}: ${state.error.message}`;
    case 'absent':
    case 'prepared':
    case 'started':
    case 'applied':
      return undefined;
  }
};

/** The view of an effect; undefined before the first order. */
export const effectView = (state: EffectState): EffectView | undefined => {
  const entry = entryIn(state);
  if (entry === undefined) return undefined;
  const { order, epoch, starts, prevented = [], answered, holder } = entry;
  const { task, node, idempotencyKey, uses, target, effectClass } = order.effect;
  const reason = reasonOf(state);
  return {
    id: order.id,
    task,
    node,
    state: state.status,
    epoch,
    digest: order.digest,
    ...(order.approval !== undefined && { approval: order.approval }),
    ...(order.pool !== undefined && { pool: order.pool }),
    idempotencyKey,
    starts,
    uses,
    target,
    effectClass,
    duplicatesPrevented: prevented.length,
    ...(reason !== undefined && { reason }),
    ...(state.status === 'in_doubt' && { next: state.next }),
    ...(state.status === 'in_doubt' && state.cause !== undefined && { cause: state.cause }),
    ...(answered && { answer: answered.answer, answeredBy: answered.by }),
    ...(holder !== undefined && { remote: holder }),
  };
};

/** Statuses of their own let an index find remote orders, while starts of executors touch none. */
const statusOf = (state: EffectState): string => {
  const entry = state.status === 'prepared' || state.status === 'started' ? state.entry : undefined;
  if (entry === undefined || !isRemote(entry.order.effect.uses)) return state.status;
  return state.status === 'prepared' ? 'offered' : 'claimed';
};

/** Lists show the whole view. */
export const summarise = (state: EffectState): Summary => ({
  status: statusOf(state),
  view: effectView(state) ?? null,
});

/** Limits a list; a task has far fewer effects. */
const SHOWN_MAX = 500;

export const listEffects = async (pool: Pool, task: string): Promise<EffectView[]> => {
  const { rows } = await pool.query("SELECT view FROM heads WHERE view->>'task' = $1 ORDER BY id LIMIT $2", [
    task,
    SHOWN_MAX,
  ]);
  return z
    .array(z.object({ view: EffectView }))
    .parse(rows)
    .map(({ view }) => view);
};
