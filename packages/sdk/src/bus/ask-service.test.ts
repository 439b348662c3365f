import { describe, expect, test } from 'vitest';
import { errors, headers as createHeaders, type NatsConnection } from '@nats-io/transport-node';
import { askOver } from './ask-service.ts';

type Reply = { readonly status?: string; readonly body: string };

/** A connection that answers each request like this. */
const connectionTo = (answer: () => Reply, asked: unknown[] = []): NatsConnection =>
  ({
    request: (
      subject: string,
      body: Uint8Array,
      options: { readonly headers: { readonly keys: () => string[] } },
    ) => {
      asked.push({
        subject,
        body: JSON.parse(new TextDecoder().decode(body)) as unknown,
        headers: options.headers.keys(),
      });
      const headers = createHeaders();
      return new Promise((resolve) => {
        const { status, body: text } = answer();
        if (status !== undefined) headers.set('Nats-Service-Error-Code', status);
        resolve({ headers, json: () => JSON.parse(text) as unknown });
      });
    },
  }) as unknown as NatsConnection;

const ask = (answer: () => Reply, asked?: unknown[]) =>
  askOver(connectionTo(answer, asked))('orchestrator', 'history', { id: 't-1' });

test('a request goes to the subject of its endpoint and resolves with the answer', async () => {
  const asked: unknown[] = [];
  expect(await ask(() => ({ body: '{"events":[]}' }), asked)).toEqual({ events: [] });
  expect(asked).toEqual([{ subject: 'hp.api.orchestrator.history', body: { id: 't-1' }, headers: [] }]);
});

describe('failed requests', () => {
  const throwing = (error: unknown) => () => {
    throw error;
  };
  test.each<readonly [string, () => Reply, string]>([
    [
      'with the code of the service',
      () => ({ status: '404', body: '{"code":"ORCHESTRATOR_UNKNOWN_TASK","message":"no"}' }),
      'ORCHESTRATOR_UNKNOWN_TASK',
    ],
    [
      'with an unknown code of a newer service',
      () => ({ status: '400', body: '{"code":"NEWER","message":"no"}' }),
      'NEWER',
    ],
    ['when an error has no body', () => ({ status: '500', body: 'oh' }), 'RUNTIME_POISON'],
    ['when the answer is invalid', () => ({ body: '{"events":1}' }), 'CONTRACT_INVALID'],
    ['when no service listens', throwing(new errors.NoRespondersError('hp.api')), 'RUNTIME_UNAVAILABLE'],
    ['when no answer comes', throwing(new errors.TimeoutError()), 'RUNTIME_UNAVAILABLE'],
    ['when the connection is closed', throwing(new errors.ClosedConnectionError()), 'RUNTIME_UNAVAILABLE'],
    [
      'when the user lacks the permission',
      throwing(new errors.PermissionViolationError('no', 'publish', 'hp.api')),
      'ERR_FORBIDDEN',
    ],
  ])('a request fails %s', async (_how, answer, code) => {
    await expect(ask(answer)).rejects.toMatchObject({ code });
  });

  test('a request that is too large is refused before it is sent', async () => {
    const asked: unknown[] = [];
    const connection = connectionTo(() => ({ body: '{}' }), asked);
    const large = askOver(connection)('orchestrator', 'cancel', {
      id: 't-1',
      reason: 'x'.repeat(1_100_000),
    });
    await expect(large).rejects.toMatchObject({ code: 'CONTRACT_PAYLOAD_TOO_LARGE' });
    expect(asked).toEqual([]);
  });
});
