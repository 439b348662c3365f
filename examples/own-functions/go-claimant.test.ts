import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defineEffect, HoldpointError, type RemoteConnection } from '@holdpoint/sdk/http';
import { createTestGate } from '@holdpoint/sdk/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

const run = promisify(execFile);
const folder = join(import.meta.dirname, '..', 'go');

/** Without the network: the module needs the standard library alone. */
const env = { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off', GOTOOLCHAIN: 'local' };
const hasGo = spawnSync('go', ['version'], { env }).status === 0;
if (!hasGo) process.stderr.write('skipped: Go is not installed, so the claimant in Go is not tested\n');

type Order = Awaited<ReturnType<RemoteConnection['claim']>>['items'][number]['order'];
const withArgs = (order: Order, args: Order['effect']['args']): Order => ({
  ...order,
  effect: { ...order.effect, args },
});

const bodyOf = async (request: IncomingMessage): Promise<never> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text === '' ? '{}' : text) as never;
};

/** The requests of a claimant over HTTP, answered by a gate in memory. */
const serve = async ({ claim, beat, end, keys }: RemoteConnection): Promise<string> => {
  const requests = {
    '/api/v1/claims': claim,
    '/api/v1/claims/beats': beat,
    '/api/v1/claims/ends': end,
    '/api/v1/keys': keys,
  } as const;
  const server = createServer((request, response) => {
    const answer = async (): Promise<readonly [status: number, body: unknown]> => {
      const asked = Object.entries(requests).find(([path]) => path === request.url)?.[1];
      if (asked === undefined) return [404, { code: 'CONTRACT_UNKNOWN_SUBJECT' }];
      try {
        return [200, await asked(await bodyOf(request))];
      } catch (error) {
        if (!(error instanceof HoldpointError)) throw error;
        return [409, { code: error.code, message: error.message }];
      }
    };
    void answer().then(([status, body]) => response.writeHead(status).end(JSON.stringify(body)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
};

describe.skipIf(!hasGo)('the claimant in Go', () => {
  test('it computes and checks the same as the contracts', { timeout: 120_000 }, async () => {
    const { stdout } = await run('go', ['test', '-count=1', './holdpoint'], { cwd: folder, env });
    expect(stdout).toMatch(/^ok /m);
  });

  test('it claims an approved effect, carries it out and ends it', { timeout: 120_000 }, async () => {
    const gate = createTestGate();
    const greet = defineEffect({
      name: 'greet',
      input: z.object({ name: z.string() }),
      output: z.object({ text: z.string() }),
      key: ({ name }) => name,
      run: () => expect.fail('it runs in Go'),
    });
    await gate.connection.register(greet.definition);
    const held = await greet.hold(gate.connection, { name: 'Ada é😀' });
    const own = { ...env, HOLDPOINT_URL: await serve(gate.connection), HOLDPOINT_TOKEN: 'token' };
    await run('go', ['run', '.'], { cwd: folder, env: own });
    expect(await held.wait()).toEqual({ text: 'Good morning, Ada é😀' });
  });

  test.each([
    ['other arguments', 'EXECUTOR_DIGEST_MISMATCH', (order: Order) => withArgs(order, { name: 'Mallory' })],
    ['no grant', 'EXECUTOR_GRANT_INVALID', ({ grant: _, ...order }: Order) => order],
    [
      'a grant of another key',
      'EXECUTOR_GRANT_INVALID',
      (order: Order) => ({ ...order, grant: `${order.grant?.slice(0, -4) ?? ''}AAAA` }),
    ],
  ] as const)(
    'an order with %s is refused, and its function does not run',
    { timeout: 120_000 },
    async (_, code, change) => {
      const gate = createTestGate();
      const greet = defineEffect({
        name: 'greet',
        input: z.object({ name: z.string() }),
        key: ({ name }) => name,
        run: () => expect.fail('it runs in Go'),
      });
      await gate.connection.register(greet.definition);
      const held = await greet.hold(gate.connection, { name: 'Ada' });
      const claim: RemoteConnection['claim'] = async (asked) => {
        const { items } = await gate.connection.claim(asked);
        return { items: items.map((item) => ({ ...item, order: change(item.order) })) };
      };
      const own = {
        ...env,
        HOLDPOINT_URL: await serve({ ...gate.connection, claim }),
        HOLDPOINT_TOKEN: 'token',
      };
      await run('go', ['run', '.'], { cwd: folder, env: own });
      await expect(held.wait()).rejects.toMatchObject({
        name: 'EffectFailed',
        code: 'REMOTE_GRANT_REFUSED',
        message: expect.stringContaining(code) as string,
      });
    },
  );
});
