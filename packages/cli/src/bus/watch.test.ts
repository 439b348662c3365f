import { TaskId } from '@holdpoint/contracts/values/ids';
import { describe, expect, test } from 'vitest';
import type { Client } from './client.ts';
import { taskSource } from '../task/follow.ts';
import { type BusEvent, watchEvents } from './watch.ts';

type Callback = (error: Error | null, msg: unknown) => void;

/** A connection that delivers one message, or refuses a subscription. */
const hearing = (headers: Readonly<Record<string, string>>, body: string, refused: Error | null = null) =>
  ({
    subscribe: (_: string, { callback }: { callback: Callback }) => {
      const msg = {
        subject: 'hp.evt.task.completed.t-1',
        headers: { get: (name: string) => headers[name] ?? '' },
        json: () => JSON.parse(body) as unknown,
      };
      callback(refused, msg);
      return { drain: () => Promise.resolve() };
    },
    flush: () => Promise.resolve(),
  }) as unknown as Client['connection'];

const heard = async (
  headers: Readonly<Record<string, string>>,
  body = '{}',
): Promise<readonly BusEvent[]> => {
  const facts: BusEvent[] = [];
  await watchEvents(hearing(headers, body), 'hp.evt.>', (fact) => facts.push(fact));
  return facts;
};

describe('an event from the bus', () => {
  test('an event has the version and time of its headers', async () => {
    const headers = { 'ce-version': '3', 'ce-time': '2026-01-15T09:30:00.000Z' };
    expect(await heard(headers)).toMatchObject([{ version: 3, at: Date.UTC(2026, 0, 15, 9, 30) }]);
  });

  test.each(['never', 'x', '1e400', '0.5', '+999999-01-01'])(
    'headers with %s give neither version nor time',
    async (text) => {
      expect(await heard({ 'ce-version': text, 'ce-time': text === '0.5' ? 'x' : text })).toMatchObject([
        { version: undefined, at: undefined },
      ]);
    },
  );
});

describe('following a task by events', () => {
  const rings = async (connection: Client['connection']): Promise<readonly unknown[]> => {
    const rung: unknown[] = [];
    const client = {
      watch: (filter, onFact, options) => watchEvents(connection, filter, onFact, options),
    } as Partial<Client> as Client;
    await taskSource(client, TaskId.parse('t-1')).watch((entry) => rung.push(entry));
    return rung;
  };

  test('an invalid message on the bus makes the follower read the store', async () => {
    expect(await rings(hearing({}, 'not JSON'))).toEqual([undefined]);
  });

  test('a refused subscription makes the follower read the store', async () => {
    expect(await rings(hearing({}, '{}', new Error('permissions violation')))).toEqual([undefined]);
  });
});
