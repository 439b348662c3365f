import { describe, expect, test } from 'vitest';
import { blocks, fails, rejects, succeeds } from '../../testing/answers.ts';
import { APPROVAL, chain, control, gate, id, node } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { byHand } from '../../testing/tasks.ts';

const CONTINUE = { policy: { failureMode: 'continue_independent' } } as const;

describe('after', () => {
  test('a node starts when its dependency has succeeded', () => {
    const task = play(chain('a', 'b'));
    expect(task.said).toEqual(['submitted', 'ready', 'step_ordered a.run']);
    expect(task.when(succeeds('a')).said).toEqual(['node_succeeded a.run', 'step_ordered b.run']);
  });

  test('a node waits for all of its dependencies, in any order', () => {
    const task = play([node('a'), node('b'), node('c', { after: ['a', 'b'] })]);
    for (const [one, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const first = task.when(succeeds(one));
      expect(first.statusOf('c')).toEqual(['idle']);
      expect(first.when(succeeds(other)).statusOf('c')).toEqual(['running']);
    }
  });

  test('a skipped dependency counts as done', () => {
    const task = play([node('a', { guard: 'inputs.no' }), node('b', { after: ['a'] })], {
      inputs: { no: false },
    });
    expect(task.said).toEqual(['submitted', 'ready', 'node_skipped a', 'step_ordered b.run']);
  });

  test('a node that the orchestrator ends advances the task at once', () => {
    const done = play([
      control('a'),
      control('b', { after: ['a'] }),
      node('end', { uses: 'control.terminal', after: ['b'] }),
    ]);
    expect(done.said).toEqual([
      'submitted',
      'ready',
      'node_succeeded a',
      'node_succeeded b',
      'node_succeeded end',
      'completed',
    ]);
  });
});

describe('routes', () => {
  test('on.succeeded equals `after` on the other node', () => {
    const task = play([node('a', { on: { succeeded: ['b'] } }), node('b')]);
    expect(task.statusOf('a', 'b')).toEqual(['running', 'idle']);
    expect(task.when(succeeds('a')).statusOf('b')).toEqual(['running']);
  });

  test('a target of several routes waits for all of them', () => {
    const task = play([
      node('a', { on: { succeeded: ['c'] } }),
      node('b', { on: { succeeded: ['c'] } }),
      node('c'),
    ]);
    expect(task.when(succeeds('a')).statusOf('c')).toEqual(['idle']);
    expect(task.when(succeeds('a'), succeeds('b')).statusOf('c')).toEqual(['running']);
  });

  test.each([
    ['failed', fails],
    ['blocked', blocks],
  ] as const)('on.%s: the target runs only after that outcome', (outcome, ends) => {
    const task = play([
      node('a', { on: { [outcome]: ['handler'] } }),
      node('handler'),
      node('b', { after: ['a'] }),
    ]);
    expect(task.when(ends('a')).said).toContain('step_ordered handler.run');
    expect(task.when(succeeds('a')).said).toEqual([
      'node_succeeded a.run',
      'step_ordered b.run',
      'node_ended handler unreached',
    ]);
    const other = outcome === 'failed' ? blocks : fails;
    expect(task.when(other('a')).statusOf('handler')).not.toEqual(['running']);
  });

  test('on.cancelled: the target runs after its node is cancelled by an operator', () => {
    const task = play([node('a', { on: { cancelled: ['handler'] } }), node('handler')]);
    const cancelled = task.when(byHand('cancel', { node: id('a') }));
    expect(cancelled.said).toEqual(['node_ended a cancelled', 'step_ordered handler.run']);
  });

  test('one taken alternative is enough', () => {
    const task = play([
      node('a', { on: { failed: ['handler'] } }),
      node('b', { on: { failed: ['handler'] } }),
      node('handler'),
    ]);
    expect(task.when(fails('a')).statusOf('handler', 'b')).toEqual(['running', 'running']);
    const other = task.when(succeeds('a'));
    expect(other.statusOf('handler')).toEqual(['idle']);
    expect(other.when(fails('b')).statusOf('handler')).toEqual(['running']);
    expect(other.when(succeeds('b')).said).toEqual([
      'node_succeeded b.run',
      'node_ended handler unreached',
      'completed',
    ]);
  });

  test('a target of both outcomes runs either way', () => {
    const task = play([gate('check', { on: { succeeded: ['go'], failed: ['go'] } }), node('go')]);
    expect(task.when(succeeds('check')).statusOf('go')).toEqual(['running']);
    expect(task.when(fails('check')).statusOf('go')).toEqual(['running']);
    expect(task.when(blocks('check')).statusOf('go')).not.toEqual(['running']);
  });

  test('a dependent of an unreached node is unreached, and the task completes', () => {
    const task = play([
      node('a', { on: { failed: ['handler'] } }),
      node('handler'),
      node('report', { after: ['handler'] }),
    ]);
    expect(task.when(succeeds('a')).said).toEqual([
      'node_succeeded a.run',
      'node_ended handler unreached',
      'node_ended report unreached',
      'completed',
    ]);
  });

  test('a handled failure fails the task once all nodes have ended', () => {
    const task = play([node('a', { on: { failed: ['handler'] } }), node('handler')]).when(
      fails('a', { exitCode: 7 }),
    );
    expect(task.task.phase).toBe('executing');
    const over = task.when(succeeds('handler'));
    expect(over.said).toEqual(['node_succeeded handler.run', 'failed failed']);
    expect(over.task).toMatchObject({
      phase: 'failed',
      outcome: 'failed',
      error: { code: 'NODE_FAILED', details: { node: 'a' } },
    });
  });
});

describe('a dependency that did not succeed', () => {
  test('a failed dependency blocks its dependents with their own error code', () => {
    const task = play([...chain('a', 'b', 'c'), node('beside')], CONTINUE).when(fails('a'));
    expect(task.said).toEqual(['node_ended a.run failed', 'node_ended b blocked', 'node_ended c blocked']);
    expect(task.node('b').error).toMatchObject({
      code: 'NODE_DEPENDENCY',
      message: 'dependency t-1/a failed',
    });
    expect(task.node('c').error).toMatchObject({ message: 'dependency t-1/b blocked' });
  });

  test('a rejected dependency blocks in the same way', () => {
    const task = play(
      [node('a', { approval: APPROVAL }), node('b', { after: ['a'] }), node('beside')],
      CONTINUE,
    );
    expect(task.when(rejects('a')).said).toEqual([
      'approval_closed a rejected',
      'node_blocked a',
      'node_ended b blocked',
    ]);
  });

  test('a failed dependency blocks at once, without waiting for the others', () => {
    const task = play([node('a'), node('b'), node('c', { after: ['a', 'b'] })], CONTINUE);
    expect(task.when(fails('a')).statusOf('b', 'c')).toEqual(['running', 'idle']);
    expect(task.when(fails('a'), succeeds('b')).said).toEqual([
      'node_succeeded b.run',
      'node_ended c blocked',
      'failed failed',
    ]);
  });
});

describe('failure_mode', () => {
  const nodes = [node('a'), node('b'), node('c', { after: ['b'] })];

  test('block_downstream: after a failure without a route nothing starts, and running orders are withdrawn', () => {
    const over = play(nodes).when(fails('a', { exitCode: 3 }));
    expect(over.said).toEqual(['node_ended a.run failed', 'failed failed']);
    expect(over.statusOf('b', 'c')).toEqual(['cancelled', 'blocked']);
    expect(over.sent('effect.cancel')).toHaveLength(1);
    expect(over.task.error).toEqual({ code: 'NODE_FAILED', message: 'exit code 3', details: { node: 'a' } });
  });

  test('continue_independent: independent nodes continue, and the task fails in the end', () => {
    const on = play(nodes, CONTINUE).when(fails('a'));
    expect(on.said).toEqual(['node_ended a.run failed']);
    const over = on.when(succeeds('b'), succeeds('c'));
    expect(over.said).toEqual(['node_succeeded c.run', 'failed failed']);
    expect(over.task.outcome).toBe('failed');
  });

  test('a task with only blocked nodes ends as blocked', () => {
    expect(
      play(nodes)
        .when(blocks('a', { detail: 'a conflict' }))
        .said.at(-1),
    ).toBe('failed blocked');
    const on = play(nodes, CONTINUE).when(blocks('a'), succeeds('b'), succeeds('c'));
    expect(on.said.at(-1)).toBe('failed blocked');
  });
});

describe('guard', () => {
  const inputs = { env: 'staging', none: [], text: 'x' };
  test.each([
    ["inputs.env == 'staging'", 'running'],
    ["inputs.env == 'live'", 'skipped'],
    ['inputs.nothing', 'skipped'],
    ['inputs.none', 'skipped'],
    ['nodes.a.outputs.digest', 'skipped'],
    ["nodes.a.status == 'succeeded'", 'running'],
  ])('%s: %s', (guard, status) => {
    const task = play([node('a'), node('b', { after: ['a'], guard })], { inputs }).when(succeeds('a'));
    expect(task.statusOf('b')).toEqual([status]);
  });

  test('a false guard is shown in the reason', () => {
    const task = play([node('a', { guard: 'inputs.no' }), node('b')]);
    expect(task.node('a').reason).toBe('guard is false: inputs.no');
  });

  test('an invalid guard fails the node', () => {
    const task = play([node('a'), node('b', { after: ['a'], guard: 'nodes.a.outputs.n / 0' })]).when(
      succeeds('a', { outputs: { n: 1 } }),
    );
    expect(task.said).toEqual(['node_succeeded a.run', 'node_ended b failed', 'failed failed']);
    expect(task.node('b').error?.code).toBe('NODE_EXPRESSION');
  });

  test('the guard is evaluated again in the next attempt', () => {
    const task = play([
      node('a'),
      node('b', { after: ['a'], guard: 'nodes.a.outputs.go' }),
      gate('check', { after: ['b'], on: { failed: ['a'] } }),
    ]).when(succeeds('a', { outputs: { go: false } }), fails('check'));
    expect(task.node('b')).toMatchObject({ status: 'idle', attempt: 2 });
    expect(task.when(succeeds('a', { outputs: { go: true } })).statusOf('b')).toEqual(['running']);
  });
});

describe('context', () => {
  const contextOf = (data: object | undefined) =>
    (data as { effect: { args: { context: object } } } | undefined)?.effect.args.context;

  test('the context follows `after` and routes, and shows where a node works', () => {
    const task = play([
      node('prepare', { on: { succeeded: ['b'] } }),
      node('b'),
      node('c', { after: ['b'] }),
    ]).when(succeeds('prepare', { context: { worktree: 'w1', branch: 'draft/x' } }));
    expect(contextOf(task.sent('effect.run')[0]?.data)).toEqual({ worktree: 'w1', branch: 'draft/x' });
    const next = task.when(succeeds('b', { context: { commit: 'abc' } }));
    expect(contextOf(next.sent('effect.run')[0]?.data)).toEqual({
      worktree: 'w1',
      branch: 'draft/x',
      commit: 'abc',
    });
  });

  test('a field that a step removes is gone for later nodes', () => {
    const task = play(chain('a', 'b', 'c')).when(
      succeeds('a', { context: { worktree: 'w1', slug: 's' } }),
      succeeds('b', { context: { worktree: null } }),
    );
    expect(contextOf(task.sent('effect.run')[0]?.data)).toEqual({ slug: 's' });
  });

  test('the context survives a loop, so a retry works in the same place', () => {
    const task = play([
      node('prepare'),
      node('work', { after: ['prepare'] }),
      gate('check', { after: ['work'], on: { failed: ['work'] } }),
    ]).when(succeeds('prepare', { context: { worktree: 'w1' } }), succeeds('work'), fails('check'));
    expect(contextOf(task.sent('effect.run')[0]?.data)).toEqual({ worktree: 'w1' });
  });

  test('the context passes through skipped nodes', () => {
    const task = play([
      node('prepare'),
      node('b', { after: ['prepare'], guard: 'inputs.no' }),
      node('c', { after: ['b'] }),
    ]).when(succeeds('prepare', { context: { worktree: 'w1' } }));
    expect(contextOf(task.sent('effect.run')[0]?.data)).toEqual({ worktree: 'w1' });
  });

  test.each([
    ['that has failed', fails('b'), 'failed'],
    ['that is cancelled by hand', byHand('cancel', { node: id('b') }), 'cancelled'],
  ] as const)('a clean-up node gets the context after a node %s', (_, how, outcome) => {
    const task = play([
      node('prepare'),
      node('b', { after: ['prepare'], on: { [outcome]: ['cleanup'] } }),
      node('cleanup'),
    ]).when(succeeds('prepare', { context: { worktree: 'w1' } }), how);
    expect(contextOf(task.sent('effect.run')[0]?.data)).toEqual({ worktree: 'w1' });
  });

  test('a clean-up node gets the context after a rejection or a failed dependency', () => {
    const refused = play([
      node('prepare'),
      node('b', { after: ['prepare'], approval: APPROVAL, on: { blocked: ['cleanup'] } }),
      node('cleanup'),
    ]).when(succeeds('prepare', { context: { worktree: 'w1' } }), rejects('b'));
    expect(contextOf(refused.sent('effect.run')[0]?.data)).toEqual({ worktree: 'w1' });
    const dependent = play(
      [...chain('prepare', 'a'), node('b', { after: ['a'], on: { blocked: ['cleanup'] } }), node('cleanup')],
      CONTINUE,
    ).when(succeeds('prepare', { context: { worktree: 'w1' } }), fails('a'));
    expect(contextOf(dependent.sent('effect.run')[0]?.data)).toEqual({ worktree: 'w1' });
  });
});
