import { TaskId } from '@holdpoint/contracts/values/ids';
import { expect, test } from 'vitest';
import type { Client } from './client.ts';
import { taskSource } from '../task/follow.ts';
import { watchSubjects } from './watch.ts';

type Callback = (error: Error | null, msg: unknown) => void;

/** A connection that delivers one message, or refuses a subscription. */
const hearing = (refused: Error | null, subjects: string[] = []) =>
  ({
    subscribe: (subject: string, { callback }: { callback: Callback }) => {
      subjects.push(subject);
      callback(refused, { json: () => JSON.parse('not JSON') as unknown });
      return { drain: () => Promise.resolve() };
    },
    flush: () => Promise.resolve(),
  }) as unknown as Client['connection'];

test.each([
  ['a message that is no JSON', null],
  ['a refused subscription', new Error('permissions violation')],
])('%s makes the follower of a task read the store', async (_, refused) => {
  const subjects: string[] = [];
  const client = {
    watch: (filter, onMessage) => watchSubjects(hearing(refused, subjects), filter, onMessage),
  } as Partial<Client> as Client;
  let rings = 0;
  await taskSource(client, TaskId.parse('t-1')).watch(() => (rings += 1));
  expect([rings, subjects]).toEqual([1, ['hp.evt.task.*.t-1']]);
});

test('a follower of a task reads the history after its last version, page by page', async () => {
  const asked: unknown[] = [];
  const pages = [
    { events: [3, 4].map((version) => ({ version })), version: 5, more: true },
    { events: [{ version: 5 }], version: 5, more: false },
  ];
  const client = {
    call: (_service: string, _endpoint: string, payload: unknown) => {
      asked.push(payload);
      return Promise.resolve(pages[asked.length - 1]);
    },
  } as unknown as Client;
  const events = await taskSource(client, TaskId.parse('t-1')).history(2);
  expect(events.map(({ version }) => version)).toEqual([3, 4, 5]);
  expect(asked).toMatchObject([{ after: 2 }, { after: 4 }]);
});
