import type { WorkAnswer, WorkInput, WorkOrder, WorkRequest } from '@holdpoint/contracts/program/work';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { phasesFor } from '../definition/phases-for.ts';
import { defineWorkflow } from '../definition/workflow.ts';
import { clockOf, createTimeline } from '../testing/timeline.ts';
import { startActivation } from './activation.ts';

const { agentPhase, terminal } = phasesFor(z.object({ topic: z.string() }));
const ran: string[] = [];
const phase = (name: string) =>
  agentPhase({
    run: ({ state }) => {
      ran.push(`${name} of ${state.topic}`);
      return {};
    },
    next: 'done',
  });
const workflow = defineWorkflow({
  id: 'letter',
  version: '1',
  state: z.object({ topic: z.string() }),
  initial: 'write',
  phases: { write: phase('write'), send: phase('send'), done: terminal({}) },
});

const inputOn = (topic: string): WorkInput => ({
  state: { topic },
  inputs: {},
  goal: 'a letter',
  requestedBy: 'ada',
  entries: [],
  failures: [],
});
const genuine = inputOn('Dear Ada');
const order: WorkOrder = {
  task: 't-1' as TaskId,
  node: 'write' as NodeId,
  visit: 1,
  attempt: 1,
  lease: 1,
  program: { id: 'letter', version: '1', hash: 'a'.repeat(40) },
  activation: 'run',
  input: genuine,
};

/** Runs an order against an orchestrator that has ordered `write` with the genuine input under lease 1. */
const give = async (given: WorkOrder): Promise<readonly WorkRequest['request'][]> => {
  ran.length = 0;
  const said: WorkRequest['request'][] = [];
  const { node, visit, attempt, activation } = order;
  const claimed = { node, visit, attempt, activation, inputSha256: digestOf(genuine) };
  const say = ({ request }: WorkRequest): Promise<WorkAnswer> => {
    said.push(request);
    const input = request.kind === 'claim' && request.withInput === true ? { input: genuine } : {};
    return Promise.resolve({
      lease: 1,
      leaseMs: 30_000,
      ...(request.kind === 'claim' && { claimed, ...input }),
    });
  };
  await startActivation({
    workflow,
    order: given,
    port: {
      say,
      keep: () => Promise.reject(new Error('nothing is kept')),
      fetch: () => Promise.reject(new Error('nothing is fetched')),
      listen: () => () => undefined,
    },
    clock: clockOf(createTimeline(), () => true),
    worker: 'w-1',
    parkMs: 1_000,
    log: () => undefined,
    acknowledge: () => undefined,
  }).done;
  return said;
};

describe('an order of work', () => {
  test('the order of the orchestrator runs its phase with its input', async () => {
    const said = await give(order);
    expect(ran).toEqual(['write of Dear Ada']);
    expect(said.map(({ kind }) => kind)).toEqual(['claim', 'end']);
  });

  test('an order with a forged input runs with the input of the orchestrator', async () => {
    await give({ ...order, input: inputOn('Dear Mallory') });
    expect(ran).toEqual(['write of Dear Ada']);
  });

  test.each<[string, Partial<WorkOrder>]>([
    ['another phase', { node: 'send' as NodeId }],
    ['another visit', { visit: 2 }],
    ['another attempt', { attempt: 2 }],
    ['another activation', { activation: 'respond' }],
  ])('an order for %s runs nothing and is handed back', async (_, forged) => {
    const said = await give({ ...order, ...forged });
    expect(ran).toEqual([]);
    expect(said).toMatchObject([{ kind: 'claim' }, { kind: 'end', end: { kind: 'returned' } }]);
  });
});
