import { describe, expect, test } from 'vitest';
import {
  approves,
  approvesFor,
  blocks,
  breaks,
  fails,
  givesUp,
  locked,
  rejects,
  sees,
  stands,
  succeeds,
  vanishes,
  wantsChanges,
} from '../../testing/answers.ts';
import {
  APPROVAL,
  branch,
  brief,
  control,
  effect,
  gate,
  id,
  lock,
  merge,
  node,
  shared,
} from '../../testing/graphs.ts';
import { play, REPOSITORY } from '../../testing/play.ts';
import { byHand, recover } from '../../testing/tasks.ts';

const IN_REPOSITORY = { repository: REPOSITORY } as const;
const LOCKS = [lock('branch:main')];
const gated = () => play([node('a', { approval: APPROVAL }), node('b', { after: ['a'] })]);

describe('the approval of a start', () => {
  test('the approval of a start comes before everything else', () => {
    const task = gated();
    expect(task.said.at(-1)).toBe('approval_requested a');
    expect(task.sent('effect.run')).toEqual([]);
    expect(task.when(approves('a')).said).toEqual(['approval_closed a approved', 'step_ordered a.run']);
  });

  test('the approval of a start does not expire and covers later attempts', () => {
    const task = gated()
      .when(approvesFor(1)('a'), breaks('a'), recover('retry', { node: id('a') }))
      .wait(1);
    expect(task.said).toEqual(['step_ordered a.run#2']);
  });

  test('a rejected start blocks the node without another request', () => {
    const over = gated().when(rejects('a'));
    expect(over.said).toEqual(['approval_closed a rejected', 'node_blocked a', 'failed blocked']);
    expect(over.task.error).toMatchObject({ code: 'ERR_FORBIDDEN', details: { node: 'a' } });
  });

  test('requested changes to a start wait for a person', () => {
    const task = gated().when(wantsChanges('a'));
    expect(task.said).toEqual(['approval_closed a changes_requested', 'node_failed a.run failed']);
    const asked = task.when(givesUp('a'));
    expect(asked.said).toEqual(['node_escalated a', 'stuck_asked a']);
    expect(asked.when(byHand('retry')).said).toEqual(['node_retrying a#2', 'approval_requested a#2']);
  });

  test('cancelling the node withdraws the request', () => {
    const cancelled = gated().when(byHand('cancel', { node: id('a') }));
    expect(cancelled.sent('approval.cancel')).toHaveLength(1);
  });

  test('a restart by a route requests the approval again', () => {
    const task = play([
      node('a', { approval: APPROVAL }),
      gate('g', { after: ['a'], on: { failed: ['a'] } }),
    ]);
    expect(task.when(approves('a'), succeeds('a'), fails('g')).said.at(-1)).toBe('approval_requested a#2');
  });
});

describe('--require-approval', () => {
  test('--require-approval gates every entry and nothing else', () => {
    const task = play([node('a'), node('b'), node('c', { after: ['a', 'b'] })], { approval: 'required' });
    expect(task.said.slice(2)).toEqual(['approval_requested a', 'approval_requested b']);
    const next = task.when(approves('a'), approves('b'), succeeds('a'), succeeds('b'));
    expect(next.said.at(-1)).toBe('step_ordered c.run');
  });

  test("--require-approval keeps the workflow's own gates", () => {
    const own = { audience: ['leads'], timeoutMs: 5_000 };
    const task = play([node('a', { approval: own })], { approval: 'required' });
    expect(task.sent('approval.request')[0]?.data).toMatchObject(own);
  });

  test('--no-approval removes the gates of the entries and nothing else', () => {
    const task = play([node('a', { approval: APPROVAL }), node('b', { after: ['a'], approval: APPROVAL })], {
      approval: 'none',
    });
    expect(task.said.at(-1)).toBe('step_ordered a.run');
    expect(task.when(succeeds('a')).said.at(-1)).toBe('approval_requested b');
  });

  test('--no-approval leaves effects gated', () => {
    expect(play([effect('a')], { approval: 'none' }).said.at(-1)).toBe('approval_requested a');
  });
});

describe('an effect with a preview', () => {
  const task = play([
    merge('m', { on: { blocked: ['conflict'] } }),
    node('conflict'),
    node('b', { after: ['m'] }),
  ]);
  const previewed = task.when(succeeds('m', { outputs: { tip: 'abc' } }));

  test('the preview comes before the request', () => {
    expect(task.said.slice(2)).toEqual(['step_ordered m.preview']);
    expect(previewed.said).toEqual(['node_previewed m', 'approval_requested m']);
  });

  test('the approval covers the preview, so another preview is another effect', () => {
    const [asked] = previewed.sent('approval.request');
    expect(asked?.data).toMatchObject({ effect: { args: { preview: { tip: 'abc' } } } });
    const other = task.when(succeeds('m', { outputs: { tip: 'def' } }));
    for (const part of ['effectId', 'digest'] as const)
      expect(other.node('m').gate?.[part]).not.toBe(previewed.node('m').gate?.[part]);
  });

  test('a blocked preview follows on.blocked without a request', () => {
    const blocked = task.when(blocks('m', { detail: 'conflict in a.txt' }));
    expect(blocked.said).toContain('node_ended m.preview blocked');
    expect(blocked.said).toContain('step_ordered conflict.run');
    expect(blocked.sent('approval.request')).toEqual([]);
    expect(blocked.sent('effect.cancel')).toEqual([]);
  });

  test('a preview without changes ends the node', () => {
    const done = task.when(succeeds('m', { outputs: { already: true } }));
    expect(done.said.slice(0, 2)).toEqual(['node_succeeded m.preview', 'step_ordered b.run']);
  });

  test('an effect that is blocked later follows on.blocked as well', () => {
    const late = previewed.when(approves('m'), blocks('m'));
    expect(late.said).toContain('step_ordered conflict.run');
  });

  test('every attempt makes a new preview', () => {
    const again = previewed.when(approves('m'), breaks('m'), recover('retry', { node: id('m') })).wait(1);
    expect(again.said).toEqual(['step_ordered m.preview#2']);
  });
});

describe('locks', () => {
  const one = () => play([node('a', { locks: LOCKS }), node('b', { after: ['a'] })], IN_REPOSITORY);

  test('locks are requested last, and the node runs once it holds them', () => {
    const task = one();
    expect(task.said.at(-1)).toBe('locks_requested a');
    expect(task.sent('task.registry')[0]?.data).toMatchObject({
      request: { kind: 'acquire', node: 'a', attempt: 1, locks: LOCKS },
    });
    expect(task.when(locked('a')).said).toEqual(['locks_acquired a', 'step_ordered a.run']);
  });

  test('locks are requested after the approval of a start or an effect', () => {
    for (const made of [node('a', { locks: LOCKS, approval: APPROVAL }), effect('a', { locks: LOCKS })]) {
      const task = play([made], IN_REPOSITORY);
      expect(task.said.at(-1)).toBe('approval_requested a');
      expect(task.sent('task.registry')).toEqual([]);
      const approved = task.when(approves('a'));
      expect(approved.said).toEqual(['approval_closed a approved', 'locks_requested a']);
      expect(approved.when(locked('a')).said.at(-1)).toMatch(/^(step|effect)_ordered a/);
    }
  });

  test('a waiting node names the jobs before it', () => {
    const task = one().when(locked('a', { waitingFor: ['t-2/x'] }));
    expect(task.said).toEqual(['node_waiting a locks: waiting for t-2/x']);
    expect(task.statusOf('a')).toEqual(['locking']);
    expect(task.when(locked('a')).node('a')).not.toHaveProperty('wait');
  });

  test('a task without a repository needs no locks', () => {
    expect(play([node('a', { locks: LOCKS })]).said.at(-1)).toBe('step_ordered a.run');
  });

  const held = one().when(locked('a'));
  test.each([
    ['succeeded', held.when(succeeds('a'))],
    ['failed', held.when(fails('a'))],
    ['is blocked', held.when(blocks('a'))],
    ['was not carried out', held.when(breaks('a'))],
    ['is cancelled', held.when(byHand('cancel', { node: id('a') }))],
    ['is cancelled with its task', held.when(byHand('cancel'))],
    ['is cancelled while it waits for them', one().when(byHand('cancel', { node: id('a') }))],
    ['is left out while it waits for them', one().when(byHand('skip', { node: id('a') }))],
  ])('locks are released once when the node %s', (_, ended) => {
    const releases = ended.sent('task.registry').map(({ data }) => data as { request: object });
    expect(releases.filter(({ request }) => 'kind' in request && request.kind === 'release')).toMatchObject([
      { request: { kind: 'release', node: 'a', attempt: 1 } },
    ]);
  });

  test('locks stay held while the effect is in doubt', () => {
    const doubtful = play([effect('a', { locks: LOCKS })], IN_REPOSITORY).when(
      approves('a'),
      locked('a'),
      vanishes('a'),
    );
    expect(doubtful.said).toEqual(['node_failed a.run in_doubt']);
    expect(doubtful.sent('task.registry')).toEqual([]);
    const asked = doubtful.when(recover('escalate', { node: id('a') }));
    expect(asked.sent('task.registry')).toEqual([]);
    expect(asked.when(succeeds('a')).sent('task.registry')).toHaveLength(1);
    expect(asked.when(byHand('skip', { node: id('a') })).sent('task.registry')).toHaveLength(1);
  });

  test('the next attempt requests its locks again', () => {
    const again = held.when(breaks('a'), recover('retry', { node: id('a') })).wait(1);
    expect(again.said).toEqual(['locks_requested a#2']);
    expect(again.when(locked('a')).said).toEqual(['locks_acquired a#2', 'step_ordered a.run#2']);
  });

  test('unneeded locks are released whenever the registry reports them', () => {
    const over = held.when(succeeds('a'), locked('a', { attempt: 1 }));
    expect(over.said).toEqual([]);
    expect(over.sent('task.registry')[0]?.data).toMatchObject({
      request: { kind: 'release', node: 'a', attempt: 1 },
    });
    const next = held
      .when(breaks('a'), recover('retry', { node: id('a') }))
      .wait(1)
      .when(locked('a', { attempt: 1 }));
    expect(next.said).toEqual([]);
    expect(next.statusOf('a')).toEqual(['locking']);
  });
});

describe('preconditions', () => {
  const task = play(
    [node('a', { preconditions: [{ kind: 'clean_worktree' }], approval: APPROVAL })],
    IN_REPOSITORY,
  );

  test('preconditions are checked before the request', () => {
    expect(task.said.slice(2)).toEqual([
      'step_ordered a.inspect',
      'node_waiting a preconditions: inspecting the repository',
    ]);
    expect(task.when(sees('a', {})).said).toEqual(['node_inspected a', 'approval_requested a']);
  });

  test('unmet preconditions are checked again, ever more rarely', () => {
    let reached = task.when(sees('a', {}, 'the worktree has changes'));
    expect(reached.said).toEqual([
      'node_inspected a',
      'node_waiting a preconditions: clean_worktree: the worktree has changes',
    ]);
    for (const delay of [5_000, 10_000, 20_000, 40_000]) {
      expect(reached.timers.get('look:a')?.dueAt).toBe(reached.now + delay);
      reached = reached.wait(delay);
      expect(reached.said).toEqual(['step_ordered a.inspect']);
      reached = reached.when(sees('a', {}, 'the worktree has changes'));
    }
    const [order] = Object.values(reached.wait(80_000).node('a').orders ?? {});
    expect(order?.effect.idempotencyKey).toBe('attempt:1:inspect.5');
    expect(reached.wait(80_000).when(sees('a', {})).said.at(-1)).toBe('approval_requested a');
  });

  test('an unreadable inspection fails the node', () => {
    const over = task.when(succeeds('a', { outputs: { artifacts: 'all of them' } }));
    expect(over.said).toEqual(['node_ended a.inspect failed', 'failed failed']);
  });

  test('preconditions of a task without a repository block the node', () => {
    const over = play([node('a', { preconditions: [{ kind: 'clean_worktree' }] })]);
    expect(over.said.slice(2)).toEqual(['node_ended a blocked', 'failed blocked']);
  });

  test('a failed inspection fails the node before it runs', () => {
    const locking = play(
      [node('a', { preconditions: [{ kind: 'clean_worktree' }], locks: LOCKS, forEach: 'inputs.l' })],
      {
        ...IN_REPOSITORY,
        inputs: { l: [1] },
      },
    );
    expect(locking.when(breaks('a', 'EXECUTOR_PATH_REFUSED')).said).toEqual([
      'node_ended a.inspect failed',
      'failed failed',
    ]);
  });
});

const THING = 'custom:thing:x';
const needy = (missingProducer: 'block' | 'wait' = 'block', more: object = {}) =>
  play([node('a', { needs: [shared('x')], ...more })], { ...IN_REPOSITORY, policy: { missingProducer } });

describe('reference 6.4: why a node waits', () => {
  test.each([
    ['exists', 'available', 'step_ordered a.run', undefined],
    [
      'has a producer that is still at it',
      'pending',
      `node_waiting a artifacts: waiting on ${THING} (other/maker)`,
      undefined,
    ],
    ['has producers that failed', 'failed', 'node_ended a blocked', `dependency failed for ${THING}`],
    ['has no producer', 'missing', 'node_ended a blocked', `missing ${THING}`],
  ] as const)('67. an artifact that %s', (_, state, event, reason) => {
    const told = needy().when(stands('a', { [THING]: state }));
    expect(told.said[1]).toBe(event);
    expect(told.node('a').reason).toBe(reason);
  });

  test.each(['available', 'missing'] as const)(
    '67. an artifact of the run needs no registry (its producer has %s it)',
    (state) => {
      const maker = node('m', {
        produces: { [state === 'available' ? 'succeeded' : 'failed']: [shared('x')] },
      });
      const task = play([maker, node('a', { needs: [shared('x')] })]);
      expect(task.said).toContain(`node_waiting a artifacts: waiting on ${THING} (t-1/m)`);
      expect(task.when(succeeds('m')).said[1]).toBe(
        state === 'available' ? 'step_ordered a.run' : 'node_ended a blocked',
      );
    },
  );

  test('68. missing_producer = block: an artifact without a producer blocks the node', () => {
    expect(
      needy('block')
        .when(stands('a', { [THING]: 'missing' }))
        .said.at(-1),
    ).toBe('failed blocked');
  });

  test.each(['missing', 'failed'] as const)(
    '68. missing_producer = wait: the node waits for a producer (%s)',
    (state) => {
      const waiting = needy('wait').when(stands('a', { [THING]: state }));
      expect(waiting.said.at(-1)).toBe(`node_waiting a artifacts: awaiting producer for ${THING}`);
      expect(waiting.when(stands('a', { [THING]: 'available' })).said).toEqual([
        'artifacts_updated a',
        'step_ordered a.run',
      ]);
    },
  );

  test('68. the registry is queried again as long as the node waits', () => {
    const waiting = needy('wait').when(stands('a', { [THING]: 'missing' }));
    const later = waiting.wait(20_000);
    expect(later.sent('task.registry')[0]?.data).toMatchObject({
      request: { kind: 'require', labels: [THING] },
    });
    expect(later.timers.has('reply:a')).toBe(true);
  });

  test('68. an artifact of the run can only come from the run, so the node does not wait', () => {
    const text = { type: 'custom', typeId: 'plan_text', key: 'p' } as const;
    const over = play([node('a', { needs: [text] })], {
      ...IN_REPOSITORY,
      policy: { missingProducer: 'wait' },
    });
    expect(over.said.slice(2)).toEqual(['node_ended a blocked', 'failed blocked']);
  });

  test('69. dependencies come before artifacts, with any outcome', () => {
    const nodes = [node('p'), node('a', { after: ['p'], needs: [shared('x')] })];
    const task = play(nodes, { ...IN_REPOSITORY, policy: { failureMode: 'continue_independent' } });
    expect(task.statusOf('a')).toEqual(['idle']);
    expect(task.when(succeeds('p')).said.at(-1)).toBe(
      'node_waiting a artifacts: asking the registry for artifacts',
    );
    expect(task.when(byHand('cancel', { node: id('p') })).node('a').reason).toBe(
      'dependency t-1/p cancelled',
    );
    for (const [how, status] of [
      [fails('p'), 'failed'],
      [blocks('p'), 'blocked'],
    ] as const)
      expect(task.when(how).node('a')).toMatchObject({
        status: 'blocked',
        reason: `dependency t-1/p ${status}`,
      });
  });

  test('70. dependencies come before artifacts, and a working producer before a failed one', () => {
    const failing = node('one', { produces: { succeeded: [shared('x')] } });
    const other = node('two', { produces: { succeeded: [shared('x')] } });
    const task = play([failing, other, node('a', { needs: [shared('x')] })], {
      policy: { failureMode: 'continue_independent' },
    }).when(fails('one'));
    expect(task.node('a').wait?.detail).toBe(`waiting on ${THING} (t-1/two)`);
    expect(task.when(succeeds('two')).statusOf('a')).toEqual(['running']);
  });

  test('72. preconditions come before the approval and the locks', () => {
    const all = { preconditions: [{ kind: 'clean_worktree' }], approval: APPROVAL, locks: LOCKS };
    const task = needy('block', all);
    expect(task.said.slice(2)).toEqual([
      'node_waiting a artifacts: asking the registry for artifacts',
      'step_ordered a.inspect',
    ]);
    const order = [stands('a', { [THING]: 'available' }), sees('a', {}), approves('a'), locked('a')].map(
      (say, index, all) => task.when(...all.slice(0, index + 1)).said.at(-1),
    );
    expect(order).toEqual([
      'artifacts_updated a',
      'approval_requested a',
      'locks_requested a',
      'step_ordered a.run',
    ]);
  });

  test('73. a pending approval comes before the locks, and a rejection is final', () => {
    const task = play([node('a', { approval: APPROVAL, locks: LOCKS })], IN_REPOSITORY);
    expect(task.sent('task.registry')).toEqual([]);
    expect(task.when(rejects('a')).said.at(-1)).toBe('failed blocked');
    expect(task.when(rejects('a')).sent('task.registry')).toEqual([]);
  });

  test('74. each lock request has the submission time of its task', () => {
    const task = play([node('a', { locks: LOCKS })], IN_REPOSITORY);
    expect(task.sent('task.registry')[0]?.data).toMatchObject({ request: { since: task.now } });
  });

  test('75. missing inputs show after the locks', () => {
    const task = play([node('a', { locks: LOCKS, forEach: 'inputs.nothing' })], IN_REPOSITORY);
    expect(task.said.at(-1)).toBe('locks_requested a');
    const over = task.when(locked('a'));
    expect(over.said).toEqual(['locks_acquired a', 'node_ended a failed', 'failed failed']);
    expect(over.sent('task.registry')[0]?.data).toMatchObject({ request: { kind: 'release' } });
  });

  test('76. each reason to wait is recorded once', () => {
    const task = needy('wait', { preconditions: [{ kind: 'clean_worktree' }] }).when(
      sees('a', {}, 'dirty'),
      stands('a', { [THING]: 'missing' }),
      stands('a', { [THING]: 'pending' }),
      stands('a', { [THING]: 'available' }),
    );
    expect(task.history.map(brief).filter((event) => event.startsWith('node_waiting'))).toEqual([
      'node_waiting a artifacts: asking the registry for artifacts',
      `node_waiting a artifacts: awaiting producer for ${THING}`,
      `node_waiting a artifacts: waiting on ${THING} (other/maker)`,
      'node_waiting a preconditions: clean_worktree: dirty',
    ]);
  });
});

describe('artifacts', () => {
  test('repository artifacts are looked for in the repository, then in the registry', () => {
    const task = play([node('a', { needs: [branch('main')] })], IN_REPOSITORY);
    expect(task.said.slice(2)).toContain('step_ordered a.inspect');
    const label = 'target_branch:main';
    expect(task.when(sees('a', { [label]: true })).said.at(-1)).toBe('step_ordered a.run');
    const missing = task.when(sees('a', { [label]: false }));
    expect(missing.statusOf('a')).toEqual(['waiting']);
    expect(missing.when(stands('a', { [label]: 'missing' })).said).toContain('step_ordered a.inspect');
  });

  test('a repository artifact of another task is inspected again once it is available', () => {
    const label = 'target_branch:main';
    const coming = play([node('a', { needs: [branch('main')] })], IN_REPOSITORY).when(
      sees('a', { [label]: false }),
      stands('a', { [label]: 'pending' }),
      sees('a', { [label]: false }),
    );
    expect(coming.said.at(-1)).toBe(`node_waiting a artifacts: waiting on ${label} (other/maker)`);
    expect(coming.timers.has('reply:a')).toBe(true);
    const made = coming.when(stands('a', { [label]: 'available' }));
    expect(made.said).toContain('step_ordered a.inspect');
    expect(made.when(sees('a', { [label]: true })).said.at(-1)).toBe('step_ordered a.run');
  });

  test('every node makes an artifact of its result, with any outcome', () => {
    const output = { type: 'custom', typeId: 'operation_output', key: 'a' } as const;
    const policy = { failureMode: 'continue_independent', missingProducer: 'block' } as const;
    const task = play([node('a'), node('b', { needs: [output] })], { policy });
    expect(task.statusOf('b')).toEqual(['waiting']);
    for (const ended of [task.when(succeeds('a', { outputs: { words: 3 } })), task.when(fails('a'))]) {
      expect(ended.said.at(-1)).toBe('step_ordered b.run');
    }
    const [ordered] = task
      .when(succeeds('a', { outputs: { words: 3 }, exitCode: 0 }))
      .sent('effect.run')
      .slice(-1);
    expect(ordered?.data).toMatchObject({
      effect: {
        args: {
          payloads: {
            'custom:operation_output:a': { status: 'succeeded', exit_code: 0, outputs: { words: 3 } },
          },
        },
      },
    });
  });

  test('shared artifacts are reported as pending, available and failed', () => {
    const task = play(
      [node('a', { produces: { succeeded: [shared('x')] } }), node('b', { after: ['a'] })],
      IN_REPOSITORY,
    );
    const reported = (made: typeof task) =>
      made
        .sent('task.registry')
        .map(
          ({ data }) =>
            (data as { request: { artifacts?: { state: string }[] } }).request.artifacts?.[0]?.state,
        );
    expect(reported(task)).toEqual(['pending']);
    expect(reported(task.when(succeeds('a')))).toEqual(['available']);
    expect(reported(task.when(fails('a'))).at(-1)).toBe('failed');
    expect(reported(task.when(byHand('cancel')))).toEqual(['failed']);
  });

  const planDoc = { type: 'plan_doc', slug: 'greet', branch: '' } as const;
  const states = (made: ReturnType<typeof play>) =>
    made
      .sent('task.registry')
      .map(({ data }) => (data as { request: { artifacts?: object[] } }).request.artifacts);
  test.each([
    ['declares it again', { succeeded: [planDoc] }],
    ['does not declare it', undefined],
  ])('an artifact of the repository is made by its next commit, which %s', (_what, produces) => {
    const label = 'plan_doc:greet (draft/greet)';
    const commit = { uses: 'cap.env.builtin.git.stage_commit', after: ['persist'] };
    const task = play(
      [
        node('persist', { uses: 'cap.env.builtin.plan.persist', produces: { succeeded: [planDoc] } }),
        node('commit', { ...commit, ...(produces && { produces }) }),
        node('more', { after: ['commit'] }),
        node('later', { uses: 'cap.env.builtin.git.commit', after: ['more'] }),
      ],
      IN_REPOSITORY,
    );
    const persisted = task.when(succeeds('persist'));
    expect(states(persisted).at(-1)).toContainEqual({ label, node: 'commit', state: 'pending' });
    expect(JSON.stringify(states(persisted))).not.toContain('available');
    const committed = persisted.when(succeeds('commit'));
    const made = produces === undefined ? 'persist' : 'commit';
    expect(states(committed).at(-1)).toContainEqual({ label, node: made, state: 'available' });
    expect(JSON.stringify(states(committed))).not.toContain('pending');
    const failed = persisted.when(fails('commit'));
    expect(JSON.stringify(states(failed).at(-1))).not.toContain('pending');
  });

  test('artifacts of the run are not reported', () => {
    const text = { type: 'custom', typeId: 'plan_text', key: 'p' } as const;
    const task = play([node('a', { produces: { succeeded: [text] } })], IN_REPOSITORY);
    expect(task.sent('task.registry')).toEqual([]);
    expect(task.when(succeeds('a')).sent('task.registry')).toEqual([]);
  });

  test('artifacts pass their payloads to the nodes that need them', () => {
    const text = { type: 'custom', typeId: 'plan_text', key: 'p' } as const;
    const label = 'custom:plan_text:p';
    const task = play([
      node('a', { produces: { succeeded: [text] } }),
      node('b', { after: ['a'], needs: [text] }),
    ]);
    const given = task.when(succeeds('a', { payloads: { [label]: { text: 'the plan' } } }));
    expect(given.sent('effect.run')[0]?.data).toMatchObject({
      effect: { args: { payloads: { [label]: { text: 'the plan' } } } },
    });
  });
});

describe('when no node can start', () => {
  test('the task ends as blocked when a node needs an artifact of its dependents', () => {
    const over = play([
      control('first'),
      node('a', { after: ['first'], needs: [shared('x')] }),
      node('b', { after: ['a'], produces: { succeeded: [shared('x')] } }),
    ]);
    expect(over.said.at(-1)).toBe('failed blocked');
    expect(over.task.error).toMatchObject({ code: 'NODE_BLOCKED', message: 'no node can start' });
  });

  test('the task stays open while a node runs, waits for others, or is paused', () => {
    const nodes = [
      node('a', { needs: [shared('x')] }),
      node('b', { after: ['a'], produces: { succeeded: [shared('x')] } }),
      node('c'),
    ];
    const running = play(nodes);
    expect(running.task.phase).toBe('executing');
    const held = play([...nodes, node('d', { after: ['c'] })]).when(
      byHand('pause', { node: id('d') }),
      succeeds('c'),
    );
    expect(held.task.phase).toBe('executing');
    expect(running.when(succeeds('c')).said.at(-1)).toBe('failed blocked');
    expect(held.when(byHand('resume', { node: id('d') }), succeeds('d')).said.at(-1)).toBe('failed blocked');
  });
});
