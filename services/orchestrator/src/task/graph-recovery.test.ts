import type { AssessFailure, RecordAttempt } from '@holdpoint/contracts/recovery/commands';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { rollbackIdOf } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { RollbackInputs } from '@holdpoint/contracts/recovery/rollback';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  type Answer,
  answers,
  approves,
  breaks,
  ended,
  fails,
  locked,
  rejects,
  succeeds,
} from '../../testing/answers.ts';
import { agent, control, effect, gate, id, lock, merge, node } from '../../testing/graphs.ts';
import { play, REPOSITORY } from '../../testing/play.ts';
import { byHand, NOW, TASK, verdictOf } from '../../testing/tasks.ts';
import { taskView } from '../queries/task-view.ts';
import { nodeState } from './model/state.ts';
import { markUndone } from './evolve/retries.ts';

const RollbackOrdered = z.object({ inputs: JsonObject });
const WRITE = { file: 'somewhere', content: 'x' };
const RECOVER = { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 } as const;
const BASE = 'b'.repeat(40);
const GOOD = 'a'.repeat(40);
const place = { worktree: '.holdpoint/worktrees/w', branch: 'draft/w' } as const;
const prepared = { context: place, outputs: { ...place, commit: BASE } };

/** A verdict on the attempt that failed last. */
const says =
  (name: string, kind: Verdict['kind'], change: Partial<Verdict> = {}): Answer =>
  (task) => ({
    kind: 'recover',
    payload: {
      task: TASK,
      node: id(name),
      attempt: nodeState(task, id(name)).attempt,
      verdict: { ...verdictOf(kind), class: 'VERIFICATION_FAILED', ...change },
    },
    task: TASK,
  });
/** prepare → work (an agent) → check, with a route back to work, then last. */
const working = (budget = 9) =>
  play(
    [
      node('prepare', { uses: 'cap.env.builtin.worktree.prepare' }),
      agent('work', { uses: 'cap.agent.invoke', after: ['prepare'], onError: RECOVER }),
      gate('check', {
        after: ['work'],
        on: { failed: ['work'] },
        onError: RECOVER,
        retry: { mode: 'until_gate', budget },
      }),
      node('last', { after: ['check'] }),
      node('beside'),
    ],
    { repository: REPOSITORY },
  ).when(succeeds('prepare', prepared));
const APPROACH = { report: { approach: 'I change the type', files: ['a.ts'] } };
const FAILED = { exitCode: 1, hint: 'a test failed' };
const failedCheck = (budget?: number) =>
  working(budget).when(succeeds('work', APPROACH), fails('check', FAILED));
const assessed = (of: ReturnType<typeof working>): AssessFailure =>
  of.sent('recovery.assess')[0]?.data as unknown as AssessFailure;

describe('a failed result', () => {
  test('a failed result requests a verdict with the attempt, its output and its place', () => {
    const failed = failedCheck();
    expect(failed.said).toEqual(['node_failed check.run failed']);
    expect(failed.task.phase).toBe('recovering');
    expect(assessed(failed)).toEqual({
      task: TASK,
      node: 'check',
      attempt: 1,
      uses: 'control.gate.stop_condition',
      workflow: 'graph@1',
      goal: 'all of it',
      exitCode: 1,
      report: APPROACH.report,
      place: { ...place, base: BASE },
      outcome: 'failed',
      error: { code: 'NODE_FAILED', message: 'exit code 1', details: { outcome: 'failed' } },
      output: 'a test failed',
      dependents: { nodes: ['last'], count: 1, critical: true },
    });
  });

  test('the request has the rules of the repository', () => {
    const definition = {
      id: 'graph',
      version: '1',
      nodes: [node('only', { onError: RECOVER })],
      recovery: { continues: 2 },
    };
    const failed = play([], { definition } as never).when(fails('only'));
    expect(assessed(failed).rules).toEqual({ continues: 2 });
  });

  test('a failed result without on_error = recover ends the node', () => {
    expect(play([node('only')]).when(fails('only')).said).toEqual([
      'node_ended only.run failed',
      'failed failed',
    ]);
  });

  test('a step that did not run requests a verdict despite the rules of the node', () => {
    const broken = working().when(breaks('work'));
    expect(assessed(broken)).toMatchObject({ node: 'work', error: { code: 'EXECUTOR_TARGET_UNAVAILABLE' } });
  });
});

describe('a successful result', () => {
  test('a success is reported where recovery uses it, with the commit that the check passed on', () => {
    const done = working().when(
      succeeds('work', APPROACH),
      succeeds('check', { outputs: { commit: GOOD, clean: true } }),
    );
    expect(done.sent('recovery.record_attempt').map(({ data }) => data)).toMatchObject([
      { task: TASK, node: 'check', attempt: 1, good: GOOD, place: { worktree: place.worktree } },
    ]);
  });

  test('a success after a failure is reported with its own exit code', () => {
    const again = working()
      .when(fails('work', { exitCode: 3 }), says('work', 'retry'))
      .wait(1);
    const records = [{}, { exitCode: 0 }].flatMap((result) =>
      again
        .when(succeeds('work', result))
        .sent('recovery.record_attempt')
        .map(({ data }) => data as RecordAttempt),
    );
    expect(records.map(({ exitCode }) => exitCode)).toEqual([undefined, 0]);
  });

  test.each([
    ['a tree that is not clean', { commit: GOOD, clean: false }],
    ['what is no commit', { commit: 'main', clean: true }],
  ])('a success is reported without a good commit for %s', (_what, outputs) => {
    const done = working().when(succeeds('work'), succeeds('check', { outputs }));
    expect(done.sent('recovery.record_attempt')[0]?.data).not.toHaveProperty('good');
  });

  test('other successes are not reported', () => {
    expect(working().when(succeeds('beside')).sent('recovery.record_attempt')).toEqual([]);
  });
});

describe('the verdict retry', () => {
  const hint = '## Earlier attempts\n\n- one';

  test('the verdict retry restarts the work with its hint', () => {
    const back = failedCheck().when(says('check', 'retry', { hint }));
    expect(back.said).toEqual(['restarted work,check', 'step_ordered work.run#2']);
    const [order] = back.sent('effect.run');
    expect(order?.data).toMatchObject({ effect: { args: { hint, reports: true } } });
    expect(back.task.phase).toBe('executing');
  });

  test.each(['TRANSIENT', 'WORKER_CRASH', 'CONTEXT_EXHAUSTED'] as const)(
    'a failure that is not the fault of the work (%s) retries the check itself',
    (found) => {
      const back = failedCheck().when(says('check', 'retry', { class: found, delayMs: 2_000 }));
      expect(back.said).toEqual(['node_retrying check#2']);
      expect(back.wait(2_000).said).toEqual(['step_ordered check.run#2']);
    },
  );

  test('the verdict retry of an agent starts its next attempt with the hint', () => {
    const again = working()
      .when(fails('work', { exitCode: 3 }), says('work', 'retry', { hint }))
      .wait(1);
    expect(again.said).toEqual(['step_ordered work.run#2']);
    expect(again.node('work').hint).toBe(hint);
  });

  test('a retry beyond the budget of the template goes to a person', () => {
    const refused = failedCheck(0).when(says('check', 'retry'));
    expect(assessed(refused).refused).toBe('the retry budget of its template is used up');
    expect(refused.wait(20_000).sent('recovery.assess')[0]?.data).toEqual(assessed(refused));
    expect(() => refused.when(says('check', 'retry'))).toThrow('changes something');
    const stuck = refused.when(says('check', 'escalate', { reason: 'given up' }));
    expect(stuck.said).toEqual(['node_escalated check', 'stuck_asked check']);
    expect(stuck.node('check').reason).toBe('given up');
  });

  test('a repeated verdict starts one attempt', () => {
    const verdict = says('check', 'retry', { hint });
    const failed = failedCheck();
    const message = verdict(failed.task);
    expect(
      failed
        .when(message, () => byHand('pause'))
        .when(() => byHand('resume'))
        .node('check').attempt,
    ).toBe(2);
  });
});

/** The inputs of the rollback task. */
const inputsIn = (of: ReturnType<typeof working>): RollbackInputs => {
  const submitted = SubmitTask.parse(of.sent('task.submit')[0]?.data);
  return RollbackInputs.parse(submitted.inputs);
};

describe('a rollback', () => {
  const BY = rollbackIdOf(TASK, id('check'), 1);
  const ordered = () =>
    failedCheck().when(says('check', 'rollback', { class: 'BROKEN_BUILD', commit: GOOD, hint: 'otherwise' }));

  test('the rollback is a task of its own, submitted and watched until it has ended', () => {
    const task = ordered();
    expect(task.said).toEqual(['rollback_ordered check']);
    expect(task.task.phase).toBe('recovering');
    const [submitted] = task.sent('task.submit');
    expect(submitted).toMatchObject({
      id: `task.submit.${BY}.0`,
      data: { id: BY, workflow: 'rollback', repository: REPOSITORY, requestedBy: 'linus' },
    });
    expect(inputsIn(task)).toEqual({
      task: TASK,
      node: 'check',
      attempt: 1,
      commit: GOOD,
      place: { ...place, base: BASE },
    });
    expect(task.sent('task.watch')[0]?.data).toEqual({ id: BY, watcher: TASK });
    const later = task.wait(20_000);
    expect(later.sent('task.submit')[0]).toMatchObject({ id: `task.submit.${BY}.1`, data: submitted?.data });
    expect(later.sent('task.watch')).toHaveLength(1);
  });

  test('a successful rollback is followed by the next attempt', () => {
    const task = ordered().when(ended(BY, 'succeeded'));
    expect(task.said).toEqual([
      'rollback_ended check succeeded',
      'restarted work,check',
      'step_ordered work.run#2',
    ]);
    expect(task.node('work').hint).toBe('otherwise');
  });

  test.each(['failed', 'blocked', 'cancelled'] as const)(
    'a rollback that ended as %s makes the job stuck',
    (outcome) => {
      const task = ordered().when(ended(BY, outcome));
      expect(task.said[0]).toBe(`rollback_ended check ${outcome}`);
      expect(assessed(task).refused).toBe(`the rollback ended as ${outcome}: see task ${BY}`);
      expect(task.when(says('check', 'escalate')).said).toEqual([
        'node_escalated check',
        'stuck_asked check',
      ]);
    },
  );

  test('inputs with fields of a newer release are folded', () => {
    const { task } = ordered();
    const { inputs } = RollbackOrdered.parse(nodeState(task, id('check')).preparation);
    expect(markUndone(task, { ...inputs, later: true })).toEqual(task);
  });

  test('an unknown rollback task is waited for', () => {
    const task = ordered();
    expect(() => task.when(ended(BY, 'unknown'))).toThrow('changes something');
  });

  test('the rollback is cancelled with its job', () => {
    const task = ordered().when(() => byHand('cancel', { node: id('check') }));
    expect(task.sent('task.cancel')[0]?.data).toMatchObject({ id: BY, by: TASK, ifOpen: true });
  });

  describe('a cancelled rollback', () => {
    const AGAIN = `withdraw:check:${BY}`;
    const off = () => ordered().when(() => byHand('cancel', { node: id('check') }));
    const again =
      (attempt: number): Answer =>
      () => ({ kind: 'timer', name: AGAIN, data: { attempt } });

    test('the cancellation and the watch are sent again until the rollback has ended', () => {
      const later = off().when(again(1));
      expect(later.made.send).toMatchObject([
        { id: `task.cancel.${BY}.1`, data: { id: BY, by: TASK, ifOpen: true } },
        { subject: 'hp.cmd.task.watch', data: { id: BY, watcher: TASK } },
      ]);
      expect(later.timers.has(AGAIN)).toBe(true);
      for (const outcome of ['cancelled', 'succeeded', 'failed'] as const)
        expect(later.when(ended(BY, outcome)).timers.has(AGAIN)).toBe(false);
    });

    test('the cancellation is sent again until its tombstone answers, however long that takes', () => {
      expect(() => off().when(ended(BY, 'unknown'))).toThrow('changes something');
      const later = off().wait(7_200_000);
      expect(later.timers.has(AGAIN)).toBe(true);
      expect(later.when(ended(BY, 'cancelled')).timers.has(AGAIN)).toBe(false);
    });
  });

  test('the rollback covers the applied effects, latest first, and holds the locks of the job', () => {
    const task = play(
      [
        node('prepare', { uses: 'cap.env.builtin.worktree.prepare' }),
        agent('work', { uses: 'cap.agent.invoke', after: ['prepare'] }),
        effect('write', { after: ['work'], uses: 'cap.file.write', args: WRITE }, { effectClass: 'fenced' }),
        effect('tell', { after: ['write'] }, { idempotencyKey: 'told' }),
        gate('check', {
          after: ['tell'],
          on: { failed: ['work'] },
          onError: RECOVER,
          locks: [lock('branch:draft/w', 'shared')],
        }),
      ],
      { repository: REPOSITORY },
    ).when(succeeds('prepare', prepared), succeeds('work'));
    const written = task.when(
      succeeds('write', { outputs: { before: null } }, 'preview'),
      approves('write'),
      (each) => ({ ...succeeds('write')(each) }),
    );
    const told = written.when(approves('tell'), succeeds('tell'));
    const checked = told.when((each) => ({
      kind: 'notify',
      payload: {
        id: TASK,
        notification: {
          kind: 'locks',
          task: TASK,
          node: id('check'),
          attempt: nodeState(each, id('check')).attempt,
          repository: 'r-0000000000000000' as never,
          acquired: true,
          waitingFor: [],
        },
      },
      task: TASK,
    }));
    const failed = checked.when(fails('check', FAILED));
    expect(assessed(failed).effects).toEqual([
      { node: 'tell', uses: 'cap.file.append', target: 'file:somewhere' },
      {
        node: 'write',
        uses: 'cap.file.write',
        target: 'file:somewhere',
        compensate: 'cap.file.write.compensate',
      },
    ]);
    const back = failed.when(says('check', 'rollback', { class: 'BROKEN_BUILD', commit: GOOD }));
    const inputs = inputsIn(back);
    expect(inputs.undo?.map(({ uses }) => uses)).toEqual(['cap.file.write.compensate']);
    expect(inputs.locks).toEqual([{ key: 'branch:draft/w', mode: 'exclusive' }]);
    // A repeat is another effect, because the ledger has the first one as applied.
    const before = [back.node('write').gate?.effectId, back.node('tell').gate?.effectId];
    const again = back.when(
      ended(BY, 'succeeded'),
      succeeds('work'),
      succeeds('write', { outputs: { before: null } }, 'preview'),
      approves('write'),
      succeeds('write'),
    );
    const [write, tell] = [again.node('write').gate, again.node('tell').gate];
    expect(write?.effect.idempotencyKey).toMatch(/^once@[0-9a-f]{16}~1$/);
    expect(write?.effectId).not.toBe(before[0]);
    // An effect without a rollback stays the same and is not applied twice.
    expect(tell?.effectId).toBe(before[1]);
  });

  test('without a repository a person decides instead of a rollback', () => {
    const refused = play([node('only', { onError: RECOVER })]).when(
      fails('only'),
      says('only', 'rollback', { commit: GOOD }),
    );
    expect(assessed(refused).refused).toBe('a rollback is impossible here: no repository or no commit');
    expect(refused.when(says('only', 'escalate')).said).toEqual(['node_escalated only', 'stuck_asked only']);
  });
});

describe('a new session', () => {
  const SPENT = { report: { done: 'wrote one', next: 'write two', stop: 'context_exhausted' } } as const;
  const going = () =>
    working().when(
      fails('work', SPENT),
      says('work', 'continue', { class: 'CONTEXT_EXHAUSTED', session: 2, hint: '## Earlier attempts' }),
    );

  test('the hand-off commits the worktree of the job first', () => {
    const task = going();
    expect(task.said).toEqual(['handoff_ordered work', 'step_ordered work.handoff']);
    expect(task.sent('effect.run')[0]?.data).toMatchObject({
      effect: {
        uses: 'cap.env.builtin.git.handoff',
        kind: 'work',
        args: { with: { base: BASE }, context: place },
      },
    });
    expect(task.statusOf('work', 'check')).toEqual(['recovering', 'idle']);
    expect(task.wait(20_000).sent('effect.run')).toHaveLength(1);
  });

  test('the next session gets the goal, the progress, the next steps and the earlier attempts', () => {
    const task = going()
      .when(succeeds('work', { outputs: { log: ['wip: one'], files: ['one.txt'] } }))
      .wait(0);
    const { hint = '' } = task.node('work');
    for (const said of [
      '### Goal',
      'all of it',
      'wrote one',
      'write two',
      '- wip: one',
      '- one.txt',
      '## Earlier attempts',
    ])
      expect(hint).toContain(said);
    expect(task.node('work').session).toBe(2);
    expect(task.said).toEqual(['step_ordered work.run#2']);
  });

  test.each([
    ['fails', fails('work')],
    ['cannot be carried out', breaks('work')],
  ])('the next session begins although the commit %s, because the files are there', (_how, answer) => {
    expect(going().when(answer).said).toEqual(['node_retrying work#2']);
  });

  describe('a session hand-off of a job with locks', () => {
    const WORK = { uses: 'cap.agent.invoke', after: ['prepare'], onError: RECOVER } as const;
    const failed = (result = {}) =>
      play(
        [
          node('prepare', { uses: 'cap.env.builtin.worktree.prepare' }),
          agent('work', { ...WORK, locks: [lock('branch:draft/w', 'exclusive')] }),
          node('beside'),
        ],
        { repository: REPOSITORY },
      ).when(succeeds('prepare', prepared), locked('work'), fails('work', result));
    const released = (task: ReturnType<typeof failed>) =>
      task.sent('task.registry').map(({ data }) => (data as { request: { kind: string } }).request.kind);

    test('the hand-off commits before the locks are released', () => {
      const task = failed(SPENT);
      expect([released(task), task.node('work').locks]).toEqual([[], 'held']);
      const going = task.when(says('work', 'continue', { class: 'CONTEXT_EXHAUSTED', session: 2 }));
      expect(going.said).toEqual(['handoff_ordered work', 'step_ordered work.handoff']);
      expect([released(going), going.node('work').locks]).toEqual([[], 'held']);
      const next = going.when(succeeds('work'));
      expect([released(next), next.node('work').locks]).toEqual([['release'], undefined]);
      expect(next.wait(0).said).toEqual(['locks_requested work#2']);
    });

    test.each([
      ['is tried again', says('work', 'retry')],
      ['is stuck', says('work', 'escalate')],
      ['is taken back first, by a task that takes them itself', says('work', 'rollback', { commit: GOOD })],
      ['is cancelled', () => byHand('cancel', { node: id('work') })],
    ] as const)('the locks are released when the job %s', (_what, then) => {
      const task = failed().when(then);
      expect([released(task), task.node('work').locks]).toEqual([['release'], undefined]);
    });

    test('the locks are released with the failure when there is nothing to commit', () => {
      const task = play(
        [agent('only', { uses: 'cap.agent.invoke', onError: RECOVER, locks: [lock('one')] })],
        {
          repository: REPOSITORY,
        },
      ).when(locked('only'), fails('only', SPENT));
      expect(released(task)).toEqual(['release']);
    });
  });

  test('a hand-off without a worktree starts the next session at once', () => {
    const task = play([agent('only', { uses: 'cap.agent.invoke', onError: RECOVER })]).when(
      fails('only', SPENT),
      says('only', 'continue', { session: 2 }),
    );
    expect(task.said).toEqual(['handoff_ordered only', 'node_retrying only#2']);
  });
});

describe('a job that is stuck', () => {
  const stuck = () => failedCheck().when(says('check', 'skip', { report: '# stuck' }));

  test('a stuck job blocks its dependents and nothing else', () => {
    const task = stuck();
    expect(task.said).toEqual(['node_escalated check', 'stuck_asked check']);
    expect(task.sent('approval.request')[0]?.data).toMatchObject({
      body: '# stuck',
      stuck: { class: 'VERIFICATION_FAILED', reason: 'because' },
      effect: { kind: 'other', target: `job:${TASK}/check` },
    });
    expect(task.when(succeeds('beside')).statusOf('last', 'beside')).toEqual(['idle', 'succeeded']);
    expect(task.task.phase).toBe('paused');
  });

  test('the answer retry follows the route back with the comment as a hint', () => {
    const task = stuck().when(answers('check', 'retry', 'use the library'));
    expect(task.said).toEqual(['stuck_answered check', 'restarted work,check', 'step_ordered work.run#2']);
    expect(task.node('work').hint).toContain('use the library');
    expect(task.sent('recovery.job_unstuck')[0]?.data).toMatchObject({
      node: 'check',
      attempt: 1,
      resolution: 'retry',
    });
  });

  test("a person's retry does not use the loop budget", () => {
    const granted = failedCheck(1)
      .when(says('check', 'escalate', { class: 'TRANSIENT' }), answers('check', 'retry'))
      .when(fails('check', FAILED));
    expect(granted.node('check').loops ?? 0).toBe(0);
    expect(granted.when(says('check', 'retry')).said).toEqual([
      'restarted work,check',
      'step_ordered work.run#2',
    ]);
  });

  test.each([
    ['skip', 'node_skipped check', 'skipped', 'skip'],
    ['done', 'node_succeeded check', 'succeeded', 'done'],
  ] as const)('the answer %s ends the job, and its dependents continue', (answer, event, status, how) => {
    const task = stuck().when(answers('check', answer));
    expect(task.said).toEqual(['stuck_answered check', event, 'step_ordered last.run']);
    expect(task.statusOf('check')).toEqual([status]);
    expect(task.sent('recovery.job_unstuck')[0]?.data).toMatchObject({ resolution: how });
  });

  test('the answer cancel ends the job, and its dependents do not start', () => {
    const task = stuck().when(answers('check', 'cancel'));
    expect(task.said.slice(0, 2)).toEqual(['stuck_answered check', 'node_ended check cancelled']);
    expect(task.statusOf('check')).toEqual(['cancelled']);
  });

  test('an unanswered question is asked again', () => {
    const task = stuck().when(answers('check', undefined));
    expect(task.said).toEqual(['stuck_asked check']);
    expect(task.sent('approval.request')).toHaveLength(1);
  });

  test('an operator may mark a stuck job done with outputs', () => {
    const task = stuck().when(() => byHand('done', { node: id('check') }));
    expect(task.said).toEqual(['node_succeeded check', 'step_ordered last.run']);
    expect(task.sent('approval.cancel')).toHaveLength(1);
    expect(task.sent('recovery.job_unstuck')).toHaveLength(1);
  });

  test('dependents show why the job is stuck', () => {
    const task = play([node('only', { onError: RECOVER }), control('after', { after: ['only'] })]).when(
      fails('only'),
      says('only', 'escalate'),
    );
    expect(task.statusOf('after')).toEqual(['idle']);
    const waiting = taskView(task.task).nodes.find((each) => each.id === 'after');
    expect(waiting?.wait?.detail).toBe(`waiting on job ${TASK}/only, which is stuck: because`);
  });
});

describe('the circuit of a workflow', () => {
  const CIRCUIT = 'workflow:graph';
  const held = () => play([node('only')], { openCircuits: [CIRCUIT] });
  const admits =
    (state: 'closed' | 'open' | 'half_open', until?: number): Answer =>
    () => ({
      kind: 'circuit_state',
      payload: { id: TASK, circuit: CIRCUIT, state, ...(until !== undefined && { until }) },
      task: TASK,
    });

  test('an open circuit defers the task, which asks again', () => {
    const task = held();
    expect(task.said).toEqual(['submitted', 'ready', 'deferred']);
    expect(task.task.phase).toBe('circuit_open');
    expect(task.sent('recovery.circuit_acquire')[0]?.data).toEqual({ target: CIRCUIT, task: TASK });
    expect(task.wait(20_000).sent('recovery.circuit_acquire')).toHaveLength(1);
  });

  test('a closed circuit lets the task start', () => {
    const task = held().when(admits('closed'));
    expect(task.said).toEqual(['undeferred', 'step_ordered only.run']);
    expect(task.task.phase).toBe('executing');
    expect(task.when(succeeds('only')).sent('recovery.circuit_acquire')).toEqual([]);
  });

  test('the request for an open circuit is repeated at its time', () => {
    const task = held().when(admits('open', NOW + 90_000));
    expect(task.said).toEqual([]);
    expect(task.wait(80_000).sent('recovery.circuit_acquire')).toEqual([]);
    expect(task.wait(91_000).sent('recovery.circuit_acquire')).toHaveLength(1);
  });

  test.each([
    ['succeeded', succeeds('only')],
    ['failed', fails('only')],
  ])('a trial reports how the task has ended: %s', (how, answer) => {
    const task = held().when(admits('half_open'), answer);
    expect(task.sent('recovery.circuit_acquire')[0]?.data).toEqual({
      target: CIRCUIT,
      task: TASK,
      outcome: how,
    });
  });

  test('a cancelled trial is reported as abandoned', () => {
    const task = held().when(admits('half_open'), () => byHand('cancel'));
    const left = { target: CIRCUIT, task: TASK, abandoned: true };
    expect(task.sent('recovery.circuit_acquire').map(({ data }) => data)).toEqual([left]);
    // The repeated trial gets the outcome again, because the report may have been lost.
    expect(
      task
        .when(admits('half_open'))
        .sent('recovery.circuit_acquire')
        .map(({ data }) => data),
    ).toEqual([left]);
  });

  test.each([
    ['that was called off meanwhile', () => held().when(() => byHand('cancel'))],
    ['that was let start by then', () => held().when(admits('closed'))],
    ['that is done by then', () => held().when(admits('closed'), succeeds('only'))],
  ])('a trial for a task %s is reported as abandoned', (_what, begun) => {
    expect(
      begun()
        .when(admits('half_open'))
        .sent('recovery.circuit_acquire')
        .map(({ data }) => data),
    ).toEqual([{ target: CIRCUIT, task: TASK, abandoned: true }]);
  });

  test('a repeated trial gets the outcome again', () => {
    const task = held().when(admits('half_open'), succeeds('only'), admits('half_open'));
    expect(task.sent('recovery.circuit_acquire')[0]?.data).toEqual({
      target: CIRCUIT,
      task: TASK,
      outcome: 'succeeded',
    });
  });

  test('the circuit of another workflow changes nothing', () => {
    expect(play([node('only')], { openCircuits: ['workflow:other'] }).task.phase).toBe('executing');
  });

  test('a deferred task can be paused and cancelled', () => {
    const task = held();
    expect(task.when(() => byHand('pause')).task.phase).toBe('paused');
    expect(task.when(() => byHand('cancel')).task.phase).toBe('cancelled');
  });
});

describe('a deferred order', () => {
  const holds: Answer = (task) => {
    const { gate: asked, attempt } = nodeState(task, id('call'));
    const about = { id: asked?.effectId, task: TASK, node: id('call'), attempt };
    return {
      kind: 'effect',
      event: {
        type: 'deferred',
        ...about,
        target: 'https://api.example',
        reason: 'its circuit is open',
      } as never,
    };
  };

  test('a deferred order makes the task circuit_open, unless another node runs', () => {
    const task = play([effect('call')]).when(approves('call'), holds);
    expect(task.said).toEqual(['node_deferred call']);
    expect(task.task.phase).toBe('circuit_open');
    const beside = play([effect('call'), node('other')]).when(approves('call'), holds);
    expect(beside.task.phase).toBe('executing');
    expect(beside.when(succeeds('other')).task.phase).toBe('circuit_open');
  });

  test('a late deferral after the order started changes nothing', () => {
    const task = play([effect('call')]).when(approves('call'), holds, (each) => {
      const { event } = holds(each) as { readonly event: object };
      return { kind: 'effect', event: { ...event, type: 'undeferred' } as never };
    });
    expect([task.said, task.task.phase]).toEqual([['node_undeferred call'], 'executing']);
    expect(() => task.when(holds)).toThrow('changes something');
  });

  test('the order continues by itself', () => {
    const task = play([effect('call')]).when(approves('call'), holds, succeeds('call'));
    expect([task.task.phase, task.task.deferredNodes]).toEqual(['completed', 0]);
  });
});

describe('a task budget', () => {
  const spends = (inputTokens: number) => ({
    report: { usage: { inputTokens, outputTokens: 10, costUsd: 0.5, durationMs: 1_000 } },
  });
  const two = (budget: object) =>
    play(
      [
        agent('one', { uses: 'cap.agent.invoke' }),
        agent('two', { uses: 'cap.agent.invoke', after: ['one'] }),
      ],
      {
        policy: { budget },
      },
    ).when(succeeds('one', spends(990)));

  test('an unused budget changes nothing', () => {
    expect(two({ tokens: 1_001 }).said).toEqual(['node_succeeded one.run', 'step_ordered two.run']);
    expect(two({ tokens: 1_001 }).task.spent).toEqual({
      inputTokens: 990,
      outputTokens: 10,
      costUsd: 0.5,
      durationMs: 1_000,
    });
  });

  test.each([
    [{ tokens: 1_000 }, '1000 of 1000 tokens'],
    [{ costUsd: 0.5 }, '0.5 of 0.5 USD'],
    [{ workMs: 1_000 }, '1000 of 1000 ms of work'],
  ])('a used-up budget of %j requests an extension', (budget, used) => {
    const task = two({ ...budget, audience: ['group:leads'] });
    expect(task.said).toEqual(['node_succeeded one.run', 'approval_requested two']);
    expect(task.sent('approval.request')[0]?.data).toMatchObject({
      audience: ['group:leads'],
      title: expect.stringContaining(used) as string,
      effect: { kind: 'other', args: { budget: { extension: 1, more: budget } } },
      policy: { decisions: ['approve', 'reject'] },
    });
  });

  test('an extension doubles the budget and counts once', () => {
    const task = two({ tokens: 1_000 }).when(approves('two'));
    expect(task.said).toEqual([
      'approval_closed two approved',
      'budget_extended two',
      'step_ordered two.run',
    ]);
    expect(task.when(succeeds('two', spends(10))).task.phase).toBe('completed');
  });

  test('a budget exceeded several times over is extended as often before the job starts', () => {
    const task = two({ tokens: 400 }).when(approves('two'));
    expect(task.said).toEqual([
      'approval_closed two approved',
      'budget_extended two',
      'approval_requested two',
    ]);
    const more = task.sent('approval.request')[0]?.data;
    expect(more).toMatchObject({ effect: { args: { budget: { extension: 2 } } } });
    expect(task.when(approves('two')).said.at(-1)).toBe('step_ordered two.run');
  });

  test('the budget is checked before the locks are requested', () => {
    const task = play(
      [
        agent('one', { uses: 'cap.agent.invoke' }),
        agent('two', { uses: 'cap.agent.invoke', locks: [lock('one')] }),
        agent('three', { uses: 'cap.agent.invoke', after: ['one'], locks: [lock('one')] }),
      ],
      { repository: REPOSITORY, policy: { budget: { tokens: 1_000 } } },
    ).when(succeeds('one', spends(990)));
    expect(task.said).toEqual(['node_succeeded one.run', 'approval_requested three']);
    expect(task.when(locked('two')).said).toEqual(['locks_acquired two', 'step_ordered two.run']);
  });

  test('a refused extension blocks the job', () => {
    const task = two({ tokens: 1_000 }).when(rejects('two'));
    expect(task.task.error?.code).toBe('ERR_FORBIDDEN');
  });

  test('the approval of another effect is no extension', () => {
    const task = play(
      [
        agent('one', { uses: 'cap.agent.invoke' }),
        agent('two', { uses: 'cap.agent.invoke', approval: { audience: ['operators'], timeoutMs: 60_000 } }),
        agent('three', { uses: 'cap.agent.invoke', after: ['one', 'two'] }),
      ],
      { policy: { budget: { tokens: 1_000 } } },
    ).when(approves('two'), succeeds('one', spends(2_000)), succeeds('two'));
    expect(task.said).toEqual(['node_succeeded two.run', 'approval_requested three']);
  });

  test('effects need no budget, because they have their own approval', () => {
    const task = play([agent('one', { uses: 'cap.agent.invoke' }), merge('two', { after: ['one'] })], {
      policy: { budget: { tokens: 1 } },
    }).when(succeeds('one', spends(10)));
    expect(task.said).toEqual(['node_succeeded one.run', 'step_ordered two.preview']);
  });
});
