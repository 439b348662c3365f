import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { filters, subjects } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import { GRANT_VALID_MS, rotateKey, type Step } from '@holdpoint/infra/credentials/rotate';
import { createSigner } from '@holdpoint/runtime/service/jws';
import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import type { ServiceInProcess } from '../../kit/stack/in-process.ts';
import { grantFor, orderFor, sampleEffect } from '../../kit/effects/orders.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { approveAndComplete, submitSample } from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

const RUN = subjects.effectCommand('run', DEFAULT_POOL);

let system: System;
/** Key files of this test; those of the run are shared. */
let keysDir = '';
let orderer: NatsConnection;
let events: EffectEvent[];
beforeEach(async () => {
  system = await createSystem({ shortTimers: true });
  keysDir = join(system.folder, 'keys');
  await mkdir(keysDir);
  const [from, to] = [layout(system.run.credentialsDir), layout(keysDir)];
  await copyFile(from.grantKey, to.grantKey);
  await copyFile(from.grantPublicKeys, to.grantPublicKeys);
  await copyFile(from.trust, to.trust);
  await copyFile(from.trust, join(keysDir, 'first.json'));
  events = [];
  system.client.connection.subscribe(filters.eventsOf('effect'), {
    callback: (_error, msg) => void events.push(msg.json<EffectEvent>()),
  });
});
afterEach(() => system.stop());

const startApprovals = (): Promise<ServiceInProcess> =>
  system.start('approvals', {
    HOLDPOINT_GRANT_KEY_FILE: layout(keysDir).grantKey,
    HOLDPOINT_TRUST_FILE: layout(keysDir).trust,
    HOLDPOINT_JOIN_SECRET_FILE: layout(system.run.credentialsDir).joinSecret,
  });
/** With a public key file that follows the rotation, or with one that stays old. */
const startExecutor = (file = layout(keysDir).trust): Promise<ServiceInProcess> =>
  system.start('executor', {
    HOLDPOINT_TRUST_FILE: file,
    HOLDPOINT_JOIN_SECRET_FILE: layout(system.run.credentialsDir).joinSecret,
  });
const startServices = async (file?: string) => {
  await Promise.all([system.start('orchestrator'), system.start('recovery')]);
  const [approvals, executor] = await Promise.all([startApprovals(), startExecutor(file)]);
  orderer = await system.connect('orchestrator');
  return { approvals, executor };
};

const rotate = (step: Step) => rotateKey(keysDir, step, { now: Date.now() + 2 * GRANT_VALID_MS });
const privateKeys = async (): Promise<KeyObject[]> =>
  (
    (await readFile(layout(keysDir).grantKey, 'utf8')).match(
      /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/g,
    ) ?? []
  ).map((pem) => createPrivateKey(pem));
const kidOf = (key: KeyObject): string =>
  keyIdOf(createPublicKey(key.export({ type: 'pkcs8', format: 'pem' })));
const published = async (): Promise<readonly string[]> =>
  (await system.client.ask('approvals', 'keys', {})).keys.map(({ kid }) => kid);
const untilPublished = (kids: readonly string[]) =>
  untilTrue(`${kids.join(', ')} are published`, async () => (await published()).join() === kids.join());

const orderOf = (key: KeyObject): RunEffect => {
  const effect = sampleEffect();
  return orderFor(effect, grantFor(key, effect));
};
const give = (order: RunEffect) => publish(orderer, RUN, JSON.stringify(order));
const outcomeOf = ({ id }: RunEffect): Promise<EffectEvent> =>
  until(`${id} has an outcome`, () =>
    events.find((event) => event.id === id && event.type !== 'started' && event.type !== 'prepared'),
  );
const becomes = async (key: KeyObject): Promise<string> => {
  const order = orderOf(key);
  await give(order);
  return (await outcomeOf(order)).type;
};
const only = (keys: readonly KeyObject[]): KeyObject => {
  const [key] = keys;
  if (key === undefined) throw new Error('there is a key');
  return key;
};

describe('a change of the signing key while services run', () => {
  test('grants of both keys are valid until the old key is removed; then those of the new key only', async () => {
    await startServices();
    const old = only(await privateKeys());
    await approveAndComplete(system.client, await submitSample(system.client));

    await rotate('add');
    const next = only((await privateKeys()).slice(1));
    await untilPublished([kidOf(old), kidOf(next)]);
    expect([await becomes(old), await becomes(next)]).toEqual(['applied', 'applied']);

    await rotate('use');
    await untilPublished([kidOf(next), kidOf(old)]);
    await approveAndComplete(system.client, await submitSample(system.client));
    expect(await becomes(old)).toBe('applied');

    await rotate('retire');
    await untilPublished([kidOf(next)]);
    await approveAndComplete(system.client, await submitSample(system.client));
    expect(await system.client.ask('approvals', 'keys', {})).toMatchObject({
      retired: [{ kid: kidOf(old) }],
    });
    await untilTrue('the executors know it', async () => (await becomes(old)) === 'refused');
    expect(await becomes(next)).toBe('applied');
  });

  test('executors with an unchanged key file learn the new key from approvals, even at its first order', async () => {
    await startServices(join(keysDir, 'first.json'));
    await rotate('add');
    await rotate('use');
    const [next, old] = await privateKeys();
    if (next === undefined || old === undefined) throw new Error('two keys');
    // Immediately: approvals may not have read its file yet.
    expect(await becomes(next)).toBe('applied');
    expect(await becomes(old)).toBe('applied');
    await untilPublished([kidOf(next), kidOf(old)]);
    await approveAndComplete(system.client, await submitSample(system.client));
  });

  test('an order with an unknown key waits while approvals is away, and runs once it answers', async () => {
    const { approvals } = await startServices(join(keysDir, 'first.json'));
    await approvals.stop();
    await rotate('add');
    const order = orderOf(only((await privateKeys()).slice(1)));
    await give(order);
    // Longer than an executor caches an unconfirmed key.
    await new Promise((resolve) => setTimeout(resolve, 8_000));
    expect(events.filter(({ id }) => id === order.id)).toEqual([]);
    await startApprovals();
    expect((await outcomeOf(order)).type).toBe('applied');
  });

  test('a broken key file changes nothing', async () => {
    const { approvals, executor } = await startServices();
    const old = only(await privateKeys());
    const good = await readFile(layout(keysDir).grantKey, 'utf8');
    await writeFile(layout(keysDir).grantKey, 'broken');
    await writeFile(layout(keysDir).trust, 'broken');
    const saysSo = async ({ lines }: ServiceInProcess): Promise<boolean> =>
      (await lines()).some(({ msg }) => msg === 'file cannot be read: the last content stays in use');
    await untilTrue('both report it', async () => (await saysSo(approvals)) && (await saysSo(executor)));
    expect(JSON.stringify([await approvals.lines(), await executor.lines()])).not.toContain('PRIVATE');
    await approveAndComplete(system.client, await submitSample(system.client));
    await writeFile(layout(keysDir).grantKey, good);
    expect(await becomes(old)).toBe('applied');
  });
});

describe('an unsigned key', () => {
  const stranger = generateKeyPairSync('ed25519');

  test('a key without an endorsement is refused, even if approvals signs with it', async () => {
    const { executor } = await startServices(join(keysDir, 'first.json'));
    await writeFile(
      layout(keysDir).grantKey,
      stranger.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    );
    await untilPublished([keyIdOf(stranger.publicKey)]);
    const order = orderOf(stranger.privateKey);
    await give(order);
    expect(await outcomeOf(order)).toMatchObject({
      type: 'refused',
      error: { code: 'EXECUTOR_GRANT_INVALID' },
    });
    const line = (await executor.lines()).find(({ msg }) => msg.includes('no trusted key vouches for'));
    expect(line).toMatchObject({ level: 50, keys: [keyIdOf(stranger.publicKey)] });
  });

  test('a key without an endorsement is refused, even if an impostor answers for approvals', async () => {
    const { approvals } = await startServices(join(keysDir, 'first.json'));
    const old = only(await privateKeys());
    const keys = [old, stranger.privateKey].map((key) =>
      signingKeyOf(createPublicKey(key.export({ type: 'pkcs8', format: 'pem' }))),
    );
    // A valid statement from another time.
    const replayed = (await system.client.ask('approvals', 'keys', { nonce: 'another' })).statements;
    await approvals.stop();
    const impostor = await system.connect('approvals');
    let requests = 0;
    impostor.subscribe(subjects.api('approvals', 'keys'), {
      callback: (_error, msg) => {
        requests += 1;
        const { nonce } = msg.json<{ nonce: string }>();
        const claims = { use: 'keys', keys, nonce, iat: Math.floor(Date.now() / 1_000) };
        const own = createSigner(stranger.privateKey)(claims);
        const [header, , signature] = String(replayed[0]).split('.');
        const stolen = [header, own.split('.')[1], signature].join('.');
        msg.respond(JSON.stringify({ keys, statements: [own, stolen, ...replayed] }));
      },
    });
    await impostor.flush();
    expect(await becomes(stranger.privateKey)).toBe('refused');
    expect(requests).toBeGreaterThan(0);
    expect(await becomes(old)).toBe('applied');
  });
});
