import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { streams } from '@holdpoint/contracts/bus/streams';
import { natsLoginFile } from '@holdpoint/infra/credentials/read';
import { connectBus } from '@holdpoint/runtime/bus/connection';
import { connectToBus } from '@holdpoint/sdk';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { appliedByKey } from '../../kit/effects/effect-file.ts';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, sampleTask, submitSample, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

let system: System;
let other: NatsConnection;
beforeAll(async () => {
  system = await createSystem({ operatorMode: true });
  const { nats, otherCreds } = system;
  if (otherCreds === undefined) throw new Error('the system has no other account');
  other = await connect({ servers: nats.url, authenticator: credsAuthenticator(otherCreds) });
  await system.startAll();
});
afterAll(async () => {
  await other.close();
  await system.stop();
});

/** A stream of the other account with the name and the subjects of one of Holdpoint. */
const theirs = async () => {
  const [commands] = streams;
  const manager = await jetstreamManager(other);
  await manager.streams.add({ name: commands.name, subjects: [...commands.subjects], max_bytes: 1_000_000 });
  onTestFinished(async () => void (await manager.streams.delete(commands.name)));
  await jetstream(other).publish('hp.cmd.task.submit', 'of their own');
  return async (): Promise<number> => (await manager.streams.info(commands.name)).state.last_seq;
};

test('a gated task runs with .creds, beside a stream of the same name in another account', async () => {
  const lastOfTheirs = await theirs();
  const { client, workspace, environment } = system;
  expect(environment('approvals')['HOLDPOINT_NATS_SEED_FILE']).toMatch(/approvals\.creds$/);
  const task = await submitSample(client);
  await waitForRequest(client, task);
  await approveAndComplete(client, task);
  expect((await appliedByKey(workspace)).get(task.effect)).toBe(1);
  expect(await lastOfTheirs()).toBe(1);
});

test('another account submits, asks and watches on subjects with a prefix', async () => {
  const heard: string[] = [];
  other.subscribe('acme.hp.evt.>', { callback: (_error, message) => void heard.push(message.subject) });
  await other.flush();
  const task = sampleTask(`t-${randomUUID()}` as ReturnType<typeof sampleTask>['id']);
  const submission = { id: task.id, workflow: 'sample', goal: 'append', inputs: { line: task.line } };
  const taken = await other.request('acme.hp.cmd.task.submit', JSON.stringify(submission), {
    timeout: 5_000,
  });
  expect(taken.json()).toMatchObject({ stream: 'HP_IN' });

  await waitForRequest(system.client, task);
  await approveAndComplete(system.client, task);
  const answer = await other.request('acme.hp.api.orchestrator.get', JSON.stringify({ id: task.id }));
  expect(answer.json()).toMatchObject({ id: task.id, phase: 'completed' });
  await untilTrue('the other account has heard both ends', () =>
    ['submitted', 'completed'].every((event) => heard.includes(`acme.hp.evt.task.${event}.${task.id}`)),
  );
});

test('another account reaches neither commands of services nor subjects without the prefix', async () => {
  const manager = await jetstreamManager(await system.connect('topology'), { checkAPI: false });
  const seen = async () =>
    Promise.all(
      streams.map(async ({ name }) => {
        const { state } = await manager.streams.info(name);
        return [name, state.last_seq, state.messages];
      }),
    );
  const before = await seen();
  for (const subject of ['hp.cmd.approval.request', 'hp.evt.approval.resolved.a-1', 'hp.in.task.submit'])
    for (const prefix of ['', 'acme.']) other.publish(`${prefix}${subject}`, '{}');
  await other.flush();
  expect(await seen()).toEqual(before);
});

test('a worker logs in with .creds, and again with the same file renewed', async () => {
  const seedFile = natsLoginFile(system.run.credentialsDir, 'worker');
  const connection = await connectToBus({ url: system.nats.url, seedFile, user: 'worker' });
  onTestFinished(() => connection.close());
  await connection.reconnect();
  await until('it is back', async () => {
    await connection.flush();
    return true;
  });
  expect(connection.isClosed()).toBe(false);
});

test('a login of another account or user does not become a service', async () => {
  const { nats, otherCreds, run } = system;
  const as = (user: string, seed: Uint8Array) =>
    connectBus({ url: nats.url, seed, user }, silentLogger()).then((connection) => connection.close());
  const worker = await readFile(natsLoginFile(run.credentialsDir, 'worker'));
  for (const seed of [otherCreds ?? worker, worker])
    await expect(as('approvals', seed)).rejects.toMatchObject({
      code: 'BUS_USER_WRONG',
      message: 'this login is not that of the bus user approvals: check its file',
    });
});
