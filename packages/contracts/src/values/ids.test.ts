import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ApprovalId,
  approvalIdOf,
  CommandId,
  commandIdOf,
  EffectId,
  effectIdOf,
  NodeId,
  RepositoryId,
  repositoryIdOf,
  TaskId,
  taskIdFrom,
  TOKEN,
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

test('a command id depends on the kind and on the message id', () => {
  for (const identity of ['', 'a.b >', 'x'.repeat(10_000), '\u0000', 'HP_CMD/1/2']) {
    expect(CommandId.safeParse(commandIdOf('pause', identity)).success).toBe(true);
    expect(commandIdOf('pause', identity)).toBe(commandIdOf('pause', identity));
    expect(commandIdOf('pause', identity)).not.toBe(commandIdOf('resume', identity));
    expect(commandIdOf('pause', identity)).not.toBe(commandIdOf('pause', `${identity}.`));
  }
});
