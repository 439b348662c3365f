import { EffectView } from '@holdpoint/contracts/catalog';
import type { ProjectionRow } from '@holdpoint/runtime/ports';
import type { Pool } from 'pg';
import { z } from 'zod';
import { type EffectState, entryIn } from '../domain/ledger.ts';

/** An effect as the ledger has it; undefined while nothing was ordered under its key. */
export const effectView = (state: EffectState): EffectView | undefined => {
  const entry = entryIn(state);
  if (entry === undefined) return undefined;
  const { order, epoch, starts } = entry;
  const { task, node, idempotencyKey } = order.effect;
  return {
    id: order.id,
    task,
    node,
    state: state.status,
    epoch,
    digest: order.digest,
    idempotencyKey,
    starts,
  };
};

export const effectRow = (id: string, state: EffectState): ProjectionRow | undefined => {
  const view = effectView(state);
  return view && { id, task: view.task, state: view.state, view };
};

/** Upserts the rows of a batch from the JSON array in `$9`. */
export const effectsProjection = `INSERT INTO effects (id, task, state, view)
    SELECT id, task, state, view FROM json_to_recordset($9::json) AS e(id text, task text, state text, view json)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, view = excluded.view`;

/** A task has few effects; what is beyond this is not shown. */
const SHOWN_MAX = 500;

export const listEffects = async (pool: Pool, task: string): Promise<EffectView[]> => {
  const { rows } = await pool.query('SELECT view FROM effects WHERE task = $1 ORDER BY id LIMIT $2', [
    task,
    SHOWN_MAX,
  ]);
  return z
    .array(z.object({ view: EffectView }))
    .parse(rows)
    .map(({ view }) => view);
};
