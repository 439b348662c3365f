import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { headers as createHeaders } from '@nats-io/transport-node';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Callbacks } from '../engine/engine.ts';
import type { Routed } from '../engine/inbound.ts';
import type { Addressed } from '../engine/kinds.ts';
import { silentLogger } from '../observability/log.ts';
import { answerRequest, type Endpoint } from './api.ts';

type Said = { readonly ok?: unknown; readonly status?: number; readonly error?: { code: string } };

const MAX = 1_000;
const schema = z.object({ id: z.string() });

const ask = async (
  endpoint: Endpoint<Addressed, unknown, unknown>,
  {
    body = '{"id":"x"}',
    trace,
    accept = () => undefined,
  }: { body?: string; trace?: string; accept?: (callbacks: Callbacks) => void } = {},
) => {
  const said: Said[] = [];
  const items: Routed<Addressed>[] = [];
  const headers = createHeaders();
  if (trace !== undefined) headers.set('traceparent', trace);
  const checked = (data: string): unknown => {
    // As the client does it.
    if (data.length > MAX) throw new RangeError('max_payload size exceeded');
    return JSON.parse(data) as unknown;
  };
  const msg = {
    data: new TextEncoder().encode(body),
    headers,
    subject: 'hp.api.x',
    respond: (data: string) => (said.push({ ok: checked(data) }), true),
    respondError: (status: number, _description: string, data: string) => (
      said.push({ status, error: checked(data) as { code: string } }),
      true
    ),
  };
  const engine = {
    accept: (routed: Routed<Addressed>, callbacks: Callbacks) => {
      items.push(routed);
      accept(callbacks);
    },
  };
  await answerRequest(msg, { endpoint, schema, engine, log: silentLogger(), answerMaxBytes: MAX });
  return { said, items };
};
const query = (answer: unknown) => ({ query: () => Promise.resolve(answer) });

describe('a request', () => {
  test('a query is answered with its result', async () => {
    expect((await ask(query({ found: 1 }))).said).toEqual([{ ok: { found: 1 } }]);
  });

  test.each([
    ['a request that is not JSON', '{', 'CONTRACT_NOT_JSON', 400],
    ['a request without a field', '{}', 'CONTRACT_INVALID', 400],
  ])('%s is refused with a code', async (_, body, code, status) => {
    expect((await ask(query({}), { body })).said).toMatchObject([{ status, error: { code } }]);
  });

  test('an answer that is too large for the bus is replaced by a refusal', async () => {
    const { said } = await ask(query({ text: 'x'.repeat(MAX) }));
    expect(said).toMatchObject([{ status: 413, error: { code: 'CONTRACT_PAYLOAD_TOO_LARGE' } }]);
  });

  test('a refusal that is too large for the bus is sent with its code only', async () => {
    const error = { code: 'RUNTIME_POISON', message: 'x'.repeat(MAX) };
    const settled = await ask(
      { command: () => ({ kind: 'x', aggregate: 'x', message: {} }) },
      { accept: (item) => item.committed({ error }) },
    );
    expect(settled.said).toMatchObject([{ status: 500, error: { code: 'RUNTIME_POISON' } }]);
    const failed = await ask({
      query: () => Promise.reject(new HoldpointError('RECOVERY_UNKNOWN', 'x'.repeat(MAX))),
    });
    expect(failed.said).toMatchObject([{ status: 404, error: { code: 'RECOVERY_UNKNOWN' } }]);
  });

  test.each([
    [
      'a request is refused as unavailable while the store is away',
      Object.assign(new Error('x'), { code: '57P01' }),
      503,
      'RUNTIME_UNAVAILABLE',
    ],
    ['an internal error is not described to the caller', new TypeError('x'), 500, 'RUNTIME_POISON'],
  ])('%s', async (_, error, status, code) => {
    const { said } = await ask({ query: () => Promise.reject(error) });
    expect(said).toMatchObject([{ status, error: { code } }]);
  });

  test('a request with malformed headers is refused with a code', async () => {
    const codes: string[] = [];
    const msg = {
      data: new TextEncoder().encode('{"id":"x"}'),
      get headers(): never {
        throw new TypeError('values cannot contain \\r or \\n');
      },
      subject: 'hp.api.x',
      respond: () => codes.push('ok') > 0,
      respondError: (_status: number, code: string) => codes.push(code) > 0,
    };
    const engine = { accept: () => undefined };
    const endpoint = { command: () => ({ kind: 'x', aggregate: 'x', message: {} }) };
    await answerRequest(msg, { endpoint, schema, engine, log: silentLogger(), answerMaxBytes: MAX });
    expect(codes).toEqual(['CONTRACT_INVALID']);
  });

  test('a request that cannot be answered does not throw', async () => {
    const closed = (): never => {
      throw new Error('closed connection');
    };
    const msg = {
      data: new TextEncoder().encode('{"id":"x"}'),
      headers: createHeaders(),
      subject: 'hp.api.x',
      respond: closed,
      respondError: closed,
    };
    const engine = { accept: closed };
    const serving = { endpoint: query({}), schema, engine, log: silentLogger(), answerMaxBytes: MAX };
    expect(await answerRequest(msg, serving)).toBeUndefined();
  });

  test('a request passes on a valid trace and ignores an invalid one', async () => {
    const command = { command: () => ({ kind: 'x', aggregate: 'x', message: {} }) };
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect((await ask(command, { trace })).items).toMatchObject([{ trace }]);
    expect((await ask(command, { trace: `${trace}é` })).items).toMatchObject([{ trace: undefined }]);
  });
});
