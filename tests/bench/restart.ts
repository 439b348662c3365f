import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@holdpoint/cli/bus/client';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { RunningStack } from '@holdpoint/infra/local/stack';
import { z } from 'zod';
import { until } from '../kit/until.ts';
import { percentiles, round } from './report/percentiles.ts';

/** The pause before a failed call is repeated. */
const AGAIN_MS = 20;
const LOOK_MS = 5;
/** So many tasks run before the kill. */
const BEFORE_MS = 4_000;
const OVER_WITHIN_MS = 60_000;

const Told = z.object({
  task: z.string().optional(),
  id: z.string().optional(),
  digest: z.string().optional(),
});

/**
 * Kills the processes of all services with tasks in flight. Measures when each task moves again: the first event about it
 * after the new processes have been started.
 */
export const measureRestart = async (
  client: Client,
  { services }: RunningStack,
  { run, inFlight }: { readonly run: string; readonly inFlight: number },
): Promise<object> => {
  const open = new Set<string>();
  const movedAt = new Map<string, number>();
  let startedAt: number | undefined;
  let isOver = false;
  let count = 0;
  const killed = Promise.withResolvers<never>();
  killed.promise.catch(() => undefined);
  /** Resolves once the called services answer. */
  let ready: Promise<unknown> = Promise.resolve();

  const answers = (service: ServiceName): Promise<unknown> =>
    until(
      `${service} answers`,
      () => client.connection.request(`$SRV.PING.holdpoint-${service}`, '', { timeout: 500 }),
      OVER_WITHIN_MS,
    );

  /** The kill loses a call. It is repeated under the same id, as soon as the services answer. */
  const insist = async (call: () => Promise<unknown>): Promise<void> => {
    while (!isOver) {
      try {
        await ready;
        await (startedAt === undefined ? Promise.race([call(), killed.promise]) : call());
        return;
      } catch {
        await delay(AGAIN_MS);
      }
    }
  };
  const submit = async (): Promise<void> => {
    count += 1;
    const id = `${run}-${String(count)}`;
    const task = { id, workflow: 'sample', goal: 'bench', inputs: { file: 'bench.txt', line: 'a line' } };
    await insist(() => client.call('orchestrator', 'submit', task, { timeoutMs: 1_000 }));
    open.add(id);
  };

  const heard = client.connection.subscribe('hp.evt.>', {
    callback: (error, { subject, data }) => {
      if (error !== null) return;
      const [, , kind, what, about = ''] = subject.split('.');
      const told = Told.safeParse(JSON.parse(new TextDecoder().decode(data))).data;
      const task = kind === 'task' ? about : told?.task;
      if (task === undefined || !task.startsWith(`${run}-`)) return;
      if (startedAt !== undefined && !movedAt.has(task)) movedAt.set(task, performance.now());
      if (kind === 'approval' && what === 'requested') {
        const decision = { id: told?.id ?? '', decision: 'approve' as const, digest: told?.digest ?? '' };
        void insist(() => client.call('approvals', 'decide', decision, { timeoutMs: 1_000 }));
      }
      if (kind !== 'task' || what !== 'completed' || !open.delete(task)) return;
      if (startedAt === undefined) void submit();
    },
  });
  await client.connection.flush();
  await Promise.all(Array.from({ length: inFlight }, submit));
  await delay(BEFORE_MS);

  const processes = [...new Map(Object.values(services).map((each) => [each.pid(), each])).entries()];
  const affected = [...open];
  const killedAt = performance.now();
  startedAt = Infinity;
  for (const [, process] of processes) process.signal('SIGKILL');
  ready = Promise.all(['orchestrator' as const, 'approvals' as const].map(answers));
  killed.reject(new Error('the services were killed'));
  while (processes.some(([pid, process]) => process.pid() === pid)) await delay(LOOK_MS);
  startedAt = performance.now();
  movedAt.clear();
  const deadline = startedAt + OVER_WITHIN_MS;
  while (affected.some((task) => open.has(task)) && performance.now() < deadline) await delay(LOOK_MS);
  const overAt = performance.now();
  isOver = true;
  heard.unsubscribe();
  const began = startedAt;
  return {
    measurement: 'restart',
    inFlight: affected.length,
    killToStartMs: round(began - killedAt, 0),
    startToMovedMs: percentiles(
      affected.flatMap((task) => {
        const at = movedAt.get(task);
        return at === undefined ? [] : [at - began];
      }),
    ),
    firstMovedMs: round(Math.min(...movedAt.values()) - began, 0),
    allMovedMs: round(Math.max(...affected.map((task) => movedAt.get(task) ?? Infinity)) - began, 0),
    allCompleteMs: round(overAt - began, 0),
    lost: affected.filter((task) => open.has(task)).length,
  };
};
