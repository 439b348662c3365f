import type { Deployment } from './deployment/deployment.ts';
import { lookAtConsumers, lookAtServices } from './evidence/run.ts';
import { holdFor } from './fault-runner.ts';

export type Settled = {
  /** Undefined when it did not come to rest. */
  readonly afterMs: number | undefined;
  readonly withinMs: number;
  readonly left: readonly string[];
};

const LOOK_EVERY_MS = 1_000;
/** Between two steps a task is briefly in no table, so several quiet samples are needed. */
const QUIET_LOOKS = 3;

const counted = (count: number, what: string): readonly string[] =>
  count === 0 ? [] : [`${String(count)} ${what}`];

const countOf = async ({ query }: Deployment, what: string, sql: string): Promise<readonly string[]> => {
  const [row] = await query(`SELECT count(*)::int AS n FROM ${sql}`);
  return counted(Number(row?.['n']), what);
};

const leftOf = async (
  deployment: Deployment,
  prefix: string,
  children: readonly string[],
): Promise<readonly string[]> => {
  const named = children.map((id) => `'${id}'`).join(',');
  /** The tasks of the run and of its programs' effects. */
  const ours = (column: string): string =>
    named === '' ? `${column} LIKE '${prefix}%'` : `(${column} LIKE '${prefix}%' OR ${column} IN (${named}))`;
  const unready: string[] = [];
  for (const { name } of deployment.instances) if (!(await deployment.isReady(name))) unready.push(name);
  const services = await lookAtServices(deployment);
  const consumers = await lookAtConsumers(deployment);
  return [
    ...unready.map((name) => `${name} is not ready`),
    ...(await countOf(
      deployment,
      'tasks that have not ended',
      `orchestrator.heads WHERE ${ours('id')} AND status NOT IN ('completed', 'failed', 'cancelled', 'paused')`,
    )),
    ...(await countOf(
      deployment,
      'effects under way',
      `executor.heads WHERE ${ours("view->>'task'")} AND status IN ('prepared', 'started', 'offered', 'claimed')`,
    )),
    ...(await countOf(
      deployment,
      'approvals that wait',
      `approvals.heads WHERE ${ours("view->>'task'")} AND status = 'pending'`,
    )),
    // If `job_unstuck` is lost, recovery asks again after five minutes.
    ...(await countOf(
      deployment,
      'jobs on the list that are not stuck',
      `recovery.heads r WHERE ${ours('r.id')} AND r.status = 'stuck'
         AND NOT EXISTS (SELECT 1 FROM orchestrator.heads o WHERE o.id = r.id AND o.status = 'paused')`,
    )),
    // An ended task withdraws its open requests until that is confirmed.
    ...(await countOf(
      deployment,
      'questions without an answer',
      `orchestrator.timers WHERE ${ours('aggregate')} AND (name LIKE 'withdraw:%' OR name LIKE 'reply:%')`,
    )),
    ...services.flatMap(({ service, outbox, staleTimers }) => [
      ...counted(outbox, `messages of ${service} not sent`),
      ...counted(staleTimers, `late timers of ${service}`),
    ]),
    ...consumers.flatMap(({ name, pending, unacknowledged }) =>
      counted(pending + unacknowledged, `messages for ${name}`),
    ),
  ];
};

/** Waits until nothing is in progress. Returns how long that took. */
export const settle = async (
  deployment: Deployment,
  { prefix, children }: { readonly prefix: string; readonly children: readonly string[] },
  { withinMs, say }: { readonly withinMs: number; readonly say: (line: string) => void },
): Promise<Settled> => {
  const start = performance.now();
  const never = new AbortController().signal;
  let left: readonly string[] = ['the run has no samples'];
  let lastReport = start;
  for (let quiet = 0; performance.now() - start < withinMs;) {
    left = await leftOf(deployment, prefix, children).catch((error: unknown) => [
      `it cannot be looked at: ${String(error)}`,
    ]);
    quiet = left.length === 0 ? quiet + 1 : 0;
    if (quiet >= QUIET_LOOKS) return { afterMs: Math.round(performance.now() - start), withinMs, left: [] };
    if (performance.now() - lastReport > 10_000 && left.length > 0) {
      lastReport = performance.now();
      say(`waiting for ${left.join(', ')}`);
    }
    await holdFor(LOOK_EVERY_MS, never);
  }
  return { afterMs: undefined, withinMs, left };
};
