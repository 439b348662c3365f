import { describe, expect, test } from 'vitest';
import { applied, approves, fails, succeeds } from '../../testing/answers.ts';
import { APPROVAL, chain, effect, gate, id, node } from '../../testing/graphs.ts';
import { type Play, play } from '../../testing/play.ts';
import { byHand } from '../../testing/tasks.ts';

const CONTINUE = { policy: { failureMode: 'continue_independent' } } as const;
const on = (name: string) => ({ node: id(name) });
const rewind = (name?: string) => byHand('retry', { rewind: true, ...(name !== undefined && on(name)) });
const codeOf = ({ made }: Play) =>
  made.answer !== undefined && 'error' in made.answer ? made.answer.error.code : 'accepted';
const REFUSED = 'ORCHESTRATOR_ILLEGAL_IN_PHASE';

describe('an operator command about a node', () => {
  test.each(['cancel', 'pause', 'resume', 'skip', 'retry'] as const)(
    '%s of an unknown node is refused',
    (kind) => {
      const task = play(chain('a')).when(byHand(kind, on('nowhere')));
      expect(codeOf(task)).toBe('ORCHESTRATOR_UNKNOWN_NODE');
      expect(task.said).toEqual([]);
    },
  );
});

describe('cancelling a node', () => {
  test('cancelling a node withdraws its orders, and fails the task without a route', () => {
    const over = play(chain('a', 'b')).when(byHand('cancel', on('a')));
    expect(over.said).toEqual(['node_ended a cancelled', 'failed failed']);
    expect(over.sent('effect.cancel')).toHaveLength(1);
    expect(over.node('a').reason).toBe('cancelled by hand (ada)');
  });

  test('cancelling a node leaves independent nodes alone', () => {
    const task = play([node('a'), node('b')], CONTINUE).when(byHand('cancel', on('a')));
    expect(task.said).toEqual(['node_ended a cancelled']);
    expect(task.when(succeeds('b')).said.at(-1)).toBe('failed failed');
  });

  test('cancelling an ended node is refused, and a repeat changes nothing', () => {
    const task = play([node('a'), node('b')], CONTINUE);
    expect(codeOf(task.when(succeeds('a'), byHand('cancel', on('a'))))).toBe(REFUSED);
    const cancelled = task.when(byHand('cancel', on('a')));
    expect(cancelled.statusOf('a')).toEqual(['cancelled']);
  });

  test('a late outcome of a cancelled node changes nothing', () => {
    const task = play([effect('a'), node('b')], CONTINUE).when(approves('a'));
    const late = applied('a')(task.task);
    const over = task.when(byHand('cancel', on('a')), late);
    expect(over.said).toEqual([]);
    expect(over.statusOf('a')).toEqual(['cancelled']);
  });
});

describe('cancelling a task', () => {
  test('cancelling a task ends every open node and withdraws its requests and orders', () => {
    const over = play([node('a'), node('b', { approval: APPROVAL }), node('c', { after: ['a'] })]).when(
      byHand('cancel'),
    );
    expect(over.said).toEqual(['cancelled']);
    expect(over.statusOf('a', 'b', 'c')).toEqual(['cancelled', 'cancelled', 'cancelled']);
    expect(over.sent('effect.cancel')).toHaveLength(1);
    expect(over.sent('approval.cancel')).toHaveLength(1);
    expect(over.task.outcome).toBe('cancelled');
  });

  test('a cancelled task refuses retry, skip and resume', () => {
    const over = play(chain('a')).when(byHand('cancel'));
    for (const command of [byHand('retry'), rewind(), rewind('a'), byHand('skip', on('a')), byHand('resume')])
      expect(codeOf(over.when(command))).toBe(REFUSED);
  });
});

describe('pausing a node', () => {
  test('a paused node does not start', () => {
    const task = play([node('a'), node('b', { after: ['a'] }), node('c', { after: ['a'] })]).when(
      byHand('pause', on('b')),
      succeeds('a'),
    );
    expect(task.statusOf('b', 'c')).toEqual(['idle', 'running']);
    const waits = task.when(succeeds('c'));
    expect(waits.task.phase).toBe('executing');
    expect(waits.when(byHand('resume', on('b'))).said).toEqual(['node_resumed b', 'step_ordered b.run']);
  });

  test('a paused node that runs may end', () => {
    const over = play(chain('a', 'b')).when(byHand('pause', on('a')), succeeds('a'));
    expect(over.said).toEqual(['node_succeeded a.run', 'step_ordered b.run']);
  });

  test('pausing an ended node is refused', () => {
    expect(codeOf(play(chain('a', 'b')).when(succeeds('a'), byHand('pause', on('a'))))).toBe(REFUSED);
  });

  test('a retry that falls due waits for the end of the pause', () => {
    const retried = play([node('a', { retry: { mode: 'on_failure' } })]).when(
      fails('a'),
      byHand('pause', on('a')),
    );
    const later = retried.wait(60_000);
    expect(later.statusOf('a')).toEqual(['retrying']);
    expect(
      later
        .when(byHand('resume', on('a')))
        .wait(5_000)
        .statusOf('a'),
    ).toEqual(['running']);
  });

  test('a paused node that ends otherwise does not keep the task open', () => {
    const task = play([...chain('a', 'b')]).when(
      byHand('pause', on('b')),
      byHand('skip', on('b')),
      succeeds('a'),
    );
    expect(task.said.at(-1)).toBe('completed');
  });
});

describe('pausing a task', () => {
  test('a paused task starts nothing, keeps outcomes, and continues when it is resumed', () => {
    const paused = play([...chain('a', 'b'), node('c', { after: ['a'] })]).when(
      byHand('pause'),
      succeeds('a'),
    );
    expect(paused.said).toEqual(['node_succeeded a.run']);
    expect(paused.when(byHand('resume')).said).toEqual([
      'resumed',
      'step_ordered b.run',
      'step_ordered c.run',
    ]);
  });

  test('a paused task does not end', () => {
    const paused = play(chain('a')).when(byHand('pause'), succeeds('a'));
    expect(paused.task.phase).toBe('paused');
    expect(paused.when(byHand('resume')).said).toEqual(['resumed', 'completed']);
  });
});

describe('skipping a node', () => {
  test('skipping an unstarted node lets its dependents continue', () => {
    const task = play([node('a', { approval: APPROVAL }), node('b', { after: ['a'] })]).when(
      byHand('skip', on('a')),
    );
    expect(task.said).toEqual(['node_skipped a', 'step_ordered b.run']);
    expect(task.sent('approval.cancel')).toHaveLength(1);
  });

  test('skipping an idle node ends it at once', () => {
    const task = play(chain('a', 'b', 'c')).when(byHand('skip', on('b')), succeeds('a'));
    expect(task.statusOf('b', 'c')).toEqual(['skipped', 'running']);
  });

  test('skipping a failed node reopens a failed task', () => {
    const task = play(chain('a', 'b')).when(fails('a'), byHand('skip', on('a')));
    expect(task.said).toEqual(['restarted a,b', 'node_skipped a#2', 'step_ordered b.run#2']);
    expect(task.task.phase).toBe('executing');
    expect(task.task.error).toBeUndefined();
  });

  test.each([
    ['runs', play(chain('a'))],
    ['has succeeded', play(chain('a', 'b')).when(succeeds('a'))],
  ])('skipping a node that %s is refused', (_, task) => {
    expect(codeOf(task.when(byHand('skip', on('a'))))).toBe(REFUSED);
  });
});

describe('retrying with rewind', () => {
  test('rewinding a succeeded node restarts it and everything downstream', () => {
    const task = play([...chain('a', 'b', 'c'), node('d')]).when(
      succeeds('a'),
      succeeds('b'),
      succeeds('c'),
      rewind('b'),
    );
    expect(task.said).toEqual(['restarted b,c', 'step_ordered b.run#2']);
    expect(task.statusOf('a', 'd')).toEqual(['succeeded', 'running']);
  });

  test('rewinding is refused while a node in it runs, and names that node', () => {
    const task = play(chain('a', 'b')).when(succeeds('a'));
    const refused = task.when(rewind('a'));
    expect(codeOf(refused)).toBe(REFUSED);
    expect(refused.made.answer).toMatchObject({
      error: { message: expect.stringContaining('t-1/b is running') as string },
    });
    expect(task.when(byHand('cancel', on('b')), rewind('a')).said).toEqual([
      'restarted a,b',
      'step_ordered a.run#2',
    ]);
  });

  test('rewinding a node that awaits approval withdraws the request', () => {
    const task = play([node('a'), node('b', { after: ['a'], approval: APPROVAL })]).when(
      succeeds('a'),
      rewind('a'),
    );
    expect(task.said).toEqual(['restarted a,b', 'step_ordered a.run#2']);
    expect(task.sent('approval.cancel')).toHaveLength(1);
  });

  test('rewinding a failed task reopens it from its failed nodes', () => {
    const failed = play(chain('a', 'b', 'c')).when(succeeds('a'), fails('b'));
    const again = failed.when(rewind());
    expect(again.said).toEqual(['restarted b,c', 'step_ordered b.run#2']);
    expect(again.task.phase).toBe('executing');
    for (const gone of ['error', 'outcome']) expect(again.task).not.toHaveProperty(gone);
    expect(again.when(succeeds('b'), succeeds('c')).said.at(-1)).toBe('completed');
  });

  test('rewinding one node reopens the task with every node that its end interrupted', () => {
    const failed = play([node('a'), node('b'), node('c', { after: ['b'] })]).when(fails('a'));
    expect(failed.statusOf('b', 'c')).toEqual(['cancelled', 'blocked']);
    const again = failed.when(rewind('a'));
    expect(again.statusOf('a', 'b', 'c')).toEqual(['running', 'running', 'idle']);
    expect(again.when(succeeds('a'), succeeds('b'), succeeds('c')).said.at(-1)).toBe('completed');
  });

  test('rewinding a completed task is refused', () => {
    const done = play(chain('a')).when(succeeds('a'));
    for (const command of [rewind('a'), rewind()]) expect(codeOf(done.when(command))).toBe(REFUSED);
  });

  test('rewinding without a failed node is refused', () => {
    expect(codeOf(play(chain('a')).when(rewind()))).toBe(REFUSED);
  });

  test('a rewind that names an attempt changes nothing once another has followed', () => {
    const failed = play(chain('a')).when(fails('a'));
    const named = byHand('retry', { ...on('a'), rewind: true, attempt: 1 });
    const again = failed.when(named);
    expect(again.said[0]).toBe('restarted a');
    const over = again.when(fails('a'), rewind('a'));
    expect(over.node('a').attempt).toBe(3);
  });

  test('a reopened task fails again like the first time', () => {
    const over = play([node('a'), gate('g', { after: ['a'] })]).when(
      fails('a'),
      rewind(),
      succeeds('a'),
      fails('g'),
    );
    expect(over.said).toEqual(['node_ended g.run#2 failed', 'failed failed']);
    expect(over.task.error).toMatchObject({ details: { node: 'g' } });
  });
});
