import { TaskId } from '@holdpoint/contracts/values/ids';
import { layout } from '@holdpoint/infra/credentials/layout';
import { expect } from 'vitest';
import { until } from '../../kit/until.ts';
import type { Reader, Effect, How } from './reader.ts';
import { hasPrinted, type Typed } from './process.ts';

/** The address of the stack for the example, and its user. */
const as = ({ system }: Reader, user: 'worker' | 'operator'): How => ({
  env: {
    HOLDPOINT_NATS_URL: system.nats.url,
    HOLDPOINT_NATS_SEED_FILE: layout(system.run.credentialsDir).natsSeed(user),
    ...(user === 'operator' && { HOLDPOINT_TOKEN_FILE: layout(system.run.credentialsDir).operatorToken }),
  },
});

/** Ctrl-C ends this command with success; the next command runs until its reader stops it. */
export const expectWorker: Effect = async (reader, words) => {
  const example = words[1]?.split('/')[1] ?? '';
  const begin = async (): Promise<Typed> => {
    const worker = reader.begin(words, as(reader, 'worker'));
    await hasPrinted(worker, `works on ${example} (`);
    return worker;
  };
  const first = await begin();
  await first.interrupt();
  expect(await first.end(), first.printed()).toBe(0);
  await begin();
};

const STARTED = /^started (\S+)$/m;

const start = async (reader: Reader, words: readonly string[]): Promise<{ client: Typed; task: TaskId }> => {
  const client = reader.begin(words, as(reader, 'operator'));
  await hasPrinted(client, 'started ');
  const id = await until('the task has a name', () => STARTED.exec(client.printed())?.[1]);
  return { client, task: TaskId.parse(id) };
};

/** Approves all pending requests: each effect of a program is a separate task. */
const approveUntil = async ({ system }: Reader, task: TaskId, client: Typed, text: string): Promise<void> => {
  await until(`"${text}" is printed`, async () => {
    if (client.printed().includes(text)) return true;
    const { effects = [] } = await system.client.ask('orchestrator', 'get', { id: task });
    for (const effect of effects) {
      const { items } = await system.client.ask('approvals', 'list', { task: effect });
      for (const { id } of items)
        await system.client.ask('approvals', 'decide', { id, decision: 'approve' }, system.client.approver);
    }
    return undefined;
  });
};

export const expectApproved: Effect = async (reader, words) => {
  const { client, task } = await start(reader, words);
  await approveUntil(reader, task, client, 'workflow:completed');
  expect(await client.end()).toBe(0);
};

/** Expects the program to continue after an approval. */
export const expectReviewed: Effect = async (reader, words) => {
  const { client, task } = await start(reader, words);
  await hasPrinted(client, 'input:requested review');
  const { items } = await until('the question is there', async () => {
    const list = await reader.system.client.ask('approvals', 'list', { task });
    return list.items.length > 0 ? list : undefined;
  });
  for (const { id } of items)
    await reader.system.client.ask('approvals', 'decide', {
      id,
      decision: 'respond',
      response: { verdict: words[1]?.includes('coding-agent') === true ? 'deploy' : 'send' },
    });
  await approveUntil(reader, task, client, 'workflow:completed');
  expect(await client.end()).toBe(0);
};

const A_MOMENT_MS = 3_000;

export const expectOrders: Effect = async (reader, words) => {
  const subscription = reader.begin(words);
  await hasPrinted(subscription, 'Subscribing on');
  await until('an order is printed', async () => {
    await start(reader, ['node', 'examples/coding-agent/start.ts']);
    return hasPrinted(subscription, 'Received on "hp.work.', A_MOMENT_MS).catch(() => undefined);
  });
  await subscription.interrupt();
};
