import { describe, expect, test } from 'vitest';
import { applied, approves, blocks, breaks, fails, givesUp, succeeds } from '../../testing/answers.ts';
import { APPROVAL, control, effect, gate, id, node, step } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { byHand, recover } from '../../testing/tasks.ts';

const around = { before: [step('one'), step('two')], afterwards: [step('three')], finally: [step('four')] };

describe('before, afterwards, finally', () => {
  test('the steps run around the work in turn', () => {
    const task = play([node('a', around)]);
    expect(task.said).toEqual(['submitted', 'ready', 'step_ordered a.before.0']);
    const orders = ['before.1', 'run', 'afterwards.0', 'finally.0'];
    let reached = task;
    for (const next of orders) {
      reached = reached.when(succeeds('a'));
      expect(reached.said.at(-1)).toBe(`step_ordered a.${next}`);
    }
    expect(reached.when(succeeds('a')).said).toEqual([
      'step_ended a.finally.0',
      'node_succeeded a',
      'completed',
    ]);
  });

  test('the result of the node is that of the main step', () => {
    const one = play([node('a', around)]).when(
      succeeds('a'),
      succeeds('a'),
      succeeds('a', { outputs: { n: 1 }, exitCode: 0 }),
    );
    const over = one.when(succeeds('a', { outputs: { n: 2 } }), succeeds('a', { outputs: { n: 3 } }));
    expect(over.node('a')).toMatchObject({ status: 'succeeded', outputs: { n: 1 }, exitCode: 0 });
  });

  test('a failure in `before` skips the work and `afterwards`, but not `finally`', () => {
    const task = play([node('a', around)]).when(fails('a', { detail: 'not ready' }));
    expect(task.said).toEqual(['step_ended a.before.0', 'step_ordered a.finally.0']);
    const over = task.when(succeeds('a'));
    expect(over.said).toEqual(['step_ended a.finally.0', 'node_ended a failed', 'failed failed']);
    expect(over.node('a').reason).toBe('not ready');
  });

  test('a failure of the work skips `afterwards`', () => {
    const task = play([node('a', around)]).when(
      succeeds('a'),
      succeeds('a'),
      blocks('a', { detail: 'in the way' }),
    );
    expect(task.said.at(-1)).toBe('step_ordered a.finally.0');
    expect(task.when(succeeds('a')).node('a')).toMatchObject({ status: 'blocked', reason: 'in the way' });
  });

  test('a failure in `afterwards` fails the node', () => {
    const task = play([node('a', around)]).when(
      succeeds('a'),
      succeeds('a'),
      succeeds('a'),
      fails('a', { detail: 'late' }),
    );
    expect(task.when(succeeds('a')).node('a')).toMatchObject({ status: 'failed', reason: 'late' });
  });

  test('a failure in `finally` fails a successful node and hides no other failure', () => {
    const only = { finally: [step('four')] };
    const ended = play([node('a', only)]).when(succeeds('a'), fails('a', { detail: 'no cleanup' }));
    expect(ended.node('a')).toMatchObject({ status: 'failed', reason: 'no cleanup' });
    const first = play([node('a', only)]).when(
      fails('a', { detail: 'the work' }),
      fails('a', { detail: 'no cleanup' }),
    );
    expect(first.node('a')).toMatchObject({ status: 'failed', reason: 'the work' });
  });

  test('the context is as the last step left it', () => {
    const task = play([node('a', { finally: [step('cleanup')] }), node('b', { after: ['a'] })]).when(
      succeeds('a', { context: { worktree: 'w1', slug: 's' } }),
      succeeds('a', { context: { worktree: null } }),
    );
    expect(task.sent('effect.run')[0]?.data).toMatchObject({ effect: { args: { context: { slug: 's' } } } });
    expect(task.node('a').context).toEqual({ slug: 's' });
  });

  test('the steps run around a control node as well', () => {
    const task = play([control('a', { before: [step('one')] })]);
    expect(task.said.at(-1)).toBe('step_ordered a.before.0');
    expect(task.when(succeeds('a')).said).toEqual(['step_ended a.before.0', 'node_succeeded a', 'completed']);
  });

  test('only the effect among the steps needs the grant, and it is ordered once', () => {
    const task = play([effect('a', { before: [step('one')], afterwards: [step('two')] })]).when(
      approves('a'),
    );
    expect(task.said).toEqual(['approval_closed a approved', 'step_ordered a.before.0']);
    expect(task.sent('effect.run')[0]?.data).not.toHaveProperty('grant');
    const ordered = task.when(succeeds('a'));
    expect(ordered.said).toEqual(['step_ended a.before.0', 'effect_ordered a']);
    expect(ordered.sent('effect.run')[0]?.data).toHaveProperty('grant');
    expect(ordered.when(byHand('pause'), byHand('resume')).said).toEqual(['resumed']);
    const after = ordered.when(applied('a'));
    expect(after.said).toEqual(['step_ended a.run', 'step_ordered a.afterwards.0']);
    expect(after.when(succeeds('a')).said.slice(-2)).toEqual(['node_succeeded a', 'completed']);
  });

  test('an unordered or applied effect is not withdrawn', () => {
    const task = play([effect('a', { before: [step('one')], afterwards: [step('two')] })]).when(
      approves('a'),
    );
    const early = task.when(fails('a'));
    expect(early.sent('effect.cancel')).toEqual([]);
    const late = task.when(succeeds('a'), applied('a'), fails('a'));
    expect(late.said).toContain('node_ended a failed');
    expect(late.sent('effect.cancel')).toEqual([]);
  });

  test('a pause defers the next step, not the running one', () => {
    const paused = play([node('a', around)]).when(byHand('pause'), succeeds('a'));
    expect(paused.said).toEqual(['step_ended a.before.0']);
    expect(paused.when(byHand('resume')).said).toEqual(['resumed', 'step_ordered a.before.1']);
  });
});

describe('for_each', () => {
  const each = (shape: object = {}) =>
    play([node('a', { forEach: 'inputs.services', args: { name: '{{ item }}' }, ...shape })], {
      inputs: { services: ['x', 'y', 'z'], none: [], word: 'x' },
    });

  test('for_each runs each item in turn with the item filled in', () => {
    const task = each();
    expect(task.said.slice(2)).toEqual(['node_started a', 'step_ordered a.run.0.0']);
    expect(task.sent('effect.run')[0]?.data).toMatchObject({ effect: { args: { with: { name: 'x' } } } });
    const next = task.when(succeeds('a'));
    expect(next.said).toEqual(['step_ended a.run.0.0', 'step_ordered a.run.1.0']);
    expect(next.sent('effect.run')[0]?.data).toMatchObject({ effect: { args: { with: { name: 'y' } } } });
  });

  test('for_each runs at most `parallel` items at a time', () => {
    const task = each({ parallel: 2 });
    expect(task.said.slice(3)).toEqual(['step_ordered a.run.0.0', 'step_ordered a.run.1.0']);
    const next = task.when(succeeds('a', {}, 'run.1.0'));
    expect(next.said).toEqual(['step_ended a.run.1.0', 'step_ordered a.run.2.0']);
    expect(next.when(succeeds('a', {}, 'run.0.0')).said).toEqual(['step_ended a.run.0.0']);
  });

  test('for_each returns the outputs of all items in order', () => {
    const over = each({ parallel: 3 }).when(
      succeeds('a', { outputs: { n: 3 } }, 'run.2.0'),
      succeeds('a', { outputs: { n: 1 } }, 'run.0.0'),
      succeeds('a', { outputs: { n: 2 }, exitCode: 0 }, 'run.1.0'),
    );
    expect(over.node('a').outputs).toEqual({ items: [{ n: 1 }, { n: 2, exit_code: 0 }, { n: 3 }] });
  });

  test('after a failed item nothing starts, running items end, and the node fails', () => {
    const task = each({ parallel: 2 }).when(fails('a', { detail: 'first' }, 'run.0.0'));
    expect(task.said).toEqual(['step_ended a.run.0.0']);
    const over = task.when(succeeds('a'));
    expect(over.said).toEqual(['step_ended a.run.1.0', 'node_ended a failed', 'failed failed']);
    expect(over.node('a').reason).toBe('first');
  });

  test('for_each over an empty list succeeds', () => {
    const none = each({ forEach: 'inputs.none' });
    expect(none.said.slice(2)).toEqual(['node_started a', 'node_succeeded a', 'completed']);
    expect(none.node('a').outputs).toEqual({ items: [] });
  });

  test.each(['inputs.word', 'inputs.nothing', 'inputs.services / 2'])(
    '%s is no list, so the node fails',
    (forEach) => {
      const over = each({ forEach });
      expect(over.said.slice(2)).toEqual(['node_ended a failed', 'failed failed']);
      expect(over.node('a').error?.code).toBe('NODE_EXPRESSION');
    },
  );

  test('more than a thousand items are refused', () => {
    const over = play([node('a', { forEach: 'inputs.many' })], {
      inputs: { many: Array.from({ length: 1_001 }, () => 1) },
    });
    expect(over.node('a').error?.message).toMatch(/1001 items, at most 1000/);
  });

  test('a step that did not run withdraws the others, and the next attempt starts over', () => {
    const broken = each({ parallel: 2 }).when(breaks('a', undefined, 'run.0.0'));
    expect(broken.sent('effect.cancel')).toHaveLength(1);
    const again = broken.when(recover('retry', { node: id('a') })).wait(1);
    expect(again.said.slice(-2)).toEqual(['step_ordered a.run.0.0#2', 'step_ordered a.run.1.0#2']);
  });
});

describe('until', () => {
  const until = (shape: object = {}) => play([node('a', { until: 'outputs.healthy', ...shape })]);

  test('until repeats the work until its condition holds', () => {
    const task = until().when(succeeds('a', { outputs: { healthy: false } }));
    expect(task.said).toEqual(['step_ended a.run.0.0', 'step_ordered a.run.0.1']);
    const over = task.when(succeeds('a', { outputs: { healthy: true, n: 2 } }));
    expect(over.said).toEqual(['step_ended a.run.0.1', 'node_succeeded a', 'completed']);
    expect(over.node('a').outputs).toEqual({ healthy: true, n: 2 });
  });

  test.each([
    [undefined, 3],
    [0, 0],
    [2, 2],
  ])('until with a budget of %s makes %i retries and then fails', (budget, retries) => {
    let task = until(budget === undefined ? {} : { retry: { mode: 'never', budget } });
    for (let count = 0; count < retries; count += 1) {
      task = task.when(succeeds('a'));
      expect(task.said.at(-1)).toBe(`step_ordered a.run.0.${String(count + 1)}`);
    }
    const over = task.when(succeeds('a'));
    expect(over.said.slice(1)).toEqual(['node_ended a failed', 'failed failed']);
    expect(over.node('a').reason).toMatch(new RegExp(`did not hold after ${String(retries + 1)} runs`));
  });

  test('until does not repeat a failed run', () => {
    expect(until().when(fails('a')).said).toEqual([
      'step_ended a.run.0.0',
      'node_ended a failed',
      'failed failed',
    ]);
  });

  test('until is evaluated per item', () => {
    const task = play([node('a', { forEach: 'inputs.l', until: 'outputs.n == item', parallel: 2 })], {
      inputs: { l: [1, 2] },
    }).when(succeeds('a', { outputs: { n: 1 } }, 'run.0.0'), succeeds('a', { outputs: { n: 1 } }, 'run.1.0'));
    expect(task.said).toEqual(['step_ended a.run.1.0', 'step_ordered a.run.1.1']);
    expect(task.when(succeeds('a', { outputs: { n: 2 } })).said.slice(1)).toEqual([
      'node_succeeded a',
      'completed',
    ]);
  });

  test('an invalid until condition fails the node', () => {
    const over = until({ until: 'outputs.n / 0 > 1' }).when(succeeds('a', { outputs: { n: 1 } }));
    expect(over.node('a').error?.code).toBe('NODE_EXPRESSION');
  });
});

describe('on_error', () => {
  const strategy = (onError: object, more: object = {}) =>
    play([
      node('a', {
        onError: { strategy: 'retry', maxRetries: 2, backoff: 'fixed', delayMs: 1_000, ...onError },
        ...more,
      }),
    ]);

  test('fail: a failure is final, even one that recovery would repeat', () => {
    expect(strategy({ strategy: 'fail' }).when(fails('a')).said).toEqual([
      'node_ended a.run failed',
      'failed failed',
    ]);
    expect(strategy({ strategy: 'fail' }).when(breaks('a')).said).toEqual([
      'node_ended a.run failed',
      'failed failed',
    ]);
  });

  test('retry, fixed: each retry follows after the same delay', () => {
    let task = strategy({});
    for (const attempt of [2, 3]) {
      task = task.when(fails('a'));
      expect(task.said).toEqual([`node_retrying a#${String(attempt)}`]);
      expect(task.timers.get('retry:a')?.dueAt).toBe(task.now + 1_000);
      expect(task.wait(999).statusOf('a')).toEqual(['retrying']);
      task = task.wait(1_000);
      expect(task.said).toEqual([`step_ordered a.run#${String(attempt)}`]);
    }
    expect(task.when(fails('a')).said).toEqual(['node_ended a.run#3 failed', 'failed failed']);
  });

  test('retry, exponential: the delay doubles up to an hour', () => {
    let task = strategy({ backoff: 'exponential', delayMs: 900_000, maxRetries: 9 });
    for (const delay of [900_000, 1_800_000, 3_600_000, 3_600_000]) {
      task = task.when(fails('a'));
      expect(task.made.events).toMatchObject([{ type: 'node_retrying', delayMs: delay }]);
      task = task.wait(delay);
    }
  });

  test('pause: recovery gives the job up, an operator is asked, and a retry is another attempt', () => {
    const failed = strategy({ strategy: 'pause' }).when(fails('a', { detail: 'odd' }));
    const reason = 'failed, and its template wants an operator to decide: odd';
    expect(failed.said).toEqual(['node_failed a.run failed']);
    expect(failed.sent('recovery.assess')).toMatchObject([
      { data: { node: 'a', attempt: 1, paused: reason } },
    ]);
    const paused = failed.when(givesUp('a'));
    expect(paused.said).toEqual(['node_escalated a', 'stuck_asked a']);
    expect(paused.sent('approval.request')).toMatchObject([{ data: { node: 'a', audience: ['operators'] } }]);
    expect(paused.task.phase).toBe('paused');
    expect(paused.when(byHand('retry')).said).toEqual(['node_retrying a#2', 'step_ordered a.run#2']);
    expect(paused.when(byHand('skip', { node: id('a') })).said.slice(-2)).toEqual([
      'node_skipped a',
      'completed',
    ]);
  });

  test('a blocked result is no failure and is not retried', () => {
    expect(strategy({}).when(blocks('a')).said).toEqual(['node_ended a.run blocked', 'failed blocked']);
  });

  test('without on_error recovery judges steps that did not run, and failures are final', () => {
    const plain = play([node('a')]);
    expect(plain.when(breaks('a')).said).toEqual(['node_failed a.run failed']);
    expect(plain.when(fails('a')).said).toEqual(['node_ended a.run failed', 'failed failed']);
  });

  test('a failure that a retry would repeat does not go to recovery', () => {
    const over = play([node('a')]).when(breaks('a', 'EXECUTOR_UNKNOWN_CAPABILITY'));
    expect(over.said).toEqual(['node_ended a.run failed', 'failed failed']);
    expect(over.node('a').reason).toBe('EXECUTOR_UNKNOWN_CAPABILITY: no');
  });
});

describe('retry.mode = on_failure', () => {
  test.each([
    [{ mode: 'on_failure', budget: 1 }, 1],
    [{ mode: 'on_failure' }, 3],
  ] as const)('retry.mode = on_failure with %j makes so many retries at once', (retry, count) => {
    let task = play([node('a', { retry })]);
    for (let done = 0; done < count; done += 1) {
      task = task.when(fails('a'));
      expect(task.said).toEqual([`node_retrying a#${String(done + 2)}`]);
      task = task.wait(0);
    }
    expect(task.when(fails('a')).said.at(-1)).toBe('failed failed');
  });

  test('retry.mode = never makes no retry', () => {
    expect(
      play([node('a', { retry: { mode: 'never', budget: 5 } })])
        .when(fails('a'))
        .said.at(-1),
    ).toBe('failed failed');
  });

  test('a route back replaces the retry', () => {
    const task = play([
      node('a'),
      node('b', { after: ['a'], on: { failed: ['a'] }, retry: { mode: 'on_failure' } }),
    ]);
    expect(task.when(succeeds('a'), fails('b')).said[0]).toBe('restarted a,b');
  });
});

describe('a gate', () => {
  test('a gate without a script passes and says so', () => {
    const over = play([
      node('g', { uses: 'control.gate.stop_condition' }),
      node('ci', { uses: 'control.gate.cicd', script: ' ' }),
    ]);
    expect(over.said.slice(2)).toEqual(['node_succeeded g', 'node_succeeded ci', 'completed']);
    for (const name of ['g', 'ci']) expect(over.node(name).detail).toBe('gate: none configured');
  });

  test('a gate with a script runs like any other work', () => {
    expect(play([gate('g')]).said.at(-1)).toBe('step_ordered g.run');
  });

  test.each([
    ['block', 'node_ended g.run failed'],
    ['warn', 'node_succeeded g.run'],
    ['retry', 'node_retrying g#2'],
  ] as const)('a gate with the policy %s whose script fails: %s', (gatePolicy, event) => {
    const task = play([gate('g', { gatePolicy }), node('b', { after: ['g'] })]).when(
      fails('g', { exitCode: 4 }),
    );
    expect(task.said[0]).toBe(event);
  });

  test('a gate with the policy warn shows its failure, and dependents continue', () => {
    const task = play([gate('g', { gatePolicy: 'warn' }), node('b', { after: ['g'] })]).when(
      fails('g', { exitCode: 4 }),
    );
    expect(task.node('g').detail).toBe('warning only: exit code 4');
    expect(task.statusOf('b')).toEqual(['running']);
  });

  test('a gate with the policy retry runs again within its budget', () => {
    let task = play([gate('g', { gatePolicy: 'retry', retry: { mode: 'never', budget: 2 } })]);
    for (let count = 0; count < 2; count += 1) task = task.when(fails('g')).wait(0);
    expect(task.node('g').attempt).toBe(3);
    expect(task.when(fails('g')).said[0]).toBe('node_ended g.run#3 failed');
  });

  test('an approval gate asks a person and succeeds with the approval', () => {
    const task = play([node('g', { uses: 'control.gate.approval', approval: APPROVAL })]);
    expect(task.said.at(-1)).toBe('approval_requested g');
    expect(task.when(approves('g')).said).toEqual([
      'approval_closed g approved',
      'node_succeeded g',
      'completed',
    ]);
  });
});
