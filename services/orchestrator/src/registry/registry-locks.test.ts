import { historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  acquire,
  BOARD,
  boardWith,
  informationOf,
  job,
  locks,
  nodeId,
  NOW,
  release,
  reminder,
  taskId,
  notifiedHeld,
  notifiedToWait,
} from '../../testing/registry.ts';
import { registryDecider, type RegistryMessage } from './decide.ts';
import { JOBS_MAX } from './locks.ts';
import type { RegistryState } from './state.ts';

const given = specFor(registryDecider);
const acted = (...messages: readonly RegistryMessage[]) =>
  historyOf(registryDecider, ...messages.map((message) => [message, NOW] as const));

const locked = (name: string, ...keys: readonly string[]) => ({
  type: 'lock_acquired' as const,
  id: BOARD,
  ...job(name),
  locks: locks(...keys),
});
const unlocked = (name: string) => ({ type: 'lock_released' as const, id: BOARD, ...job(name) });
const queued = (name: string, since: number, ...keys: readonly string[]) => ({
  type: 'lock_queued' as const,
  id: BOARD,
  ...job(name),
  locks: locks(...keys),
  since,
});
const REMINDER = { set: 'held', dueAt: NOW + 20_000 };

describe('a lock request', () => {
  test('a free lock is granted, and the first holder sets the reminder', () => {
    given()
      .when(acquire('t1/a', 1, 'k', '+l'), NOW)
      .thenEmits(locked('t1/a', 'k', '+l'))
      .thenSends(notifiedHeld('t1/a'))
      .thenTimes(REMINDER);
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(acquire('t2/a', 2, 'l'), NOW)
      .thenEmits(locked('t2/a', 'l'))
      .thenSends(notifiedHeld('t2/a'))
      .thenTimes();
  });

  test('a job gets all of its keys or none, and hears which jobs are before it', () => {
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(acquire('t2/a', 2, 'k', 'l'), NOW)
      .thenEmits(queued('t2/a', 2, 'k', 'l'))
      .thenSends(notifiedToWait('t2/a', 't1/a'));
    // Its free key is not held, but a later job cannot take it.
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k', 'l')))
      .when(acquire('t3/a', 3, 'l'), NOW)
      .thenEmits(queued('t3/a', 3, 'l'))
      .thenSends(notifiedToWait('t3/a', 't2/a'));
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k', 'l')))
      .when(acquire('t0/a', 0, 'l'), NOW)
      .thenEmits(locked('t0/a', 'l'));
  });

  test('shared locks are shared, until a job waits for an exclusive one', () => {
    const shared = acted(acquire('t1/a', 1, '+k'), acquire('t2/a', 2, '+k'));
    given(...shared)
      .when(acquire('t3/a', 3, 'k'), NOW)
      .thenEmits(queued('t3/a', 3, 'k'))
      .thenSends(notifiedToWait('t3/a', 't1/a', 't2/a'));
    given(...acted(acquire('t1/a', 1, '+k'), acquire('t3/a', 3, 'k')))
      .when(acquire('t4/a', 4, '+k'), NOW)
      .thenEmits(queued('t4/a', 4, '+k'))
      .thenSends(notifiedToWait('t4/a', 't3/a'));
  });

  test('both modes of one key are exclusive', () => {
    given()
      .when(acquire('t1/a', 1, '+k', 'k', '+k'), NOW)
      .thenEmits(locked('t1/a', 'k'));
  });

  test('a job whose keys no earlier job wants does not wait', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k')))
      .when(acquire('t3/a', 3, 'l'), NOW)
      .thenEmits(locked('t3/a', 'l'));
  });

  test('a repeated request is answered with the current state and changes nothing', () => {
    const history = acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k'));
    given(...history)
      .when(acquire('t1/a', 1, 'k'), NOW + 5)
      .thenEmits()
      .thenSends(notifiedHeld('t1/a'))
      .thenTimes();
    given(...history)
      .when(acquire('t2/a', 2, 'k'), NOW + 5)
      .thenEmits()
      .thenSends(notifiedToWait('t2/a', 't1/a'))
      .thenTimes();
  });

  test('a repeated request gets another message id, and a second decision the same one', () => {
    const board = acted(acquire('t1/a', 1, 'k')).reduce<RegistryState>(
      (reached, event) => registryDecider.evolve(reached, event),
      registryDecider.initial,
    );
    const idAt = (now: number) => registryDecider.decide(board, acquire('t1/a', 1, 'k'), { now }).send[0]?.id;
    expect(idAt(NOW)).toBe(idAt(NOW));
    expect(idAt(NOW + 1)).not.toBe(idAt(NOW));
  });

  test('a later attempt replaces the earlier one', () => {
    const held = acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k'));
    given(...held)
      .when(acquire('t1/a/2', 1, 'l'), NOW)
      .thenEmits(unlocked('t1/a'), locked('t1/a/2', 'l'), locked('t2/a', 'k'))
      .thenSends(notifiedHeld('t2/a'), notifiedHeld('t1/a/2'));
    given(...held)
      .when(acquire('t2/a/2', 2, 'k'), NOW)
      .thenEmits(unlocked('t2/a'), queued('t2/a/2', 2, 'k'))
      .thenSends(notifiedToWait('t2/a/2', 't1/a'));
    // The same keys with a later job behind it: the job keeps its turn.
    given(...held)
      .when(acquire('t1/a/2', 1, 'k'), NOW)
      .thenEmits(unlocked('t1/a'), locked('t1/a/2', 'k'))
      .thenSends(notifiedHeld('t1/a/2'));
  });

  test('a late request of an earlier attempt gets nothing', () => {
    given(...acted(acquire('t1/a/2', 1, 'k')))
      .when(acquire('t1/a/1', 1, 'k'), NOW)
      .thenEmits()
      .thenSends(notifiedToWait('t1/a/1', 't1/a'));
  });

  test('a request after its own release is granted like any other', () => {
    given(...acted(acquire('t1/a', 1, 'k'), release('t1/a')))
      .when(acquire('t1/a', 1, 'k'), NOW)
      .thenEmits(locked('t1/a', 'k'));
  });

  test('keys named like built-in properties are ordinary keys', () => {
    given(...acted(acquire('t1/a', 1, '__proto__')))
      .when(acquire('t2/a', 2, 'constructor', '__proto__'), NOW)
      .thenEmits(queued('t2/a', 2, 'constructor', '__proto__'));
  });
});

describe('lock contention honours job order (reference 74)', () => {
  const line = (...names: readonly (readonly [name: string, since: number])[]) =>
    acted(acquire('t0/x', 0, 'k'), ...names.map(([name, since]) => acquire(name, since, 'k')));

  test('the task that was submitted first is served first, in any order of requests', () => {
    given(...line(['t3/a', 3], ['t1/a', 1], ['t2/a', 2]))
      .when(release('t0/x'), NOW)
      .thenEmits(unlocked('t0/x'), locked('t1/a', 'k'))
      .thenSends(notifiedHeld('t1/a'));
  });

  test('tasks submitted at once are served by task and node id', () => {
    given(...line(['t2/a', 1], ['t1/b', 1], ['t1/a', 1]))
      .when(release('t0/x'), NOW)
      .thenEmits(unlocked('t0/x'), locked('t1/a', 'k'));
    given(...line(['t2/a', 1], ['t1/b', 1]))
      .when(release('t0/x'), NOW)
      .thenEmits(unlocked('t0/x'), locked('t1/b', 'k'));
  });

  test('shared requests are granted together, up to the first exclusive one', () => {
    const history = acted(
      acquire('t0/x', 0, 'k'),
      acquire('t1/a', 1, '+k'),
      acquire('t2/a', 2, '+k'),
      acquire('t3/a', 3, 'k'),
      acquire('t4/a', 4, '+k'),
    );
    given(...history)
      .when(release('t0/x'), NOW)
      .thenEmits(unlocked('t0/x'), locked('t1/a', '+k'), locked('t2/a', '+k'))
      .thenSends(notifiedHeld('t1/a'), notifiedHeld('t2/a'));
  });
});

describe('a lock release', () => {
  test('releasing the last lock clears the reminder', () => {
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(release('t1/a'), NOW)
      .thenEmits(unlocked('t1/a'))
      .thenSends()
      .thenTimes({ clear: 'held' });
  });

  test('releasing one of several locks keeps the reminder', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k')))
      .when(release('t1/a'), NOW)
      .thenEmits(unlocked('t1/a'), locked('t2/a', 'k'))
      .thenTimes();
  });

  test('releasing a waiting job unblocks the jobs behind it', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k', 'l'), acquire('t3/a', 3, 'l')))
      .when(release('t2/a'), NOW)
      .thenEmits(unlocked('t2/a'), locked('t3/a', 'l'))
      .thenSends(notifiedHeld('t3/a'));
  });

  test('releasing an unheld lock or an earlier attempt changes nothing', () => {
    given().when(release('t1/a'), NOW).thenNothing();
    given(...acted(acquire('t1/a/2', 1, 'k')))
      .when(release('t1/a/1'), NOW)
      .thenNothing();
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(release('t1/b'), NOW)
      .thenNothing();
  });

  test('a release of a later attempt ends the earlier one', () => {
    given(...acted(acquire('t1/a/1', 1, 'k')))
      .when(release('t1/a/3'), NOW)
      .thenEmits(unlocked('t1/a/1'));
  });
});

describe('the lock reminder', () => {
  test('every holder is reminded and no waiting job, again and again', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'l'), acquire('t3/a', 3, 'k')))
      .when(reminder, NOW + 20_000)
      .thenEmits()
      .thenSends(notifiedHeld('t1/a'), notifiedHeld('t2/a'))
      .thenTimes({ set: 'held', dueAt: NOW + 40_000 });
  });

  test('a reminder without holders is the last one', () => {
    given(...acted(acquire('t1/a', 1, 'k'), release('t1/a')))
      .when(reminder, NOW)
      .thenNothing();
    given().when(reminder, NOW).thenNothing();
  });

  test('another timer does nothing', () => {
    given(...acted(acquire('t1/a', 1, 'k')))
      .when({ kind: 'timer', name: 'other', data: null }, NOW)
      .thenNothing();
  });
});

describe('a registry at its limit of jobs', () => {
  const line = Array.from({ length: JOBS_MAX - 1 }, (_, index) => ({
    task: taskId(`t${String(index)}`),
    node: nodeId('a'),
    attempt: 1,
    locks: locks('k'),
    since: index,
  }));
  const full = boardWith({ held: [{ ...job('first/a'), locks: locks('k') }], waiting: line });
  const givenFull = specFor({ ...registryDecider, initial: full })();

  test('one more job has to wait and is not recorded', () => {
    const behind = ['first/a', ...line.slice(0, 99).map(({ task }) => `${task}/a`)];
    givenFull
      .when(acquire('more/a', JOBS_MAX, 'k'), NOW)
      .thenEmits()
      .thenSends(notifiedToWait('more/a', ...behind));
    givenFull
      .when(acquire('more/a', 0, 'free'), NOW)
      .thenEmits()
      .thenSends(notifiedToWait('more/a'));
  });

  test('another attempt of a known job is accepted', () => {
    givenFull.when(acquire('t5/a/2', 5, 'k'), NOW).thenEmits(unlocked('t5/a'), queued('t5/a/2', 5, 'k'));
  });

  test('a notification names at most a hundred jobs', () => {
    const made = registryDecider.decide(full, acquire('t9000/a', 9_000, 'k'), { now: NOW });
    expect(informationOf(made)).toMatchObject([{ acquired: false, waitingFor: { length: 100 } }]);
  });
});
