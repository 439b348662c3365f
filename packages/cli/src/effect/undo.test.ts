import type { EffectOrder } from '@holdpoint/contracts/effect/views';
import { EffectOrder as Order } from '@holdpoint/contracts/effect/views';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Json } from '@holdpoint/contracts/values/json';
import { describe, expect, test } from 'vitest';
import type { Client } from '../bus/client.ts';
import { runProgram } from '../program.ts';

const order = Order.parse({
  id: 'e-1',
  state: 'applied',
  effect: {
    task: 't-1',
    node: 'deploy',
    uses: 'cap.env.shell.command.run',
    args: { with: { command: 'deploy', compensate: 'deploy --previous' } },
    kind: 'deploy',
    effectClass: 'opaque',
    target: 'staging',
    idempotencyKey: 'k',
  },
  outputs: { outcome: 'succeeded' },
  compensation: { uses: 'cap.env.shell.command.run.compensate', effectClass: 'opaque' },
});
const view = {
  uses: 'cap.custom.set_flag',
  effectClass: 'probeable',
  kind: 'deploy',
  work: false,
  preview: true,
  probe: true,
  compensate: false,
  input: { type: 'object' },
};

const run = async (line: string, answers: Readonly<Record<string, unknown>>) => {
  const asked: (readonly [string, Json])[] = [];
  let [out, err] = ['', ''];
  const code = await runProgram(line.split(' '), {
    connect: async () =>
      ({
        call: async (service: string, endpoint: string, payload: Json) => {
          asked.push([`${service}.${endpoint}`, payload]);
          const answer = answers[`${service}.${endpoint}`];
          if (answer instanceof Error) throw answer;
          return answer;
        },
        close: async () => undefined,
      }) as unknown as Client,
    out: (text) => (out += text),
    err: (text) => (err += text),
    now: () => 0,
  });
  return { code, out, err, asked };
};

describe('effect undo', () => {
  const answers = (change: Partial<EffectOrder> = {}) => ({
    'executor.order': { ...order, ...change },
    'orchestrator.list': { items: [] },
    'orchestrator.submit': { id: 't-2', phase: 'queued', version: 1 },
  });
  const inputs = {
    effect: 'e-1',
    uses: 'cap.env.shell.command.run.compensate',
    effectClass: 'opaque',
    args: order.effect.args,
    outputs: order.outputs,
    target: 'staging',
  };

  test('effect undo takes the compensation of a function of users from the registry', async () => {
    const uses = 'cap.remote.refund';
    const { compensation: _, ...without } = order;
    const remote = { ...without, effect: { ...order.effect, uses, args: { charge: 'ch_1' } } };
    const withRegistry = (compensate: boolean) => ({
      ...answers(),
      'executor.order': remote,
      'approvals.capability_list': { items: [{ name: 'refund', effectClass: 'keyed', compensate }] },
    });
    const { code, asked } = await run('effect undo e-1', withRegistry(true));
    expect(code).toBe(0);
    expect(asked.at(-1)).toMatchObject([
      'orchestrator.submit',
      { inputs: { uses: `${uses}.compensate`, effectClass: 'keyed', args: { charge: 'ch_1' } } },
    ]);
    const refused = await run('effect undo e-1', withRegistry(false));
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('has no compensation') as string });
  });

  test('effect undo submits a task with the arguments and outputs of the effect', async () => {
    const { code, out, asked } = await run('effect undo e-1', answers());
    expect(asked).toEqual([
      ['executor.order', { id: 'e-1' }],
      ['orchestrator.list', { workflow: 'undo', search: 'e-1' }],
      [
        'orchestrator.submit',
        { workflow: 'undo', goal: 'undo e-1: cap.env.shell.command.run on staging', inputs },
      ],
    ]);
    expect(code).toBe(0);
    expect(out).toContain('task t-2 is queued: approve cap.env.shell.command.run.compensate');
  });

  test('effect undo uses the pool of the effect, unless another one is named', async () => {
    const poolOf = async (line: string, pool?: string) =>
      (await run(line, answers(pool === undefined ? {} : { pool }))).asked[2]?.[1];
    expect(await poolOf('effect undo e-1', 'gpu')).toMatchObject({ inputs: { pool: 'gpu' } });
    expect(await poolOf('effect undo e-1 --pool cpu', 'gpu')).toMatchObject({ inputs: { pool: 'cpu' } });
    expect(await poolOf('effect undo e-1 --pool cpu')).toMatchObject({ inputs: { pool: 'cpu' } });
  });

  test.each([
    [
      'it was not applied',
      { state: 'in_doubt', outputs: undefined },
      'e-1 is in_doubt: only an applied effect can be undone',
    ],
    [
      'nothing takes it back',
      { compensation: undefined },
      'e-1 cannot be undone: cap.env.shell.command.run has no compensation',
    ],
    [
      'its script declared no script that undoes it',
      { effect: { ...order.effect, args: { with: { command: 'deploy' } } } },
      'e-1 cannot be undone: it declared no compensate script; undo it by hand',
    ],
  ])('effect undo submits nothing when %s', async (_, change, said) => {
    const { code, err, asked } = await run('effect undo e-1', answers(change));
    expect(code).not.toBe(0);
    expect(err).toContain(said);
    expect(asked).toHaveLength(1);
  });
});

describe('a second undo', () => {
  const earlier = (phase: string, goal = 'undo e-1: cap.x on y') => ({
    'executor.order': order,
    'orchestrator.list': { items: [{ id: 't-2', phase, goal }] },
    'orchestrator.submit': { id: 't-3', phase: 'queued', version: 1 },
  });

  test.each([
    ['completed', 'error CLI_UNDONE: e-1 was undone by task t-2'],
    ['awaiting_approval', 'error CLI_UNDONE: task t-2 undoes e-1 already: it is awaiting_approval'],
  ])('while the first one is %s, it is refused with the task', async (phase, said) => {
    const { code, err, asked } = await run('effect undo e-1', earlier(phase));
    expect({ code, err }).toEqual({ code: 1, err: `${said}\n` });
    expect(asked.map(([endpoint]) => endpoint)).not.toContain('orchestrator.submit');
  });

  test.each([
    ['failed', 'undo e-1: cap.x on y'],
    ['completed', 'undo e-10: cap.x on y'],
  ])('it is submitted after a %s task with the goal %s', async (phase, goal) => {
    const { code, asked } = await run('effect undo e-1', earlier(phase, goal));
    expect(code).toBe(0);
    expect(asked.at(-1)?.[0]).toBe('orchestrator.submit');
  });

  test('the goal of an undo names the commit of a merge', async () => {
    const merged = { ...order, outputs: { outcome: 'succeeded', outputs: { commit: '0123456789abcdef' } } };
    const { asked } = await run('effect undo e-1', { ...earlier('failed'), 'executor.order': merged });
    expect(asked.at(-1)?.[1]).toMatchObject({
      goal: expect.stringMatching(/, commit 0123456789ab$/) as string,
    });
  });
});

const noRemote = { 'approvals.capability_list': { items: [] } };

describe('capabilities', () => {
  test('capability list shows label, class, kind, effect or work, and operations', async () => {
    const { out } = await run('capability list', { 'executor.capabilities': { items: [view] }, ...noRemote });
    expect(out).toMatch(/^Capability .*\ncap\.custom\.set_flag +probeable +deploy +effect +preview probe\n$/);
  });

  test('capability list <label> prints the arguments', async () => {
    const { out, asked } = await run('capability list cap.custom.set_flag', {
      'executor.capabilities': { items: [view] },
    });
    expect(asked).toEqual([['executor.capabilities', { uses: 'cap.custom.set_flag' }]]);
    expect(out).toContain('cap.custom.set_flag: probeable, deploy');
    expect(out).toContain('optional operations: preview probe');
    expect(out).toContain('"type"');
  });

  test('an unknown capability is an error', async () => {
    const none = new HoldpointError('EXECUTOR_UNKNOWN_CAPABILITY', 'this executor has no cap.custom.x');
    const { code, err } = await run('capability list cap.custom.x', { 'executor.capabilities': none });
    expect(code).not.toBe(0);
    expect(err).toContain('EXECUTOR_UNKNOWN_CAPABILITY');
  });
});
