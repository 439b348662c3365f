import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../kit/bus/consumers.ts';
import { type DiscordStandIn, snowflake, startDiscord } from '../kit/surfaces/discord.ts';
import { appliedByKey } from '../kit/effects/effect-file.ts';
import { orderFor } from '../kit/effects/orders.ts';
import { type TestPrincipal, writePrincipals } from '../kit/stack/principals.ts';
import { publishRequest, requestOf } from '../kit/surfaces/requests.ts';
import { createSystem, type System } from '../kit/stack/system.ts';
import { type SampleTask, submitSample, waitForPhase, waitForRequest } from '../kit/tasks/tasks.ts';
import { until, untilTrue } from '../kit/until.ts';
import { openWatcher } from '../kit/console/web.ts';
import { findTools } from './documents/process.ts';

// The acceptance steps of the approval specification, in its order, on real services.

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const tools = await findTools(process.env);

let system: System;
let discord: DiscordStandIn;
let operator: TestPrincipal;
let port: number;
beforeAll(async () => {
  system = await createSystem();
  discord = await startDiscord(system.folder);
  operator = { name: 'operator', groups: ['operators'], token: system.client.token, discord: snowflake() };
  const principals = await writePrincipals(system.folder, [operator]);
  const started = await Promise.all(
    SERVICES.map((service) =>
      system.start(
        service,
        service === 'approvals' ? { ...discord.env, HOLDPOINT_PRINCIPALS_FILE: principals } : {},
      ),
    ),
  );
  port = started[SERVICES.indexOf('approvals')]?.httpPort ?? 0;
});
afterAll(async () => {
  await system.stop();
  await discord.stop();
});

const held = async (): Promise<SampleTask> => {
  const task = await submitSample(system.client);
  await waitForRequest(system.client, task);
  return task;
};
const messageFor = ({ approval }: SampleTask) =>
  until(`discord shows ${approval}`, () => discord.messageOf(approval));
const nodeOf = ({ nodes }: TaskView, id: string) => nodes.find((node) => node.id === id);

/** Runs the CLI on its own terminal and gives this answer to its question. */
const answerOnTerminal = (answer: string, ...args: readonly string[]): Promise<string> => {
  const files = layout(system.run.credentialsDir);
  const words = [process.execPath, join(root, 'packages', 'cli', 'src', 'main.ts'), ...args];
  const line = words.map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], {
    cwd: system.folder,
    env: {
      PATH: process.env['PATH'],
      TERM: 'dumb',
      HOLDPOINT_NATS_URL: system.nats.url,
      HOLDPOINT_NATS_SEED_FILE: files.natsSeed('operator'),
      HOLDPOINT_TOKEN_FILE: files.operatorToken,
    },
  });
  let printed = '';
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.stdin.on('error', () => undefined);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const asks = !printed.includes('Approve it?') && (printed + text).includes('Approve it?');
      printed += text;
      if (asks) child.stdin.write(`${answer}\r`);
    });
    child.on('close', () => resolve(printed));
  });
};

describe('approval acceptance', () => {
  test('an approval request has its own UUID, and approvers are notified', async () => {
    const watcher = openWatcher(port, { token: operator.token });
    await watcher.first('hello');
    watcher.say({ type: 'subscribe' });
    await watcher.first('subscribed');
    const task = await held();
    const notice = await watcher.first('approval.requested', ({ approval }) => approval.id === task.approval);
    expect(notice.token).toMatch(UUID_V4);
    expect(notice.approval).toMatchObject({ status: 'pending', task: task.id, audience: ['operators'] });
    expect(JSON.stringify((await messageFor(task)).components)).toContain(notice.token);
    await watcher.stop();
  });

  test('an approval request on Discord is an embed with two buttons', async () => {
    const message = await messageFor(await held());
    expect(message.embeds).toHaveLength(1);
    expect(message.components[0]?.components.map(({ label }) => label)).toEqual(['Approve', 'Reject']);
  });

  if (!tools.hasTerminals)
    process.stderr.write('approvals: no prompt is tried, because there is no script\n');
  const prompted = [
    ['y', 'approved', 'completed'],
    ['n', 'rejected', 'failed'],
  ] as const;
  test.skipIf(!tools.hasTerminals).each(prompted)(
    'a terminal shows the request: the answer %s makes it %s',
    async (key, status, phase) => {
      const task = await held();
      // Requests of earlier tests are still pending.
      const others = (await system.client.ask('approvals', 'list', { limit: 500 })).items;
      for (const { id } of others)
        if (id !== task.approval) await system.client.ask('approvals', 'decide', { id, decision: 'reject' });
      const printed = await answerOnTerminal(key, 'approval', 'list', '--watch', '--once');
      expect(printed).toContain(task.approval);
      expect(printed).toContain(`${task.approval} is ${status} by operator`);
      await waitForPhase(system.client, task.id, phase);
    },
  );

  test('an approved tool call runs and returns its result', async () => {
    const task = await held();
    await discord.press({ port, user: operator.discord ?? '', message: await messageFor(task) }, 'Approve');
    const view = await waitForPhase(system.client, task.id, 'completed');
    expect(nodeOf(view, 'append')).toMatchObject({ status: 'succeeded' });
    expect((await appliedByKey(system.workspace)).get(task.effect)).toBe(1);
    expect(await system.client.ask('executor', 'order', { id: task.effect })).toMatchObject({
      state: 'applied',
      outputs: expect.objectContaining({ file: 'sample.txt' }) as unknown,
    });
    await untilTrue('the approval has the outcome', async () => {
      const { outcome } = await system.client.ask('approvals', 'get', { id: task.approval });
      return outcome === 'applied';
    });
  });

  test('a rejected tool call fails with ERR_FORBIDDEN, and the tool does not run', async () => {
    const task = await held();
    await system.client.ask('approvals', 'decide', {
      id: task.approval,
      decision: 'reject',
      comment: 'not today',
    });
    const view = await waitForPhase(system.client, task.id, 'failed');
    expect(view.error?.code).toBe('ERR_FORBIDDEN');
    expect(nodeOf(view, 'append')?.reason).toBe('rejected by operator: not today');
    expect((await appliedByKey(system.workspace)).get(task.effect)).toBeUndefined();
  });

  test('an undecided request expires: the call is refused, and the state is visible', async () => {
    const orchestrator = await system.connect('orchestrator');
    const request = requestOf({ timeoutMs: 1_000 });
    await publishRequest(orchestrator, request);
    await untilTrue('it has expired', async () => {
      const { items } = await system.client.ask('approvals', 'list', { status: 'expired', limit: 500 });
      return items.some(({ id }) => id === request.id);
    });
    await expect(
      system.client.ask('approvals', 'decide', { id: request.id, decision: 'approve' }),
    ).rejects.toMatchObject({ code: 'APPROVALS_ALREADY_DECIDED', body: { details: { status: 'expired' } } });
  });

  test('an approval covers only the shown input: a replaced input is refused', async () => {
    const orchestrator = await system.connect('orchestrator');
    const request = requestOf();
    await publishRequest(orchestrator, request);
    await until(`${request.id} is there`, () => system.client.ask('approvals', 'get', { id: request.id }));
    const grants: string[] = [];
    system.client.connection.subscribe(subjects.event('approval', 'resolved', request.id), {
      callback: (_error, msg) => void grants.push(msg.json<{ grant: string }>().grant),
    });
    await system.client.connection.flush();
    await system.client.ask('approvals', 'decide', { id: request.id, decision: 'approve' });
    const grant = await until('it is granted', () => grants[0]);
    const swapped = { ...request.effect, args: { ...request.effect.args, line: 'something else' } };
    for (const digest of [request.digest, effectDigest(swapped)]) {
      const order = orderFor(swapped, grant, { digest, attempt: digest === request.digest ? 1 : 2 });
      await publish(orchestrator, subjects.effectCommand('run', 'default'), JSON.stringify(order));
    }
    await untilTrue('it is refused', async () => {
      const { items } = await system.client.ask('executor', 'list', { task: request.task });
      return items.some(({ state, reason }) => state === 'refused' && /DIGEST_MISMATCH/.test(reason ?? ''));
    });
    const file = await readFile(join(system.workspace, 'orders.txt'), 'utf8').catch(() => '');
    expect(file).not.toContain('something else');
  });
});
