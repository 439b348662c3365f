import { describe, expect, test } from 'vitest';
import { approves, breaks, fails, succeeds } from '../../testing/answers.ts';
import { effect, gate, id, node } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { byHand, recover } from '../../testing/tasks.ts';

type Retry = NonNullable<Parameters<typeof gate>[1]>['retry'];
/** a → work → check, with a route back to work. */
const looping = (retry?: Retry, more: Parameters<typeof gate>[1] = {}) =>
  play([
    node('a'),
    node('work', { after: ['a'] }),
    gate('check', { after: ['work'], on: { failed: ['work'] }, ...(retry && { retry }), ...more }),
    node('last', { after: ['check'] }),
    node('beside'),
  ]).when(succeeds('a'));
const round = [succeeds('work'), fails('check', { exitCode: 1 })] as const;
const rounds = (count: number) => Array.from({ length: count }, () => round).flat();

describe('a route back', () => {
  test('a route back restarts its target and everything downstream with the next attempt', () => {
    const loop = looping().when(...round);
    expect(loop.said).toEqual(['restarted work,check', 'step_ordered work.run#2']);
    expect(loop.task.definition.nodes.map((each) => loop.node(each.id).attempt)).toEqual([1, 2, 2, 1, 1]);
    expect(loop.statusOf('a', 'last', 'beside')).toEqual(['succeeded', 'idle', 'running']);
  });

  test('a route back restarts exactly the touched nodes downstream', () => {
    const task = play([
      node('work'),
      node('side', { after: ['work'] }),
      node('later', { after: ['side'] }),
      gate('check', { after: ['work'], on: { failed: ['work'] } }),
    ]).when(succeeds('work'), fails('check'));
    expect(task.said).toEqual(['restarted work,side,check', 'step_ordered work.run#2']);
    expect(task.node('later').attempt).toBe(1);
  });

  test('a route back withdraws the orders downstream', () => {
    const task = play([
      node('work'),
      node('side', { after: ['work'] }),
      gate('check', { after: ['work'], on: { failed: ['work'] } }),
    ]).when(succeeds('work'));
    const [order] = Object.keys(task.node('side').orders ?? {});
    const back = task.when(fails('check'));
    expect(back.sent('effect.cancel').map(({ data }) => data)).toMatchObject([{ id: order, attempt: 1 }]);
    expect([...back.timers.keys()].filter((name) => name.includes('side'))).toEqual([
      `withdraw:side:${String(order)}`,
    ]);
  });

  test('a route back may lead to the node itself and to the first node', () => {
    const itself = play([node('only', { on: { failed: ['only'] } })]).when(fails('only'));
    expect(itself.said).toEqual(['restarted only', 'step_ordered only.run#2']);
    expect(itself.task.phase).toBe('executing');
  });

  test('a route back passes the output of the check on as a hint', () => {
    const loop = looping().when(succeeds('work'), fails('check', { hint: 'line 3 is wrong' }));
    expect(loop.node('work').hint).toBe('line 3 is wrong');
    const [order] = loop.sent('effect.run');
    expect(order?.data).toMatchObject({ effect: { args: { hint: 'line 3 is wrong' } } });
  });

  test('a route back passes the exit code on without other output', () => {
    expect(
      looping()
        .when(...round)
        .node('work').hint,
    ).toBe('exit code 1');
  });

  test('a route of another outcome is not taken', () => {
    expect(looping().when(succeeds('work'), succeeds('check')).said).toEqual([
      'node_succeeded check.run',
      'step_ordered last.run',
    ]);
  });
});

describe('a retry budget', () => {
  test.each([0, 1, 2, 5])('a budget of %i means so many retries and one run more', (budget) => {
    const spent = looping({ mode: 'until_gate', budget }).when(...rounds(budget + 1));
    expect(spent.node('check').attempt).toBe(budget + 1);
    expect(spent.said.slice(0, 1)).toEqual([
      `node_ended check.run${budget > 0 ? `#${String(budget + 1)}` : ''} blocked`,
    ]);
  });

  test('the default budget is three', () => {
    const spent = looping().when(...rounds(3));
    expect(spent.statusOf('check')).toEqual(['idle']);
    expect(spent.when(...round).said.slice(0, 1)).toEqual(['node_ended check.run#4 failed']);
  });

  test('a used-up budget blocks an until_gate gate and fails any other', () => {
    const until = looping({ mode: 'until_gate', budget: 1 }).when(...rounds(2));
    expect(until.said.at(-1)).toBe('failed blocked');
    expect(until.task.error).toMatchObject({
      code: 'NODE_BLOCKED',
      message: expect.stringMatching(/exit code 1, and its 1 retries are used up/) as string,
      details: { node: 'check' },
    });
    expect(
      looping({ mode: 'never', budget: 1 })
        .when(...rounds(2))
        .said.at(-1),
    ).toBe('failed failed');
  });

  test("an operator's retry starts a new budget", () => {
    const spent = looping({ mode: 'until_gate', budget: 1 }).when(...rounds(2));
    const again = spent.when(byHand('retry', { node: id('work'), rewind: true }));
    expect(again.task.phase).toBe('executing');
    expect(again.when(...round).said).toEqual(['restarted work,check', 'step_ordered work.run#4']);
    expect(again.when(...rounds(2)).said.at(-1)).toBe('failed blocked');
  });

  test('attempts that recovery grants do not use the budget', () => {
    const loop = looping({ mode: 'until_gate', budget: 1 })
      .when(breaks('work'), recover('retry', { node: id('work') }))
      .wait(1);
    expect(loop.node('work')).toMatchObject({ status: 'running', attempt: 2 });
    expect(loop.when(...round).said[0]).toBe('restarted work,check');
  });
});

describe('an effect within a loop', () => {
  const task = play([effect('deploy'), gate('check', { after: ['deploy'], on: { failed: ['deploy'] } })]);

  test('each round requests approval again with another revision', () => {
    const again = task.when(approves('deploy'), succeeds('deploy'), fails('check'));
    expect(again.said).toEqual(['restarted deploy,check', 'approval_requested deploy#2']);
    expect(again.node('deploy')).toMatchObject({ revision: 2, attempt: 2, status: 'awaiting_approval' });
  });
});
