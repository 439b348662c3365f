import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { type AnyRemoteEffect, startClaimant } from '@holdpoint/sdk/http';
import { createTestGate } from '@holdpoint/sdk/testing';
import { expect, onTestFinished, test } from 'vitest';
import { mailOver } from './mail.ts';
import { migrateIn } from './migration.ts';
import { applyOf, type Infrastructure, withDigest } from './plan-apply.ts';
import { refundAt } from './refund.ts';

const portOf = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
};

/** A gate in memory and a claimant of these effects. */
const gateFor = async (...effects: readonly AnyRemoteEffect[]) => {
  const gate = createTestGate({ decide: () => 'wait' });
  const { connection } = gate;
  const claimant = startClaimant({
    connection,
    effects,
    signals: false,
    drainMs: 1_000,
    log: () => undefined,
  });
  onTestFinished(() => claimant.stop());
  await claimant.ready;
  return gate;
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
};

test('a refund is sent once per charge, with the key of the effect', async () => {
  const refunds = new Map<string, string>();
  const api = createHttpServer((request, response) => {
    void bodyOf(request).then((body) => {
      const key = String(request.headers['idempotency-key']);
      if (body.includes('ch_poor')) return response.writeHead(402).end('no money');
      if (!refunds.has(key)) refunds.set(key, `re_${String(refunds.size + 1)}`);
      return response.end(JSON.stringify({ id: refunds.get(key) }));
    });
  });
  const refund = refundAt(`http://127.0.0.1:${String(await portOf(api))}`);
  const gate = await gateFor(refund);
  const held = await refund.hold(gate.connection, { charge: 'ch_1', cents: 500 });
  expect(refunds.size).toBe(0);
  gate.decide(held.id, 'approve');
  expect(await held.wait()).toEqual({ refund: 're_1' });
  expect([...refunds.keys()]).toEqual(['refund:ch_1']);
  const declined = await refund.hold(gate.connection, { charge: 'ch_poor', cents: 500 });
  gate.decide(declined.id, 'approve');
  await expect(declined.wait()).rejects.toMatchObject({ code: 'REMOTE_CARD_DECLINED' });
});

test('people approve a plan, a killed run applies it once, and a changed plan is refused', async () => {
  let serial = 7;
  const applied = new Map<string, string>();
  const tool: Infrastructure = {
    plan: (wanted) => ({ plan: `+ ${wanted}`, serial }),
    apply: ({ plan, serial: of, digest }) => {
      if (of !== serial) return 'stale';
      serial += 1;
      applied.set(digest, plan);
      return 'applied';
    },
    hasApplied: (digest) => applied.has(digest),
  };
  const apply = applyOf(tool);
  const gate = await gateFor(apply);
  const server = await apply.hold(gate.connection, { wanted: 'a server' });
  const database = await apply.hold(gate.connection, { wanted: 'a database' });
  await gate.until(server.id, 'waiting');
  await gate.until(database.id, 'waiting');
  expect(gate.preview(server.id)).toEqual(withDigest({ plan: '+ a server', serial: 7 }));
  gate.kill('after');
  gate.decide(server.id, 'approve');
  expect(await server.wait()).toEqual({ serial: 8 });
  gate.decide(database.id, 'approve');
  await expect(database.wait()).rejects.toMatchObject({ code: 'REMOTE_PLAN_CHANGED' });
  expect([...applied.values()]).toEqual(['+ a server']);
});

test('a migration whose process dies runs once: its probe reads the version table', async () => {
  const database = new DatabaseSync(':memory:');
  onTestFinished(() => database.close());
  database.exec('CREATE TABLE schema_version (version INTEGER PRIMARY KEY)');
  const migrate = migrateIn(database);
  const gate = await gateFor(migrate);
  const args = { version: 1, sql: 'CREATE TABLE orders (id INTEGER)' };
  const held = await migrate.hold(gate.connection, args);
  gate.kill('before');
  gate.decide(held.id, 'approve');
  expect(await held.wait({ throughDoubt: true })).toEqual({ version: 1 });

  const next = await migrate.hold(gate.connection, {
    version: 2,
    sql: 'ALTER TABLE orders ADD COLUMN paid INTEGER',
  });
  gate.kill('after');
  gate.decide(next.id, 'approve');
  expect(await next.wait({ throughDoubt: true })).toEqual({ version: 2 });
  expect(database.prepare('SELECT version FROM schema_version').all()).toEqual([
    { version: 1 },
    { version: 2 },
  ]);
});

/** Answers as a mail server, and hangs up after the text if `dies`. */
const mailServer = (received: string[], dies: boolean): Server =>
  createServer((socket) => {
    let isText = false;
    socket.write('220 ready\r\n');
    socket.on('data', (chunk) => {
      const said = String(chunk);
      if (isText) {
        received.push(said);
        if (dies) socket.destroy();
        else socket.write('250 queued\r\n');
      } else {
        isText = said.startsWith('DATA');
        socket.write(isText ? '354 go\r\n' : '250 ok\r\n');
      }
    });
  });

test('a mail whose server dies after the text left is in doubt, and a person answers', async () => {
  const received: string[] = [];
  const good = mailOver(await portOf(mailServer(received, false)));
  const letter = { to: 'ada@example.com', subject: 'Your order', text: 'It left.\n.\n' };
  const gate = await gateFor(good);
  const sent = await good.hold(gate.connection, letter);
  gate.decide(sent.id, 'approve');
  expect(await sent.wait()).toEqual({ answer: '250 queued' });
  expect(received[0]).toContain('Subject: Your order');

  const bad = mailOver(await portOf(mailServer(received, true)));
  const other = await gateFor(bad);
  const lost = await bad.hold(other.connection, letter);
  other.decide(lost.id, 'approve');
  await expect(lost.wait()).rejects.toMatchObject({ name: 'EffectInDoubt' });
  expect(received).toHaveLength(2);
  other.answer(lost.id, 'applied');
  expect((await lost.state()).state).toBe('applied');
});
