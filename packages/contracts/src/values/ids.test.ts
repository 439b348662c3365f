import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TOKEN } from '../bus/subjects.ts';
import {
  ApprovalId,
  approvalIdOf,
  CommandId,
  commandIdOf,
  doubtIdOf,
  EffectId,
  effectIdOf,
  newTaskId,
  NodeId,
  orderedUuid,
  RepositoryId,
  repositoryIdOf,
  TaskId,
  taskIdFrom,
  withTimeOf,
} from './ids.ts';

const INJECTIONS = [
  '',
  'a.b',
  '.',
  '*',
  '>',
  'a*',
  'a b',
  ' a',
  'a ',
  'a\tb',
  'a\nb',
  'a\u0000',
  'ä',
  'a/b',
  '$JS',
  'a'.repeat(65),
];
const token = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const id = <Id>(schema: { parse: (value: unknown) => Id }) => token.map((text) => schema.parse(text));

describe.each([
  ['TaskId', TaskId],
  ['NodeId', NodeId],
  ['ApprovalId', ApprovalId],
  ['EffectId', EffectId],
  ['CommandId', CommandId],
])('%s', (_, schema) => {
  test.each(INJECTIONS)('refuses %j', (text) => {
    expect(schema.safeParse(text).success).toBe(false);
  });

  test('an id is one token of a subject', () => {
    fc.assert(fc.property(token, (text) => schema.safeParse(text).success));
    expect(schema.safeParse('a'.repeat(64)).success).toBe(true);
  });
});

test('task ids and registry ids never collide', () => {
  const board = repositoryIdOf('/srv/app');
  expect(RepositoryId.safeParse(board).success).toBe(true);
  expect(TaskId.safeParse(board).success).toBe(false);
  expect(RepositoryId.safeParse(taskIdFrom('submission-1')).success).toBe(false);
});

describe('derived ids', () => {
  const parts = fc.tuple(id(TaskId), id(NodeId), fc.string({ minLength: 1 }));

  test('derived ids are tokens, and equal for equal parts', () => {
    fc.assert(
      fc.property(parts, fc.nat(), ([task, node, key], revision) => {
        const derived = [taskIdFrom(key), approvalIdOf(task, node, revision), effectIdOf(task, node, key)];
        expect(derived.every((text) => TOKEN.test(text))).toBe(true);
        expect([taskIdFrom(key), approvalIdOf(task, node, revision), effectIdOf(task, node, key)]).toEqual(
          derived,
        );
      }),
    );
  });

  test('derived ids differ when any part differs, however the parts are cut', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        // Random draws change all parts at once, so each part is also changed alone.
        const others: readonly (typeof a)[] = [b, [b[0], a[1], a[2]], [a[0], b[1], a[2]], [a[0], a[1], b[2]]];
        const same = others.filter((other) => effectIdOf(...a) === effectIdOf(...other));
        expect(same.filter((other) => other.join('\u0000') !== a.join('\u0000'))).toEqual([]);
      }),
    );
    const cut = (task: string, node: string) => effectIdOf(TaskId.parse(task), NodeId.parse(node), 'k');
    expect(cut('ab', 'c')).not.toBe(cut('a', 'bc'));
  });

  test('derived ids are stable across releases, because running work depends on them', () => {
    const [task, node] = [TaskId.parse('t-1'), NodeId.parse('append')];
    expect(taskIdFrom('submission-1')).toBe('t-2c22fjy2y87r');
    expect(approvalIdOf(task, node, 1)).toBe('a-remm53j6m9');
    expect(effectIdOf(task, node, 't-1/append')).toBe('e-j6tg1bjvw92c3wnk');
  });

  test('an effect keeps its id over all attempts and revisions', () => {
    expect(effectIdOf).toHaveLength(3);
    const [task, node] = [TaskId.parse('t-1'), NodeId.parse('append')];
    expect(approvalIdOf(task, node, 1)).not.toBe(approvalIdOf(task, node, 2));
  });
});

describe('ids of one time are neighbours', () => {
  const TICK_MS = 128;
  const time = fc.integer({ min: 0, max: 2 ** 35 * TICK_MS - 1 });
  const node = NodeId.parse('append');
  const idsAt = (ms: number) => {
    const task = taskIdFrom(orderedUuid(ms));
    return [task, approvalIdOf(task, node, 1), effectIdOf(task, node, 'key')];
  };

  test('the ids of a task have its time, and later ones are greater', () => {
    fc.assert(
      fc.property(time, time, (a, b) => {
        fc.pre(Math.floor(a / TICK_MS) < Math.floor(b / TICK_MS));
        const later = idsAt(b);
        expect(idsAt(a).every((id, index) => TOKEN.test(id) && id < (later[index] ?? ''))).toBe(true);
        expect(new Set(later.map((id) => id.slice(2, 9))).size).toBe(1);
      }),
    );
  });

  test('a question about a later effect has a greater id', () => {
    const [early, late] = [1_000_000, 2_000_000].map((ms) => {
      const task = taskIdFrom(orderedUuid(ms));
      return doubtIdOf(effectIdOf(task, node, 'key'), 1);
    });
    expect(String(early) < String(late)).toBe(true);
  });

  test('two ids of one moment differ', () => {
    const ids = Array.from({ length: 1_000 }, () => taskIdFrom(orderedUuid(1_000_000)));
    expect(new Set(ids).size).toBe(1_000);
    expect(newTaskId()).not.toBe(newTaskId());
  });

  test('a text behind the UUID of a key keeps its time', () => {
    const key = orderedUuid(1_000_000);
    expect(taskIdFrom(withTimeOf(key, 'digest')).slice(0, 9)).toBe(taskIdFrom(key).slice(0, 9));
    expect(withTimeOf('order-17', 'digest')).toBe('digest');
  });

  test('ids stay the same in all releases', () => {
    const task = taskIdFrom('019b76da-a800-7000-8000-000000000001');
    expect([task, approvalIdOf(task, node, 1), effectIdOf(task, node, 'key')]).toEqual([
      't-cvevdagyf1n4gy21s',
      'a-cvevdag0qp82d3b5n',
      'e-cvevdag80zmnkakmt',
    ]);
  });
});

test('a command id depends on the kind and on the message id', () => {
  for (const identity of ['', 'a.b >', 'x'.repeat(10_000), '\u0000', 'HP_CMD/1/2']) {
    expect(CommandId.safeParse(commandIdOf('pause', identity)).success).toBe(true);
    expect(commandIdOf('pause', identity)).toBe(commandIdOf('pause', identity));
    expect(commandIdOf('pause', identity)).not.toBe(commandIdOf('resume', identity));
    expect(commandIdOf('pause', identity)).not.toBe(commandIdOf('pause', `${identity}.`));
  }
});
