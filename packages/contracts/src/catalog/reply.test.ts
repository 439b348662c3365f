import { HoldpointError } from '../values/errors.ts';
import { PAYLOAD_MAX_BYTES } from '../bus/streams.ts';
import { describe, expect, test } from 'vitest';
import { encodeRequest, readAnswer, type Reply } from './reply.ts';

const reply = (body: string, headers: Readonly<Record<string, string>> = {}): Reply => {
  const wire = new Map(Object.entries(headers));
  return { headers: { get: (name) => wire.get(name) ?? '' }, json: () => JSON.parse(body) as unknown };
};

const refusal = (read: () => unknown): Pick<HoldpointError, 'code' | 'message' | 'details'> => {
  try {
    read();
  } catch (error) {
    if (error instanceof HoldpointError)
      return { code: error.code, message: error.message, details: error.details };
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('a request', () => {
  test('a request body may be as large as the bus permits, and not larger', () => {
    // The two quotes of a JSON string, and two bytes for each of these letters.
    expect(encodeRequest('ä'.repeat(PAYLOAD_MAX_BYTES / 2 - 1))).toHaveLength(PAYLOAD_MAX_BYTES);
    expect(refusal(() => encodeRequest('ä'.repeat(PAYLOAD_MAX_BYTES / 2)))).toMatchObject({
      code: 'CONTRACT_PAYLOAD_TOO_LARGE',
    });
  });
});

describe('an answer', () => {
  const read = (from: Reply) => readAnswer('orchestrator', 'submit', from);

  test('an answer keeps fields of newer services', () => {
    const body = { id: 't-1', phase: 'queued', version: 1, since2: 'x' };
    expect(read(reply(JSON.stringify(body)))).toEqual(body);
  });

  test('an invalid answer throws an error that names the field', () => {
    expect(refusal(() => read(reply('{"id":"t-1","phase":"lost","version":1}')))).toMatchObject({
      code: 'CONTRACT_INVALID',
      message: expect.stringMatching(/^orchestrator returned an invalid answer: phase: /) as string,
    });
    expect(refusal(() => read(reply('not json')))).toMatchObject({ code: 'CONTRACT_INVALID' });
  });

  test('an error reply is thrown with its code, text and details', () => {
    const body = {
      code: 'ORCHESTRATOR_UNKNOWN_WORKFLOW',
      message: 'no workflow x',
      details: { workflow: 'x' },
    };
    const headers = { 'Nats-Service-Error-Code': '404', 'Nats-Service-Error': body.code };
    expect(refusal(() => read(reply(JSON.stringify(body), headers)))).toEqual(body);
  });

  test('an unknown error code of a newer release is kept', () => {
    const body = { code: 'ORCHESTRATOR_SINCE_2', message: 'new' };
    expect(
      refusal(() => read(reply(JSON.stringify(body), { 'Nats-Service-Error-Code': '409' }))),
    ).toMatchObject(body);
  });

  test('an error of the framework without a body takes its text from the headers', () => {
    const headers = { 'Nats-Service-Error-Code': '500', 'Nats-Service-Error': 'boom' };
    expect(refusal(() => read(reply('', headers)))).toMatchObject({
      code: 'RUNTIME_POISON',
      message: 'orchestrator failed with 500 boom',
    });
  });
});

describe('endlessly nested values', () => {
  const nested = (levels: number): unknown =>
    JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`) as unknown;

  test('an endlessly nested request is refused', () => {
    expect(refusal(() => encodeRequest({ a: nested(50_000) }))).toMatchObject({ code: 'CONTRACT_INVALID' });
  });

  test('an endlessly nested answer is refused', () => {
    const event = { version: 1, at: 1, type: 'x', data: {} };
    const text = JSON.stringify({ events: [event] }).replace(
      '{}',
      `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    );
    expect(refusal(() => readAnswer('orchestrator', 'history', reply(text)))).toMatchObject({
      code: 'CONTRACT_INVALID',
    });
  });
});
