import { errorBody } from '@holdpoint/contracts/values/errors';
import { DEFAULT_POOL, DELIVERIES_MAX, executorConsumer } from '@holdpoint/contracts/bus/streams';
import { describe, expect, test } from 'vitest';
import type { Callbacks } from './engine.ts';
import type { Routed } from './inbound.ts';
import type { Addressed } from './kinds.ts';
import type { SealFinding } from './seals.ts';
import { createIntake, type Delivery, type Inbound } from './intake.ts';
import type { DeadLetterRow } from './ports.ts';

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

const SEALED: SealFinding = { key: 'k-1' };
type Arriving = {
  readonly headers?: Readonly<Record<string, string>>;
  readonly subject?: string;
  readonly deliveries?: number;
  readonly finding?: SealFinding;
  /** It was decided in the transaction of its cause. */
  readonly decidedBefore?: boolean;
};

/** Takes one message in, and notes what is said to its consumer, and what is given to the engine. */
const taking = (
  body: string,
  {
    subject = 'hp.cmd.recovery.assess',
    deliveries = 1,
    finding = SEALED,
    headers = {},
    decidedBefore = false,
  }: Arriving = {},
) => {
  const said: string[] = [];
  const accepted: Item[] = [];
  const buried: { readonly row: DeadLetterRow; readonly stored: () => void }[] = [];
  const delivery: Delivery = {
    subject,
    data: new TextEncoder().encode(body),
    deliveries,
    identity: 'm-1',
    at: 1_700_000_000_000,
    header: () => undefined,
    headers: () => headers,
    ack: () => void said.push('ack'),
    giveBack: (delayMs) => void said.push(`again in ${String(delayMs)}`),
  };
  const engine = {
    accept: (routed: Routed<To>, callbacks: Callbacks) => void accepted.push({ ...routed, ...callbacks }),
    keepDeadLetter: (row: DeadLetterRow, stored: () => void) => void buried.push({ row, stored }),
    hasDecided: () => decidedBefore,
  };
  createIntake(inbound, engine, { warn: () => undefined, error: () => undefined }, () => finding)(delivery);
  const [item] = accepted;
  const [letter] = buried;
  return { said, accepted, buried, item, letter };
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

  test('a message that was decided in the transaction of its cause is acknowledged unread', () => {
    const { said, accepted } = taking(GOOD, { decidedBefore: true });
    expect({ said, accepted }).toEqual({ said: ['ack'], accepted: [] });
  });

  test('a deferred message is delivered again with growing delay, and never becomes a dead letter', () => {
    const taken = [1, 2, DELIVERIES_MAX, 9].map((deliveries) => taking('{"text":"later"}', { deliveries }));
    expect(taken.map(({ said }) => said)).toEqual([
      ['again in 1000'],
      ['again in 2000'],
      ['again in 16000'],
      ['again in 30000'],
    ]);
    expect(taken.flatMap(({ accepted, buried }) => [...accepted, ...buried])).toEqual([]);
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
    const { said, buried, item } = taking(GOOD, { deliveries: DELIVERIES_MAX - 1 });
    item?.failed(reason, new Error('thrown'));
    expect(said).toEqual([expect.stringMatching(/^again/)]);
    expect(buried).toEqual([]);
  });

  test.each([
    ['that nobody here wants, by its subject', 'not even JSON', 'hp.cmd.task.unwanted'],
    ['that nobody here wants, by what it says', 'null', 'hp.cmd.task.submit'],
  ])('%s is acknowledged', (_, body, subject) => {
    expect(taking(body, { subject })).toMatchObject({ said: ['ack'], accepted: [], buried: [] });
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
    const { said, buried } = make();
    expect(buried.map(({ row }) => row.letter.subject)).toEqual(['hp.cmd.recovery.assess']);
    expect(said).toEqual([]);
    buried[0]?.stored();
    expect(said).toEqual(['ack']);
  });

  test('a dead letter has only characters that PostgreSQL can store', () => {
    const { letter } = taking('{', {
      subject: 'hp.cmd.a\0b',
      headers: { 'ce-id': 'a\0b', 'ce-\0': 'a', 'ce-time': '\uD800' },
    });
    expect(letter?.row.letter).toMatchObject({
      subject: 'hp.cmd.a\uFFFDb',
      headers: { 'ce-id': 'a\uFFFDb', 'ce-\uFFFD': 'a', 'ce-time': '\uFFFD' },
    });
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
        keepDeadLetter: () => undefined,
        hasDecided: () => false,
      },
      { warn: () => undefined, error: () => undefined },
      () => SEALED,
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

describe('a message with a seal that does not count', () => {
  const error = { code: 'SEAL_INVALID', message: 'The seal does not fit' };

  test('a message with a wrong seal becomes a dead letter and is never decoded', () => {
    const { said, accepted, letter } = taking('not even JSON', { finding: { error } });
    expect({ said, accepted }).toEqual({ said: [], accepted: [] });
    expect(letter?.row).toMatchObject({
      letter: { reason: error },
      body: new TextEncoder().encode('not even JSON'),
    });
    letter?.stored();
    expect(said).toEqual(['ack']);
  });

  test('a message with a key that is not known yet is delivered again', () => {
    const { said, accepted, buried } = taking(GOOD, { finding: { later: true }, deliveries: 40 });
    expect({ said, accepted, buried }).toEqual({ said: ['again in 500'], accepted: [], buried: [] });
  });

  test('a message with a retired key is acknowledged and ignored', () => {
    const { said, accepted, buried } = taking(GOOD, { finding: { ignored: true } });
    expect({ said, accepted, buried }).toEqual({ said: ['ack'], accepted: [], buried: [] });
  });

  test('a command of a person needs no seal', () => {
    const { accepted } = taking(GOOD, { subject: 'hp.in.task.submit', finding: { error } });
    expect(accepted).toHaveLength(1);
  });

  test('a forged message does not take the dead letter of the message whose id it claims', () => {
    const idOf = ({ letter }: ReturnType<typeof taking>) => letter?.row.id;
    expect(idOf(taking('forged', { finding: { error } }))).not.toEqual(idOf(taking('bad JSON')));
  });
});
