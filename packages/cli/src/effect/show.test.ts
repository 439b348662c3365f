import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { expect, test } from 'vitest';
import type { Client } from '../bus/client.ts';
import { typeLine } from '../../testing/terminal.ts';

const AT = Date.UTC(2026, 10, 23, 9, 30);
const effect = {
  id: 'e-7h2k9m1x4c0a5b3d',
  task: 't-1',
  node: 'append',
  state: 'applied',
  epoch: 1,
  digest: 'd'.repeat(64),
  approval: 'a-1',
  idempotencyKey: 'append:a.txt',
  starts: 1,
  uses: 'cap.file.append',
  target: 'file:a.txt',
  effectClass: 'keyed',
};
const ordered = {
  type: 'effect_ordered',
  node: 'append',
  attempt: 1,
  effectId: effect.id,
  id: 't-1',
  phase: 'executing',
};
const records = {
  'executor.get': effect,
  'executor.order': { id: effect.id, state: 'applied', effect: {}, outputs: { bytes: 6 } },
  'executor.list': { items: [] },
  'approvals.get': { decidedBy: 'ada', decidedAt: AT, comment: 'as agreed' },
  'orchestrator.history': {
    events: [
      { version: 4, at: AT + 1_000, type: 'effect_ordered', data: ordered },
      { version: 5, at: AT + 2_000, type: 'node_ended', data: { node: 'append' } },
    ],
  },
};

const type = async (line: string, answers: Readonly<Record<string, unknown>>) => {
  const connect = () =>
    Promise.resolve({
      call: (service: string, endpoint: string) => {
        const answer = answers[`${service}.${endpoint}`];
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
      close: () => Promise.resolve(),
    } as unknown as Client);
  return typeLine(line.split(' '), {}, { connect });
};

test('effect show prints the approver, the times and the result', async () => {
  const { out } = await type(`effect show ${effect.id}`, records);
  expect(out).toContain('state        applied (1 start)\n');
  expect(out).toContain('approved by  ada at 2026-11-23 09:30:00Z “as agreed”\n');
  expect(out).toContain('ordered      2026-11-23 09:30:01Z\nended        2026-11-23 09:30:02Z\n');
  expect(out).toContain('result\n  {\n    "bytes": 6\n  }\n');
});

test('effect show prints the entry of the ledger when no other record is left', async () => {
  const gone = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'unknown task: t-1');
  const { code, out } = await type(`effect show ${effect.id}`, {
    'executor.get': effect,
    'executor.order': gone,
    'approvals.get': gone,
    'orchestrator.history': gone,
  });
  expect(code).toBe(0);
  expect(out).toContain('state   applied (1 start)\n');
  expect(out).not.toMatch(/approved by|ordered|result/);
});

test('effect list refuses an unknown task, and says so of one without effects', async () => {
  const unknown = new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'unknown task: t-nosuch');
  const refused = await type('effect list t-nosuch', { ...records, 'orchestrator.get': unknown });
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toContain('ORCHESTRATOR_UNKNOWN_TASK');
  expect(await type('effect list t-1', { ...records, 'orchestrator.get': {} })).toMatchObject({
    code: 0,
    out: 'no effects\n',
  });
});

test('effect show prints the callbacks of a held effect, each with its attempts', async () => {
  const inputs = { callback: { url: 'https://ci.example/done' } };
  const submitted = { version: 1, at: AT, type: 'submitted', data: { inputs } };
  const { events } = records['orchestrator.history'];
  const problem = 'the receiver answered 503';
  const { out } = await type(`effect show ${effect.id}`, {
    ...records,
    'orchestrator.history': { events: [submitted, ...events] },
    'approvals.callbacks': {
      items: [
        { event: 'effect.in_doubt', state: 'delivered', tries: 1, at: AT },
        { event: 'effect.applied', state: 'waiting', tries: 2, at: AT + 1_000, problem },
      ],
    },
  });
  expect(out).toContain(
    [
      'callback     effect.in_doubt delivered, 1 attempt, 2026-11-23 09:30:00Z',
      '             effect.applied waiting, 2 attempts, 2026-11-23 09:30:01Z, the receiver answered 503',
    ].join('\n'),
  );
});
