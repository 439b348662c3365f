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
  toldHeld,
  toldToWait,
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

describe('an acquire', () => {
  test('of what is free is granted, and the first holder sets the reminder', () => {
    given()
      .when(acquire('t1/a', 1, 'k', '+l'), NOW)
      .thenEmits(locked('t1/a', 'k', '+l'))
      .thenSends(toldHeld('t1/a'))
      .thenTimes(REMINDER);
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(acquire('t2/a', 2, 'l'), NOW)
      .thenEmits(locked('t2/a', 'l'))
      .thenSends(toldHeld('t2/a'))
      .thenTimes();
  });

  test('of several keys gets all of them or none, and is told who stands before it', () => {
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(acquire('t2/a', 2, 'k', 'l'), NOW)
      .thenEmits(queued('t2/a', 2, 'k', 'l'))
      .thenSends(toldToWait('t2/a', 't1/a'));
    // The free one of its keys is not held; but a later job does not take it away from under its nose.
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k', 'l')))
      .when(acquire('t3/a', 3, 'l'), NOW)
      .thenEmits(queued('t3/a', 3, 'l'))
      .thenSends(toldToWait('t3/a', 't2/a'));
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k', 'l')))
      .when(acquire('t0/a', 0, 'l'), NOW)
      .thenEmits(locked('t0/a', 'l'));
  });

  test('shares with those that share, until somebody waits to have it alone', () => {
    const shared = acted(acquire('t1/a', 1, '+k'), acquire('t2/a', 2, '+k'));
    given(...shared)
      .when(acquire('t3/a', 3, 'k'), NOW)
      .thenEmits(queued('t3/a', 3, 'k'))
      .thenSends(toldToWait('t3/a', 't1/a', 't2/a'));
    given(...acted(acquire('t1/a', 1, '+k'), acquire('t3/a', 3, 'k')))
      .when(acquire('t4/a', 4, '+k'), NOW)
      .thenEmits(queued('t4/a', 4, '+k'))
      .thenSends(toldToWait('t4/a', 't3/a'));
  });

  test('of a key in both modes wants it alone', () => {
    given()
      .when(acquire('t1/a', 1, '+k', 'k', '+k'), NOW)
      .thenEmits(locked('t1/a', 'k'));
  });

  test('that wants nothing that an earlier job wants is not held up by it', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k')))
      .when(acquire('t3/a', 3, 'l'), NOW)
      .thenEmits(locked('t3/a', 'l'));
  });

  test('asked again is answered again with what stands, and changes nothing', () => {
    const history = acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k'));
    given(...history)
      .when(acquire('t1/a', 1, 'k'), NOW + 5)
      .thenEmits()
      .thenSends(toldHeld('t1/a'))
      .thenTimes();
    given(...history)
      .when(acquire('t2/a', 2, 'k'), NOW + 5)
      .thenEmits()
      .thenSends(toldToWait('t2/a', 't1/a'))
      .thenTimes();
  });

  test('asked again has another message id, decided again the same', () => {
    const board = acted(acquire('t1/a', 1, 'k')).reduce<RegistryState>(
      (reached, event) => registryDecider.evolve(reached, event),
      registryDecider.initial,
    );
    const idAt = (now: number) => registryDecider.decide(board, acquire('t1/a', 1, 'k'), { now }).send[0]?.id;
    expect(idAt(NOW)).toBe(idAt(NOW));
    expect(idAt(NOW + 1)).not.toBe(idAt(NOW));
  });

  test('of a later attempt ends the earlier one, wherever that stood', () => {
    const held = acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k'));
    given(...held)
      .when(acquire('t1/a/2', 1, 'l'), NOW)
      .thenEmits(unlocked('t1/a'), locked('t1/a/2', 'l'), locked('t2/a', 'k'))
      .thenSends(toldHeld('t2/a'), toldHeld('t1/a/2'));
    given(...held)
      .when(acquire('t2/a/2', 2, 'k'), NOW)
      .thenEmits(unlocked('t2/a'), queued('t2/a/2', 2, 'k'))
      .thenSends(toldToWait('t2/a/2', 't1/a'));
    // The same keys, with somebody later in line: the job keeps its turn.
    given(...held)
      .when(acquire('t1/a/2', 1, 'k'), NOW)
      .thenEmits(unlocked('t1/a'), locked('t1/a/2', 'k'))
      .thenSends(toldHeld('t1/a/2'));
  });

  test('of an earlier attempt that comes late gets nothing', () => {
    given(...acted(acquire('t1/a/2', 1, 'k')))
      .when(acquire('t1/a/1', 1, 'k'), NOW)
      .thenEmits()
      .thenSends(toldToWait('t1/a/1', 't1/a'));
  });

  test('that comes after its own release is granted like any other', () => {
    given(...acted(acquire('t1/a', 1, 'k'), release('t1/a')))
      .when(acquire('t1/a', 1, 'k'), NOW)
      .thenEmits(locked('t1/a', 'k'));
  });

  test('of keys that are called like what every object has is one like any other', () => {
    given(...acted(acquire('t1/a', 1, '__proto__')))
      .when(acquire('t2/a', 2, 'constructor', '__proto__'), NOW)
      .thenEmits(queued('t2/a', 2, 'constructor', '__proto__'));
  });
});

describe('reference 74: lock contention honours job order', () => {
  const line = (...names: readonly (readonly [name: string, since: number])[]) =>
    acted(acquire('t0/x', 0, 'k'), ...names.map(([name, since]) => acquire(name, since, 'k')));

  test('whoever was submitted first is served first, in whatever order they asked', () => {
    given(...line(['t3/a', 3], ['t1/a', 1], ['t2/a', 2]))
      .when(release('t0/x'), NOW)
      .thenEmits(unlocked('t0/x'), locked('t1/a', 'k'))
      .thenSends(toldHeld('t1/a'));
  });

  test('of those submitted at once the order is that of task and node', () => {
    given(...line(['t2/a', 1], ['t1/b', 1], ['t1/a', 1]))
      .when(release('t0/x'), NOW)
      .thenEmits(unlocked('t0/x'), locked('t1/a', 'k'));
    given(...line(['t2/a', 1], ['t1/b', 1]))
      .when(release('t0/x'), NOW)
      .thenEmits(unlocked('t0/x'), locked('t1/b', 'k'));
  });

  test('those that share are served together, up to the first that wants it alone', () => {
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
      .thenSends(toldHeld('t1/a'), toldHeld('t2/a'));
  });
});

describe('a release', () => {
  test('of the last lock clears the reminder', () => {
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(release('t1/a'), NOW)
      .thenEmits(unlocked('t1/a'))
      .thenSends()
      .thenTimes({ clear: 'held' });
  });

  test('that lets somebody else hold leaves the reminder as it is', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k')))
      .when(release('t1/a'), NOW)
      .thenEmits(unlocked('t1/a'), locked('t2/a', 'k'))
      .thenTimes();
  });

  test('of a place in the line lets those pass that stood behind it', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'k', 'l'), acquire('t3/a', 3, 'l')))
      .when(release('t2/a'), NOW)
      .thenEmits(unlocked('t2/a'), locked('t3/a', 'l'))
      .thenSends(toldHeld('t3/a'));
  });

  test('of what is not held, or of an earlier attempt, changes nothing', () => {
    given().when(release('t1/a'), NOW).thenNothing();
    given(...acted(acquire('t1/a/2', 1, 'k')))
      .when(release('t1/a/1'), NOW)
      .thenNothing();
    given(...acted(acquire('t1/a', 1, 'k')))
      .when(release('t1/b'), NOW)
      .thenNothing();
  });

  test('of a later attempt ends an earlier one', () => {
    given(...acted(acquire('t1/a/1', 1, 'k')))
      .when(release('t1/a/3'), NOW)
      .thenEmits(unlocked('t1/a/1'));
  });
});

describe('the reminder', () => {
  test('tells each holder again that it holds, and none that waits; and it comes again', () => {
    given(...acted(acquire('t1/a', 1, 'k'), acquire('t2/a', 2, 'l'), acquire('t3/a', 3, 'k')))
      .when(reminder, NOW + 20_000)
      .thenEmits()
      .thenSends(toldHeld('t1/a'), toldHeld('t2/a'))
      .thenTimes({ set: 'held', dueAt: NOW + 40_000 });
  });

  test('that comes when nothing is held any more is the last', () => {
    given(...acted(acquire('t1/a', 1, 'k'), release('t1/a')))
      .when(reminder, NOW)
      .thenNothing();
    given().when(reminder, NOW).thenNothing();
  });

  test('and another timer are not the same', () => {
    given(...acted(acquire('t1/a', 1, 'k')))
      .when({ kind: 'timer', name: 'other', data: null }, NOW)
      .thenNothing();
  });
});

describe('a board with as many jobs as it may have', () => {
  const line = Array.from({ length: JOBS_MAX - 1 }, (_, index) => ({
    task: taskId(`t${String(index)}`),
    node: nodeId('a'),
    attempt: 1,
    locks: locks('k'),
    since: index,
  }));
  const full = boardWith({ held: [{ ...job('first/a'), locks: locks('k') }], waiting: line });
  const givenFull = specFor({ ...registryDecider, initial: full })();

  test('tells one more to wait, and does not remember it', () => {
    const behind = ['first/a', ...line.slice(0, 99).map(({ task }) => `${task}/a`)];
    givenFull
      .when(acquire('more/a', JOBS_MAX, 'k'), NOW)
      .thenEmits()
      .thenSends(toldToWait('more/a', ...behind));
    givenFull
      .when(acquire('more/a', 0, 'free'), NOW)
      .thenEmits()
      .thenSends(toldToWait('more/a'));
  });

  test('takes another attempt of one that it has', () => {
    givenFull.when(acquire('t5/a/2', 5, 'k'), NOW).thenEmits(unlocked('t5/a'), queued('t5/a/2', 5, 'k'));
  });

  test('names a hundred jobs at the most, so that the answer is small', () => {
    const made = registryDecider.decide(full, acquire('t9000/a', 9_000, 'k'), { now: NOW });
    expect(informationOf(made)).toMatchObject([{ acquired: false, waitingFor: { length: 100 } }]);
  });
});
