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

  test('effect undo submits a task with the arguments and outputs of the effect', async () => {
    const { code, out, asked } = await run('effect undo e-1', answers());
    expect(asked).toEqual([
      ['executor.order', { id: 'e-1' }],
      ['orchestrator.submit', { workflow: 'undo', goal: 'undo e-1', inputs }],
    ]);
    expect(code).toBe(0);
    expect(out).toContain('task t-2 is queued: approve cap.env.shell.command.run.compensate');
  });

  test('effect undo uses the pool of the effect, unless another one is named', async () => {
    const poolOf = async (line: string, pool?: string) =>
      (await run(line, answers(pool === undefined ? {} : { pool }))).asked[1]?.[1];
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

describe('capabilities', () => {
  test('capability list shows label, class, kind, effect or work, and operations', async () => {
    const { out } = await run('capability list', { 'executor.capabilities': { items: [view] } });
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
