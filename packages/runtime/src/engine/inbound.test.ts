import { ERRORS, type ErrorCode, HoldpointError, toErrorBody } from '@holdpoint/contracts/values/errors';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NESTING_MAX, parseAs, parseCommand, parseFact, parseJson } from './inbound.ts';
import { z } from 'zod';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What was thrown, if it is an error with a code. */
const codeOf = (act: () => unknown): ErrorCode | undefined => {
  try {
    act();
  } catch (error) {
    if (error instanceof HoldpointError) return error.code;
    throw error;
  }
  return undefined;
};

describe('a body', () => {
  test('a body is any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(parseJson(bytes(JSON.stringify(value)))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test.each(['', ' ', '{', '{"a":}', 'nothing', '{"a":1}x', "{'a':1}", 'NaN', '\0'])(
    'that is %j is not JSON',
    (text) => {
      expect(codeOf(() => parseJson(bytes(text)))).toBe('CONTRACT_NOT_JSON');
    },
  );

  test.each([
    ['a byte that never occurs', [0x22, 0xff, 0x22]],
    ['half of a character', [0x22, 0xc3, 0x22]],
    ['a surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
  ])('with %s is not UTF-8', (_, raw) => {
    expect(codeOf(() => parseJson(Uint8Array.from(raw)))).toBe('CONTRACT_NOT_JSON');
  });

  test.each([
    '"\\ud800"',
    '"a\\uDFFFb"',
    '{"a":[{"b":"\\ud83d"}]}',
    '{"\\udc00":1}',
    '"\\u0000"',
    '{"a\\u0000":1}',
  ])('an escape that no store can hold is refused: %s', (text) => {
    expect(codeOf(() => parseJson(bytes(text)))).toBe('CONTRACT_NOT_JSON');
  });

  test.each([
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\\\ud800"', '\\ud800'],
    ['"\\\\u0000"', '\\u0000'],
    ['"\\u0001"', '\u0001'],
  ])('a harmless escape is accepted: %s', (text, value) => {
    expect(parseJson(bytes(text))).toBe(value);
  });

  test.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
    ['both, with brackets in its texts', '[{"]}\\"]}":', '}]'],
  ])('a body has at most the maximum depth, of %s', (_, open, close) => {
    const levels = open.startsWith('[{') ? NESTING_MAX / 2 : NESTING_MAX;
    const nested = (times: number): Uint8Array => bytes(`${open.repeat(times)}1${close.repeat(times)}`);
    expect(codeOf(() => parseJson(nested(levels)))).toBeUndefined();
    expect(codeOf(() => parseJson(nested(levels + 1)))).toBe('CONTRACT_INVALID');
    expect(codeOf(() => parseJson(nested(50_000)))).toBe('CONTRACT_INVALID');
  });

  test('a body may have any number of brackets side by side', () => {
    expect(parseJson(bytes(`[${'{"a":[]},'.repeat(1_000)}0]`))).toHaveLength(1_001);
  });

  test('a body is at most as long as the bus accepts', () => {
    const longest = bytes(JSON.stringify('x'.repeat(PAYLOAD_MAX_BYTES - 2)));
    expect(longest).toHaveLength(PAYLOAD_MAX_BYTES);
    expect(parseJson(longest)).toHaveLength(PAYLOAD_MAX_BYTES - 2);
    expect(codeOf(() => parseJson(new Uint8Array(PAYLOAD_MAX_BYTES + 1)))).toBe('CONTRACT_PAYLOAD_TOO_LARGE');
  });

  test('any bytes are parsed or refused with a code', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (raw) => {
        expect([undefined, 'CONTRACT_NOT_JSON']).toContain(codeOf(() => parseJson(raw)));
      }),
    );
  });
});

describe('a payload', () => {
  const schema = z.object({ id: z.string(), items: z.array(z.object({ n: z.int() })).optional() });

  test('unknown fields of a newer version are dropped', () => {
    expect(parseAs(schema, { id: 'x', later: { deep: 1 } })).toEqual({ id: 'x' });
  });

  test('an invalid payload is refused with every problem and its path', () => {
    const act = (): unknown => parseAs(schema, { items: [{ n: 1 }, { n: 'two' }] });
    expect(codeOf(act)).toBe('CONTRACT_INVALID');
    expect(act).toThrow(/id: .*; items\.1\.n: /);
  });

  test.each([[null], [[]], ['text'], [7]])('that is %j is refused as a whole', (payload) => {
    expect(() => parseAs(schema, payload)).toThrow(/^\(body\): /);
  });

  test('a payload that is nested too deeply is refused like any invalid one', () => {
    let nested: unknown = 1;
    for (let i = 0; i < 400_000; i += 1) nested = [nested];
    const submission = { workflow: 'sample', goal: 'x', inputs: { a: nested } };
    expect(codeOf(() => parseCommand('orchestrator', 'hp.cmd.task.submit', submission))).toBe(
      'CONTRACT_INVALID',
    );
  });

  test('an error quotes little of an invalid payload', () => {
    const names = Array.from({ length: 30 }, (_, i) => `${String(i)}${'\u0001'.repeat(30_000)}`);
    const wrong = { id: 'x', items: Object.fromEntries(names.map((name) => [name, Infinity])) };
    const act = (): unknown => parseAs(z.object({ items: z.record(z.string(), z.json()) }), wrong);
    expect(codeOf(act)).toBe('CONTRACT_INVALID');
    expect(act).toThrow(
      expect.toSatisfy(
        (error: HoldpointError) => JSON.stringify(toErrorBody(error)).length < 32_768,
      ) as Error,
    );
  });

  test('a payload does not reach inherited properties', () => {
    const hostile = parseJson(
      bytes('{"workflow":"sample","goal":"x","inputs":{"__proto__":{"polluted":1}},"__proto__":{"id":"y"}}'),
    );
    const { payload } = parseCommand('orchestrator', 'hp.cmd.task.submit', hostile);
    expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(payload).not.toHaveProperty('id');
  });
});

describe('a command', () => {
  test('a command is named by the third token of its subject', () => {
    const cancel = { id: 't-1', reason: 'over' };
    expect(parseCommand('orchestrator', 'hp.cmd.task.cancel', cancel)).toEqual({
      kind: 'cancel',
      payload: cancel,
    });
    const order = { id: 'e-1', task: 't-1', node: 'n', attempt: 1, reason: 'over' };
    expect(parseCommand('executor', 'hp.cmd.effect.cancel.default', order)).toEqual({
      kind: 'cancel',
      payload: order,
    });
  });

  test.each([
    'hp.cmd.task.explode',
    'hp.cmd.task',
    'hp',
    '',
    'hp.cmd.task.constructor',
    'hp.cmd.task.__proto__',
    'hp.cmd.task.toString',
  ])('on %j is unknown', (subject) => {
    expect(codeOf(() => parseCommand('orchestrator', subject, {}))).toBe('CONTRACT_UNKNOWN_SUBJECT');
  });

  test.each([
    ['without a goal', { workflow: 'sample' }],
    ['with an empty goal', { workflow: 'sample', goal: '  ' }],
    ['with an id that is no token', { workflow: 'sample', goal: 'x', id: 'a.b' }],
    ['with a wildcard as its id', { workflow: 'sample', goal: 'x', id: '>' }],
  ])('%s is refused', (_, payload) => {
    expect(codeOf(() => parseCommand('orchestrator', 'hp.cmd.task.submit', payload))).toBe(
      'CONTRACT_INVALID',
    );
  });
});

describe('a fact', () => {
  const about = { id: 'e-1', task: 't-1', node: 'n', attempt: 1 };

  test('an event is parsed into its type', () => {
    const fact = { type: 'cancelled', ...about, reason: 'over' };
    expect(parseFact('executor', 'hp.evt.effect.cancelled.e-1', fact)).toEqual(fact);
  });

  test('an event of an unknown type is ignored', () => {
    expect(
      parseFact('executor', 'hp.evt.effect.exploded.e-1', { type: 'exploded', ...about }),
    ).toBeUndefined();
    expect(parseFact('executor', 'hp.evt.effect', {})).toBeUndefined();
    expect(parseFact('executor', 'hp.evt.effect.constructor.e-1', {})).toBeUndefined();
  });

  test.each([
    ['that lacks what is needed', { type: 'cancelled', ...about }],
    ['whose type is not the one of its subject, nor any', { type: 'exploded', ...about, reason: 'over' }],
    ['without a type', { ...about, reason: 'over' }],
  ])('%s is refused', (_, payload) => {
    expect(codeOf(() => parseFact('executor', 'hp.evt.effect.cancelled.e-1', payload))).toBe(
      'CONTRACT_INVALID',
    );
  });
});

test('every code of this module has an HTTP status', () => {
  for (const code of [
    'CONTRACT_NOT_JSON',
    'CONTRACT_INVALID',
    'CONTRACT_PAYLOAD_TOO_LARGE',
    'CONTRACT_UNKNOWN_SUBJECT',
  ] as const) {
    expect(ERRORS[code]).toBeGreaterThanOrEqual(400);
  }
});
