import { INBOX, inboxRows } from '@holdpoint/approvals/queries/inbox';
import { listRequests } from '@holdpoint/approvals/queries/requests';
import { type ApprovalView, riskOf } from '@holdpoint/contracts/approval/views';
import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import { ListApprovals } from '@holdpoint/contracts/approval/queries';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { ApprovalId, effectIdOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { roleOf } from '@holdpoint/infra/credentials/layout';
import { readPostgresPassword } from '@holdpoint/infra/credentials/read';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { createPool } from '@holdpoint/runtime/store/pool';
import { ownStatements } from '@holdpoint/runtime/store/statements';
import type { Pool } from 'pg';
import type { Database } from '../stack/databases.ts';
import { currentRun } from '../stack/run.ts';

const NODE = NodeId.parse('gate');

/** Connections like those of the approvals service. */
export const approvalsPool = async ({ admin, name }: Database): Promise<Pool> => {
  const role = roleOf('approvals');
  const password = await readPostgresPassword(currentRun().credentialsDir, role);
  const url = `postgres://${role}@${admin.host}:${String(admin.port)}/${name}`;
  return createPool({ url, password, schema: 'approvals', name: 'holdpoint-test', max: 4 }, silentLogger());
};

export type InboxEntry = {
  readonly id: string;
  readonly task: string;
  readonly title: string;
  readonly requestedBy: string;
  readonly audience: readonly string[];
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly status: ApprovalView['status'];
} & Pick<ApprovalView['effect'], 'kind' | 'effectClass' | 'target' | 'uses'>;

/** An approval as the service stores it. */
export const viewOf = ({ kind, effectClass, target, uses, ...asked }: InboxEntry): ApprovalView => {
  const task = TaskId.parse(asked.task);
  const effect = { task, node: NODE, uses, args: {}, kind, effectClass, target, idempotencyKey: asked.id };
  return {
    ...asked,
    id: ApprovalId.parse(asked.id),
    task,
    node: NODE,
    revision: 1,
    effectId: effectIdOf(task, NODE, effect.idempotencyKey),
    effect,
    digest: effectDigest(effect),
    audience: [...asked.audience],
    timeoutMs: 60_000,
    risk: riskOf(effect),
  };
};

const { write } = ownStatements(INBOX);

/**
 * Inserts approvals and their rows of the inbox as the service does, except that the head has the request as well: tests delete
 * heads, but no event.
 */
export const keep = async (pool: Pool, views: readonly ApprovalView[]): Promise<void> => {
  await pool.query(
    `WITH asked AS (
       INSERT INTO event_runs (aggregate, first, at, events)
       SELECT id, 1, now(), '[{"type":"requested"}]' FROM unnest($1::text[]) AS id
       ON CONFLICT DO NOTHING)
     INSERT INTO heads (id, kind, version, status, created_at, view)
     SELECT id, 'approval', 1, status, at, view FROM unnest($1::text[], $2::text[], $3::bigint[], $4::json[]) AS h(id, status, at, view)
     ON CONFLICT (id) DO UPDATE SET version = heads.version + 1, status = excluded.status, view = excluded.view`,
    [
      views.map(({ id }) => id),
      views.map(({ status }) => status),
      views.map(({ requestedAt }) => requestedAt),
      views.map((view) => JSON.stringify(view)),
    ],
  );
  const [pending, ended] = [true, false].map((is) =>
    views.filter(({ status }) => (status === 'pending') === is),
  );
  await pool.query({
    ...write(['listed', 'unlisted']),
    values: [JSON.stringify(pending?.flatMap(inboxRows)), ended?.map(({ id }) => id)],
  });
};

/** All items of a list, page by page. */
export const listAll = async (
  pool: Pool,
  asked: ApiRequest<'approvals', 'list'>,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<readonly ApprovalView[]> => {
  const items: ApprovalView[] = [];
  let after: string | undefined;
  do {
    const page = await listRequests(pool, ListApprovals.parse({ ...asked, after }));
    items.push(...page.items);
    after = page.next;
    await between();
  } while (after !== undefined);
  return items;
};
