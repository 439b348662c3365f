import { errorBody } from '@holdpoint/contracts/values/errors';
import { DEFAULT_POOL, DELIVERIES_MAX, executorConsumer } from '@holdpoint/contracts/bus/streams';
import { describe, expect, test } from 'vitest';
import type { Callbacks } from './engine.ts';
import type { Routed } from './inbound.ts';
import type { Addressed } from './kinds.ts';
import { createIntake, type Delivery, type Inbound } from './intake.ts';
import type { WireMessage } from './ports.ts';

type To = Addressed<'task', { readonly text: string }>;
type Item = Routed<To> & Callbacks;

const consumer = executorConsumer(DEFAULT_POOL);
const inbound: Inbound<To> = {
  consumer,
  wants: (subject) => !subject.endsWith('.unwanted'),
  decode: (_subject, payload) => {
    if (payload === null) return undefined;
    if (typeof payload !== 'object' || !('text' in payload)) throw new TypeError('no text');
    const text = String(payload.text);
    return { kind: 'task', aggregate: 'a-1', message: { text }, defer: text === 'later' };
  },
};

/** Takes one message in, and notes what is said to its consumer, and what is given to the engine. */
const taking = (body: string, { subject = 'hp.cmd.task.submit', deliveries = 1 } = {}) => {
  const said: string[] = [];
  const accepted: Item[] = [];
  const posted: { readonly letter: WireMessage; readonly stored: () => void }[] = [];
  const delivery: Delivery = {
    subject,
    data: new TextEncoder().encode(body),
    deliveries,
    identity: 'm-1',
    at: 1_700_000_000_000,
    header: () => undefined,
    headers: () => ({}),
    ack: () => void said.push('ack'),
    giveBack: (delayMs) => void said.push(`again in ${String(delayMs)}`),
  };
  const engine = {
    accept: (routed: Routed<To>, callbacks: Callbacks) => void accepted.push({ ...routed, ...callbacks }),
    post: (letter: WireMessage, stored: () => void) => void posted.push({ letter, stored }),
  };
  createIntake(inbound, engine, { warn: () => undefined, error: () => undefined })(delivery);
  const [item] = accepted;
  const [post] = posted;
  return { said, accepted, posted, item, post };
};

const GOOD = '{"text":"x"}';
const reason = errorBody('RUNTIME_POISON', 'cannot be decided');

describe('a message', () => {
  test('a message is acknowledged after its commit, and not before', () => {
    const { said, item } = taking(GOOD);
    expect(item).toMatchObject({ aggregate: 'a-1', message: { text: 'x' } });
    expect(said).toEqual([]);
    item?.committed({ ok: {} });
    expect(said).toEqual(['ack']);
  });

  test('a deferred message is delivered again with growing delay, and never becomes a dead letter', () => {
    const taken = [1, 2, DELIVERIES_MAX, 9].map((deliveries) => taking('{"text":"later"}', { deliveries }));
    expect(taken.map(({ said }) => said)).toEqual([
      ['again in 1000'],
      ['again in 2000'],
      ['again in 16000'],
      ['again in 30000'],
    ]);
    expect(taken.flatMap(({ accepted, posted }) => [...accepted, ...posted])).toEqual([]);
  });

  test('a message that the store did not take is delivered again with growing delay', () => {
    const waits = [1, 2, 3, 6, 9].map((deliveries) => {
      const { said, item } = taking(GOOD, { deliveries });
      item?.unavailable();
      return said;
    });
    expect(waits).toEqual([
      ['again in 1000'],
      ['again in 2000'],
      ['again in 4000'],
      ['again in 30000'],
      ['again in 30000'],
    ]);
  });

  test('a message that failed is delivered again before it becomes a dead letter', () => {
    const { said, posted, item } = taking(GOOD, { deliveries: DELIVERIES_MAX - 1 });
    item?.failed(reason, new Error('thrown'));
    expect(said).toEqual([expect.stringMatching(/^again/)]);
    expect(posted).toEqual([]);
  });

  test.each([
    ['that nobody here wants, by its subject', 'not even JSON', 'hp.cmd.task.unwanted'],
    ['that nobody here wants, by what it says', 'null', 'hp.cmd.task.submit'],
  ])('%s is acknowledged', (_, body, subject) => {
    expect(taking(body, { subject })).toMatchObject({ said: ['ack'], accepted: [], posted: [] });
  });
});

describe('a dead letter', () => {
  const lettersOf = [
    ['what cannot be read', () => taking('{')],
    ['what is not what it should be', () => taking('{"no":"text"}')],
    [
      'a refused message',
      () => {
        const taken = taking(GOOD);
        taken.item?.committed({ error: reason });
        return taken;
      },
    ],
    [
      'a message that failed at every delivery',
      () => {
        const taken = taking(GOOD, { deliveries: DELIVERIES_MAX });
        taken.item?.failed(reason, new Error('thrown'));
        return taken;
      },
    ],
  ] as const;

  test.each(lettersOf)('the dead letter of %s is committed before the acknowledgement', (_, make) => {
    const { said, posted } = make();
    expect(posted.map(({ letter }) => letter.subject)).toEqual([`hp.dlq.${consumer.service}`]);
    expect(said).toEqual([]);
    posted[0]?.stored();
    expect(said).toEqual(['ack']);
  });
});

test.each(['committed', 'failed', 'unavailable'] as const)(
  'the reservations of a message are released when it is %s',
  (fate) => {
    let released = 0;
    const reserving: Inbound<To> = {
      consumer,
      decode: () => ({
        kind: 'task',
        aggregate: 'a-1',
        message: { text: '' },
        onDone: () => (released += 1),
      }),
    };
    const items: Item[] = [];
    const take = createIntake(
      reserving,
      {
        accept: (routed, callbacks) => void items.push({ ...routed, ...callbacks }),
        post: () => undefined,
      },
      { warn: () => undefined, error: () => undefined },
    );
    take({
      subject: 'hp.cmd.task.submit',
      data: new TextEncoder().encode(GOOD),
      deliveries: 1,
      identity: 'm-1',
      at: 0,
      header: () => undefined,
      headers: () => ({}),
      ack: () => undefined,
      giveBack: () => undefined,
    });
    expect(released).toBe(0);
    const [item] = items;
    if (fate === 'committed') item?.committed(undefined);
    else if (fate === 'failed') item?.failed(reason, new Error('thrown'));
    else item?.unavailable();
    expect(released).toBe(1);
  },
);
