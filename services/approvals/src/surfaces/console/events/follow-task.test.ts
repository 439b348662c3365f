import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { describe, expect, test } from 'vitest';
import { followTask, parseCursor } from './follow-task.ts';
import { createTaskEvents } from './task-events.ts';

const ID = 't-1' as TaskId;
const AT = Date.parse('2026-11-22T10:00:00Z');

/** An orchestrator with a number of events, and a controllable bus. */
const given = (count: number, pageMax = 3) => {
  let version = count;
  let hearAll: Parameters<Listener['listen']>[1] | undefined;
  let isAway = false;
  const asked: number[] = [];
  const listener: Pick<Listener, 'call' | 'listen'> = {
    listen: (_, hear) => {
      hearAll = hear;
      return { stop: () => (hearAll = undefined) };
    },
    call: (_service, _endpoint, payload) => {
      const { after } = payload as { readonly after: number };
      asked.push(after);
      if (isAway)
        return Promise.resolve({ error: { code: 'RUNTIME_UNAVAILABLE', message: 'nobody answers' } });
      const events = Array.from({ length: Math.max(0, Math.min(pageMax, version - after)) }, (_, i) => ({
        version: after + i + 1,
        at: AT,
        type: 'ready',
        data: {},
      }));
      return Promise.resolve({ ok: { events, version, more: after + events.length < version } });
    },
  };
  const heard: (number | string)[] = [];
  const follow = (from: number) =>
    followTask({ listener, events: createTaskEvents(listener) }, ID, from, {
      onEvent: (fact) => heard.push(fact.version),
      onReset: (to) => heard.push(`set back to ${String(to)}`),
      ready: () => Promise.resolve(true),
    });
  return {
    heard,
    asked,
    follow,
    grow: (to: number) => (version = to),
    leave: (away: boolean) => (isAway = away),
    isListening: () => hearAll !== undefined,
    /** Publishes a message about this version on the bus. */
    say: (each: number, id = 't-1') => {
      const headers = new Map([
        ['ce-version', String(each)],
        ['ce-time', new Date(AT).toISOString()],
      ]);
      hearAll?.(`hp.evt.task.changed.${id}`, {}, (name) => headers.get(name));
    },
  };
};

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('a follower of a task', () => {
  test('a follower receives earlier events page by page and then new ones', async () => {
    const { follow, heard, asked, grow, say } = given(7);
    await follow(0).look();
    expect([heard, asked]).toEqual([
      [1, 2, 3, 4, 5, 6, 7],
      [0, 3, 6],
    ]);
    grow(8);
    say(8);
    await settled();
    expect([heard.at(-1), asked]).toEqual([8, [0, 3, 6, 7]]);
    // A message about a known version leads to no read.
    say(8);
    await settled();
    expect(asked).toHaveLength(4);
  });

  test('a follower receives each event once and in order from an unreliable bus', async () => {
    const { follow, heard, grow, say } = given(1);
    await follow(0).look();
    grow(5);
    for (const each of [3, 2, 2, 5, 1]) say(each);
    await settled();
    expect(heard).toEqual([1, 2, 3, 4, 5]);
  });

  test('the next read delivers events that the bus has lost', async () => {
    const { follow, heard, grow } = given(1);
    const following = follow(1);
    await following.look();
    grow(3);
    await following.look();
    expect(heard).toEqual([2, 3]);
  });

  test('events of an outage follow after it', async () => {
    const { follow, heard, grow, say, leave } = given(1);
    const following = follow(1);
    await following.look();
    grow(4);
    leave(true);
    say(4);
    await expect(following.look()).rejects.toMatchObject({ code: 'RUNTIME_UNAVAILABLE' });
    expect(heard).toEqual([]);
    leave(false);
    await following.look();
    expect(heard).toEqual([2, 3, 4]);
  });

  test('a follower is reset when the task was restored', async () => {
    const { follow, heard, grow, say } = given(2);
    await follow(9).look();
    grow(3);
    say(3);
    await settled();
    expect(heard).toEqual(['set back to 2', 3]);
  });

  test('a follower receives no events of other tasks, and none after it stops', async () => {
    const { follow, heard, say, isListening } = given(0);
    const following = follow(0);
    await following.look();
    say(1, 't-2');
    following.stop();
    say(1);
    await settled();
    expect([heard, isListening()]).toEqual([[], false]);
  });
});

test.each([
  ['12', { version: 12, place: 0 }],
  ['12.345', { version: 12, place: 345 }],
  [undefined, { version: 0, place: 0 }],
])('a stream resumes from %j', (text, cursor) => {
  expect(parseCursor(text)).toEqual(cursor);
});

test.each(['', '-1', '1.', '1.2.3', '1e3', 'x', '9'.repeat(20), '1\n'])(
  '%j is no place to go on from',
  (text) => {
    expect(() => parseCursor(text)).toThrow(expect.objectContaining({ code: 'CONTRACT_INVALID' }));
  },
);
