import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { commandIdOf } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { describe, expect, test } from 'vitest';
import { control, effect, gate, node } from '../../../testing/graphs.ts';
import { taskDecider } from '../decide.ts';
import type { OperatorCommand, TaskMessage } from '../model/messages.ts';
import type { Sender } from '../model/sender.ts';
import { absent, findNode, type TaskState } from '../model/state.ts';

const TASK = 't-1' as TaskId;
const NODE = 'held' as NodeId;

const person = (name: string, ...groups: readonly string[]): Sender => ({ kind: 'person', name, groups });
const ada = person('ada', 'operators');
const mallory = person('mallory', 'guests');
const bot: Sender = { kind: 'person', name: 'ada', groups: ['operators'], agent: 'bot' };
const anybody: Sender = { kind: 'unverified' };

const after = (state: TaskState, message: TaskMessage) => {
  const { events, answer } = taskDecider.decide(state, message, { now: 1 });
  return { state: events.reduce((before, event) => taskDecider.evolve(before, event), state), answer };
};

const started = (held: NodeDefinition): TaskState =>
  after(absent, {
    kind: 'submit',
    task: TASK,
    payload: {
      workflow: 'w',
      goal: 'g',
      repository: '/r',
      definition: { id: 'w', version: '1', nodes: [held, control('next', { after: [NODE] })] },
    },
  }).state;

let count = 0;
const commanded = (
  held: NodeDefinition,
  kind: OperatorCommand['kind'],
  sender: Sender | undefined,
  of: object = { node: NODE },
) => {
  count += 1;
  const command = {
    kind,
    payload: { id: TASK, ...of },
    task: TASK,
    commandId: commandIdOf(kind, String(count)),
  };
  const { state, answer } = after(started(held), {
    ...command,
    ...(sender && { sender }),
  } as OperatorCommand);
  const code = answer !== undefined && 'error' in answer ? answer.error.code : undefined;
  return { code, status: state.phase === 'absent' ? undefined : findNode(state, NODE)?.status };
};

const HELD: readonly (readonly [string, NodeDefinition])[] = [
  ['an effect', effect('held')],
  ['an approval of its start', node('held', { approval: { audience: ['operators'], timeoutMs: 60_000 } })],
  ['a check that waits', gate('held', { approval: { audience: ['operators'], timeoutMs: 60_000 } })],
];

describe.each(HELD)('a node with %s', (_, held) => {
  test.each(['done', 'skip', 'cancel'] as const)('%s needs a verified person', (kind) => {
    const before = commanded(held, 'pause', ada).status;
    for (const sender of [undefined, anybody, bot])
      expect(commanded(held, kind, sender)).toEqual({ code: 'IDENTITY_REQUIRED', status: before });
    expect(commanded(held, kind, ada).code).toBeUndefined();
  });

  test.each(['done', 'skip'] as const)('%s needs a person of its audience', (kind) => {
    expect(commanded(held, kind, mallory).code).toBe('ORCHESTRATOR_NOT_ENTITLED');
  });

  test('a person outside its audience may cancel it, which only stops it', () => {
    expect(commanded(held, 'cancel', mallory)).toEqual({ code: undefined, status: 'cancelled' });
  });

  test('a command of a service needs no person', () => {
    expect(commanded(held, 'cancel', { kind: 'service' }).status).toBe('cancelled');
  });

  test('anybody stops the whole task', () => {
    expect(commanded(held, 'cancel', anybody, {})).toEqual({ code: undefined, status: 'cancelled' });
  });
});

test('the audience of a person is compared in the normal form of names', () => {
  const held = effect('held', {}, { audience: ['user:Ada '] });
  expect(commanded(held, 'done', person('ada')).code).toBeUndefined();
  expect(commanded(held, 'done', person('grace')).code).toBe('ORCHESTRATOR_NOT_ENTITLED');
});

test('a node whose effect leaves its audience to the policy floor is held for operators', () => {
  const held = effect('held', {}, { audience: [] });
  expect(commanded(held, 'done', ada).code).toBeUndefined();
  expect(commanded(held, 'done', mallory).code).toBe('ORCHESTRATOR_NOT_ENTITLED');
});

test('a retry of all nodes needs a verified person when one of them is held', () => {
  const failed = after(started(effect('held')), {
    kind: 'cancel',
    payload: { id: TASK, node: NODE },
    task: TASK,
    commandId: commandIdOf('cancel', 'first'),
    sender: ada,
  }).state;
  const retry = (sender: Sender): TaskMessage => ({
    kind: 'retry',
    payload: { id: TASK, rewind: true },
    task: TASK,
    commandId: commandIdOf('retry', sender.kind),
    sender,
  });
  expect(after(failed, retry(anybody)).answer).toMatchObject({ error: { code: 'IDENTITY_REQUIRED' } });
  expect(after(failed, retry(ada)).answer).not.toHaveProperty('error');
});

test('anybody skips and retries plain work', () => {
  const work = node('held', { approval: undefined });
  expect(commanded(work, 'cancel', anybody).code).toBeUndefined();
});
