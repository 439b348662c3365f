import { expect, test } from 'vitest';
import { control } from '../testing/graphs.ts';
import { NOW, TASK } from '../testing/tasks.ts';
import { routedSubmission } from './submission-context.ts';
import type { TaskMessage } from './task/model/messages.ts';
import { taskDecider } from './task/decide.ts';
import { LARGE_NODES } from './task/submit.ts';

const routed = (size: number, isWrong = false) => {
  const nodes = Array.from({ length: size }, (_, at) =>
    control(`n${String(at)}`, { after: at === 0 ? [] : [`n${String(at - 1)}`] }),
  );
  const [first, ...rest] = nodes;
  const wrong = first === undefined ? [] : [{ ...first, after: ['n99999' as never] }, ...rest];
  const definition = { id: 'large', version: '1', nodes: isWrong ? wrong : nodes };
  return routedSubmission({
    kind: 'submit',
    task: TASK,
    payload: { workflow: 'large', goal: 'much', requestedBy: 'linus', definition },
  });
};

test.each([
  [false, []],
  [true, [expect.stringContaining('n99999')]],
])(
  'a large definition is checked in slices, and the decision is the same: with an error %s',
  (wrong, invalid) => {
    const { message, prepare } = routed(10 * LARGE_NODES, wrong);
    const slices = prepare?.();
    let count = 0;
    let slice = slices?.next();
    for (; slice?.done === false; slice = slices?.next()) count += 1;
    // Fifty nodes at a time.
    expect(count).toBeGreaterThanOrEqual((10 * LARGE_NODES) / 50);
    const decided = (by: unknown) => taskDecider.decide(taskDecider.initial, by as TaskMessage, { now: NOW });
    expect(slice?.value).toMatchObject({ invalid });
    expect(decided(slice?.value)).toEqual(decided(message));
  },
);

test('a small definition is checked with the decision', () => {
  expect(routed(LARGE_NODES).prepare).toBeUndefined();
  expect(routed(LARGE_NODES + 1).prepare).toBeDefined();
});
