import { join } from 'node:path';
import { fetchLedger, type LedgerRecord } from '../../counter/ledger.ts';
import { DEFAULT_MIX, type Mode } from '../../counter/modes.ts';
import { type Counter, startCounter } from '../../counter/server.ts';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { approvalIdOf, doubtIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Refusal } from '../../kit/bus/client.ts';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approve, newTaskId, type SampleTask, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

const guest: TestPrincipal = { name: 'guest', groups: ['guests'], token: 'guest-token' };
const second: TestPrincipal = { name: 'second', groups: ['operators'], token: 'second-token' };

let system: System;
let counter: Counter;
beforeAll(async () => {
  system = await createSystem();
  counter = await startCounter({
    file: join(system.folder, 'counter.ndjson'),
    host: '127.0.0.1',
    port: 0,
    seed: 'doubts',
    mode: 'normal',
    mix: DEFAULT_MIX,
    keyWindowMs: Infinity,
    slowMs: [1, 1],
    holdMs: [600_000, 600_000],
  });
  const operator: TestPrincipal = { name: 'operator', groups: ['operators'], token: system.client.token };
  const principals = await writePrincipals(system.folder, [operator, guest, second]);
  const settings: Readonly<Record<string, Record<string, string>>> = {
    executor: { HOLDPOINT_HTTP_TARGETS: counter.origin, HOLDPOINT_HTTP_KEYED_TARGETS: counter.origin },
    approvals: { HOLDPOINT_PRINCIPALS_FILE: principals },
  };
  await Promise.all(SERVICES.map((service) => system.start(service, settings[service] ?? {})));
});
afterAll(async () => {
  await counter.stop();
  await system.stop();
});

const NODE = 'request' as NodeId;

const control = (mode: Mode): Promise<Response> =>
  fetch(`${counter.origin}/control`, { method: 'POST', body: JSON.stringify({ mode }) });

/** The number of applications at the target. */
const applications = async ({ effect }: SampleTask): Promise<number> =>
  (await fetchLedger(counter.origin)).filter(
    (record: LedgerRecord) => 'key' in record && record.key === effect && record.type === 'applied',
  ).length;

const effectOf = ({ effect }: SampleTask) => system.client.ask('executor', 'get', { id: effect });
const taskOf = ({ id }: SampleTask) => system.client.ask('orchestrator', 'get', { id });
const nodeOf = (view: TaskView) => view.nodes.find(({ id }) => id === NODE);

/** A request that is sent and whose answer is lost. */
const taskInDoubt = async (mode: Mode = 'apply_then_reset'): Promise<SampleTask> => {
  await control(mode);
  const id = newTaskId();
  const task: SampleTask = {
    id,
    line: '',
    approval: approvalIdOf(id, NODE, 1),
    effect: effectIdOf(id, NODE, 'request'),
  };
  const inputs = { url: `${counter.origin}/opaque/orders`, body: { order: 7 } };
  await until(`task ${id} is taken`, () =>
    system.client.ask('orchestrator', 'submit', { id, workflow: 'http', goal: 'tell them', inputs }),
  );
  await approve(system.client, task);
  return task;
};

/** The open question about the effect, other than an earlier one. */
const questionOf = (task: SampleTask, before?: ApprovalView): Promise<ApprovalView> =>
  until(`there is a question about ${task.effect}`, async () => {
    const { question } = nodeOf(await taskOf(task)) ?? {};
    if (question === undefined || question === before?.id) return undefined;
    return system.client.ask('approvals', 'get', { id: question });
  });

const answer = (
  { id, digest }: ApprovalView,
  decision: Choice,
  token = system.client.token,
  comment = 'I looked',
) =>
  system.client.askRaw(
    'hp.api.approvals.decide',
    JSON.stringify({ id, digest, decision, comment }),
    token,
  ) as Promise<{ readonly status: string; readonly by: string }>;

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Refusal) return error.code;
  throw new Error('it was not refused', { cause: error });
};

const historyOf = async ({ id }: SampleTask): Promise<readonly string[]> =>
  (await system.client.ask('orchestrator', 'history', { id })).events.map(({ type }) => type);

/** Whether the operator is paged about it. */
const isPaged = async ({ effect }: SampleTask): Promise<boolean> => {
  const { rows } = await withAdmin(system.database.admin, (client) =>
    client.query('SELECT FROM executor.doubts WHERE id = $1', [effect]),
  );
  return rows.length === 1;
};

describe('an effect whose answer is lost', () => {
  test('an in-doubt effect asks one question, under an id of its own', async () => {
    const task = await taskInDoubt();
    const question = await questionOf(task);
    const effect = await effectOf(task);
    expect(effect).toMatchObject({ state: 'in_doubt', next: 'person', starts: 1 });
    expect(question).toMatchObject({
      id: doubtIdOf(task.effect, effect.epoch),
      status: 'pending',
      effectId: task.effect,
      title: expect.stringMatching(/^Did it happen\? tell them: http request on /) as never,
      audience: ['operators'],
      inDoubt: { epoch: effect.epoch, reason: effect.reason },
    });
    const view = await waitForPhase(system.client, task.id, 'paused');
    expect(nodeOf(view)).toMatchObject({ status: 'escalated', question: question.id });
    const { checkpoints = [] } = view;
    expect(checkpoints.filter(({ kind }) => kind !== 'noted')).toMatchObject([
      { kind: 'resume_granted', node: NODE },
      { kind: 'resume_blocked', node: NODE, epoch: effect.epoch },
    ]);
    expect(await applications(task)).toBe(1);
    expect(await isPaged(task)).toBe(true);
  });

  const ends: readonly (readonly [InDoubtAnswer, TaskPhase, state: string, applied: number])[] = [
    ['applied', 'completed', 'applied', 1],
    ['not_applied', 'failed', 'not_applied', 0],
    ['retry', 'completed', 'applied', 1],
  ];
  test.each(ends)('after the answer %s the task is %s', async (said, phase, state, applied) => {
    const task = await taskInDoubt(
      applied === 1 && said === 'applied' ? 'apply_then_reset' : 'reset_before_reading',
    );
    const question = await questionOf(task);
    await control('normal');
    expect(await answer(question, said)).toMatchObject({ status: 'answered', by: 'operator' });
    const view = await waitForPhase(system.client, task.id, phase);
    expect(await effectOf(task)).toMatchObject({
      state,
      starts: said === 'retry' ? 2 : 1,
      answer: said,
      answeredBy: 'operator',
    });
    expect(await applications(task)).toBe(applied);
    expect(await isPaged(task)).toBe(false);
    expect(nodeOf(view)?.question).toBeUndefined();
    expect(await historyOf(task)).toEqual(expect.arrayContaining(['in_doubt_asked', 'in_doubt_answered']));
    const error = { code: 'EXECUTOR_NOT_APPLIED', message: 'the effect was not applied: operator said so' };
    const { code, message } = view.error ?? {};
    expect({ code, message }).toEqual(
      said === 'not_applied' ? error : { code: undefined, message: undefined },
    );
  });

  test('an effect that is in doubt again after a repeat asks a new question, which the old answer does not answer', async () => {
    const task = await taskInDoubt();
    const first = await questionOf(task);
    await answer(first, 'retry');
    const later = await questionOf(task, first);
    expect(later.inDoubt?.epoch).toBeGreaterThan(first.inDoubt?.epoch ?? Infinity);
    expect(await refusal(answer(first, 'applied'))).toBe('APPROVALS_ALREADY_DECIDED');
    expect(await effectOf(task)).toMatchObject({ state: 'in_doubt', starts: 2 });
    expect(await applications(task)).toBe(2);
    await answer(later, 'applied');
    await waitForPhase(system.client, task.id, 'completed');
    expect(await applications(task)).toBe(2);
  });
});

describe('the question', () => {
  test('only the first valid answer of an entitled person counts', async () => {
    const task = await taskInDoubt();
    const question = await questionOf(task);
    for (const choice of ['approve', 'reject', 'request_changes'] as const)
      expect(await refusal(answer(question, choice))).toBe('APPROVALS_NO_CHOICE');
    expect(await refusal(answer(question, 'applied', guest.token))).toBe('APPROVALS_NOT_ENTITLED');
    expect(await refusal(answer(question, 'applied', 'nobody'))).toBe('APPROVALS_UNAUTHENTICATED');
    expect(await system.client.ask('approvals', 'get', { id: question.id })).toMatchObject({
      status: 'pending',
    });
    await answer(question, 'applied');
    expect(await refusal(answer(question, 'retry', second.token))).toBe('APPROVALS_ALREADY_DECIDED');
    expect(await answer(question, 'applied')).toMatchObject({ status: 'answered', by: 'operator' });
    await waitForPhase(system.client, task.id, 'completed');
    expect(await applications(task)).toBe(1);
  });

  test('a cancelled task withdraws the question', async () => {
    const task = await taskInDoubt();
    const question = await questionOf(task);
    await system.client.ask('orchestrator', 'cancel', { id: task.id });
    await until('the question is closed', async () => {
      const { status } = await system.client.ask('approvals', 'get', { id: question.id });
      return status === 'cancelled' ? status : undefined;
    });
    expect(await refusal(answer(question, 'retry'))).toBe('APPROVALS_ALREADY_DECIDED');
    expect(await applications(task)).toBe(1);
  });
});

test('an answer about an in-doubt effect does not answer an approval', async () => {
  const id = newTaskId();
  const approval = approvalIdOf(id, NODE, 1);
  const inputs = { url: `${counter.origin}/opaque/orders` };
  await system.client.ask('orchestrator', 'submit', { id, workflow: 'http', goal: 'tell them', inputs });
  const approvalRequest = await until('it is requested', () =>
    system.client.ask('approvals', 'get', { id: approval }),
  );
  for (const choice of ['applied', 'not_applied', 'retry'] as const)
    expect(await refusal(answer(approvalRequest, choice))).toBe('APPROVALS_NO_CHOICE');
});
