import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Status } from '@nats-io/transport-node';
import { expect, test } from 'vitest';
import { createAnnouncer } from './announcer.ts';

const SUBJECT = subjects.log('t-1', 'build');
const MIB = 1_024 * 1_024;

/** A connection that answers, comes and goes when it is told to. */
const connecting = () => {
  const sent: string[] = [];
  const questions: { readonly answer: () => void; readonly lose: () => void }[] = [];
  const statuses: Status[] = [];
  let wake: () => void = () => undefined;
  const state = { closed: false };
  const announce = createAnnouncer({
    publish: (_subject, body) => {
      if (state.closed) throw new Error('closed');
      sent.push(String(body));
    },
    flush: () =>
      new Promise((resolve, reject) =>
        questions.push({ answer: resolve, lose: () => reject(new Error('gone')) }),
      ),
    status: async function* () {
      for (;;) {
        const next = statuses.shift();
        if (next !== undefined) yield next;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } as never,
  });
  const become = async (type: 'disconnect' | 'reconnect'): Promise<void> => {
    statuses.push({ type, server: '127.0.0.1' });
    wake();
    await settle();
  };
  return { announce, sent, questions, state, become };
};
const settle = async (): Promise<void> => {
  for (let i = 0; i < 10; i += 1) await Promise.resolve();
};

test('announcements are sent at once, with one flush at a time', () => {
  const { announce, sent, questions } = connecting();
  expect([announce(SUBJECT, 'one'), announce(SUBJECT, 'two')]).toEqual([true, true]);
  expect(sent).toEqual(['one', 'two']);
  expect(questions).toHaveLength(1);
});

test('no announcement is accepted while the connection is down', async () => {
  const { announce, sent, become } = connecting();
  await settle();
  await become('disconnect');
  expect(announce(SUBJECT, 'lost')).toBe(false);
  await become('reconnect');
  expect(announce(SUBJECT, 'heard')).toBe(true);
  expect(sent).toEqual(['heard']);
});

test('no announcement is accepted beyond the buffer limit until the server has caught up', async () => {
  const { announce, sent, questions } = connecting();
  const large = 'x'.repeat(MIB);
  expect([1, 2, 3, 4, 5].map(() => announce(SUBJECT, large))).toEqual([true, true, true, true, false]);
  // The first question covers what went before it.
  questions[0]?.answer();
  await settle();
  expect([announce(SUBJECT, large), announce(SUBJECT, large)]).toEqual([true, false]);
  questions[1]?.answer();
  await settle();
  expect(announce(SUBJECT, large)).toBe(true);
  expect(sent).toHaveLength(6);
});

test('bytes in flight at a disconnect do not count forever', async () => {
  const { announce, questions } = connecting();
  const large = 'x'.repeat(4 * MIB);
  expect([announce(SUBJECT, large), announce(SUBJECT, 'x')]).toEqual([true, false]);
  questions[0]?.lose();
  await settle();
  expect(announce(SUBJECT, large)).toBe(true);
});

test('a closed connection accepts no announcement', () => {
  const { announce, state } = connecting();
  state.closed = true;
  expect(announce(SUBJECT, 'lost')).toBe(false);
});
