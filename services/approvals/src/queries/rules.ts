import { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { matches, type RuleMatch, type RuleView } from '@holdpoint/contracts/approval/standing-rule';
import { decodeCursor, pageOf } from '@holdpoint/runtime/store/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import { ROLLBACK_RULE } from '../rule/rollback-rule.ts';
import { builtInRule, type Rule, ruleView } from '../rule/state.ts';

const PAGE = 50;

// The decider of rules wrote this view.
const Row = z.object({
  id: z.string(),
  createdAt: z.coerce.number(),
  now: z.coerce.number(),
  view: z.custom<Rule>((view) => typeof view === 'object' && view !== null),
});

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';
const FIELDS = `id, created_at AS "createdAt", view, ${NOW} AS now`;

/** Status by the database's clock. */
const STATUS = `CASE
  WHEN view->>'revokedBy' IS NOT NULL THEN 'revoked'
  WHEN (view->>'expiresAt')::bigint <= ${NOW} OR (view->>'uses')::int >= (view->'spec'->>'usesMax')::int THEN 'ended'
  ELSE 'active' END`;

/** Active rules, oldest first. */
export const readActiveRules = async (pool: Pool): Promise<readonly Rule[]> => {
  const { rows } = await pool.query({
    name: 'hp_active_rules',
    text: `SELECT ${FIELDS} FROM heads WHERE status = 'rule' AND ${STATUS} = 'active' ORDER BY created_at, id`,
  });
  return z
    .array(Row)
    .parse(rows)
    .map(({ view }) => view);
};

/** The built-in rule. It comes first, whether it was ever used or not. */
const builtInRow = async (pool: Pool): Promise<z.infer<typeof Row>> => {
  const { rows } = await pool.query(`SELECT ${FIELDS} FROM heads WHERE id = $1`, [ROLLBACK_RULE]);
  const [used] = z.array(Row).parse(rows);
  const row = used ?? { id: ROLLBACK_RULE, now: 0, view: builtInRule };
  return { ...row, createdAt: 0 };
};

export const listRules = async (
  pool: Pool,
  { limit = PAGE, after, status }: ApiRequest<'approvals', 'rule_list'>,
  { rollbackRule }: { readonly rollbackRule: boolean },
): Promise<ApiResponse<'approvals', 'rule_list'>> => {
  const from = after === undefined ? undefined : decodeCursor(after);
  const { rows } = await pool.query(
    `SELECT ${FIELDS} FROM heads
      WHERE status = 'rule' AND id <> $5 AND ($1::bigint IS NULL OR (created_at, id) > ($1, $2)) AND ($3::text IS NULL OR ${STATUS} = $3)
      ORDER BY created_at, id LIMIT $4`,
    [from?.at ?? null, from?.id ?? null, status ?? null, limit + 1, ROLLBACK_RULE],
  );
  const isBuiltInNext = rollbackRule && from === undefined && (status ?? 'active') === 'active';
  const found = [...(isBuiltInNext ? [await builtInRow(pool)] : []), ...z.array(Row).parse(rows)];
  const page = pageOf(found, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
  const items: RuleView[] = page.rows.map(({ view, now }) => ruleView(view, now));
  return { items, ...(page.next !== undefined && { next: page.next }) };
};

/** Which of the latest requests a rule would have decided, latest first. */
export const testRule = async (
  pool: Pool,
  match: RuleMatch,
  last: number,
): Promise<ApiResponse<'approvals', 'rule_test'>> => {
  const { rows } = await pool.query('SELECT view FROM requests ORDER BY created_at DESC, id DESC LIMIT $1', [
    last,
  ]);
  const views = z.array(z.object({ view: ApprovalView })).parse(rows);
  return {
    examined: views.length,
    items: views.flatMap(({ view }) =>
      matches(match, view)
        ? [
            {
              id: view.id,
              title: view.title,
              status: view.status,
              requestedAt: view.requestedAt,
              ...(view.decidedBy !== undefined && { decidedBy: view.decidedBy }),
            },
          ]
        : [],
    ),
  };
};
