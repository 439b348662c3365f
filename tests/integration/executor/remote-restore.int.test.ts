import { generateKeyPairSync } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { type RemoteOutcome, signed } from '@holdpoint/contracts/effect/remote';
import { expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { grantFor, orderFor, readGrantKey, sampleEffect } from '../../kit/effects/orders.ts';
import { startPostgresServer } from '../../kit/stack/postgres-server.ts';
import { preparePostgres } from '../../kit/stack/prepare-postgres.ts';
import { backUpDatabase } from '../../kit/stack/restore.ts';
import { currentRun } from '../../kit/stack/run.ts';
import { createSystem } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';

const uses = 'cap.remote.restored';

test('a start by a program that the ledger has lost is in doubt after a restore, and is not given out again', async () => {
  const { backend, folder: runFolder, credentialsDir } = currentRun();
  const folder = join(runFolder, `remote-${crypto.randomUUID().slice(0, 8)}`);
  await mkdir(folder);
  const postgres = await startPostgresServer(backend, { folder, runFolder, credentialsDir });
  await preparePostgres(postgres.admin, credentialsDir);
  const system = await createSystem({ admin: postgres.admin });
  try {
    await Promise.all([system.start('orchestrator'), system.start('approvals')]);
    await system.start('executor', { HOLDPOINT_JOURNAL_DIR: join(system.folder, 'journal') });
    const orderer = await system.connect('orchestrator');
    const pair = generateKeyPairSync('ed25519');
    const x = pair.publicKey.export({ format: 'jwk' }).x ?? '';
    const claim = (name: string, waitMs: number) =>
      system.client.ask('executor', 'claim', { claim: name, claimant: 'test', x, uses: [uses], waitMs });
    const effect = sampleEffect({ uses, args: {}, target: 'payments', effectClass: 'opaque' });
    const order = orderFor(effect, grantFor(await readGrantKey(credentialsDir), effect));
    const give = () => publish(orderer, subjects.effectCommand('run', DEFAULT_POOL), JSON.stringify(order));
    const stateOf = () =>
      system.client.ask('executor', 'get', { id: order.id }).then(
        ({ state }) => state,
        () => undefined,
      );

    await untilTrue('the executor may start effects', async () => {
      const warm = await claim(`warm-${crypto.randomUUID()}`, 0);
      return warm.items.length === 0;
    });
    const backup = await backUpDatabase(system.database);
    await give();
    expect(await claim('claim-before-restore', 4_000)).toMatchObject({ items: [{ epoch: 1 }] });
    await backup.putBack();
    await give();
    await untilTrue('the lost start is in doubt', async () => (await stateOf()) === 'in_doubt');
    const result: RemoteOutcome = { kind: 'applied', outputs: {} };
    const end = signed({ x, id: order.id, epoch: 1, result }, pair.privateKey);
    await expect(system.client.ask('executor', 'end', end)).rejects.toMatchObject({
      code: 'EXECUTOR_CLAIM_LOST',
    });
    expect(await claim('claim-after-restore', 500)).toEqual({ items: [] });
    expect(await stateOf()).toBe('in_doubt');
  } finally {
    await system.stop();
    await postgres.remove();
  }
});
