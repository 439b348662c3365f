import type { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import type { Gate, Suggestion } from '@holdpoint/contracts/workflow/gate';
import { CALLS, read } from '@holdpoint/workflows/testing/gate';
import { describe, expect, test } from 'vitest';
import {
  answers,
  applied,
  approves,
  breaks,
  expires,
  fails,
  givesUp,
  rejects,
  reports,
  succeeds,
  wantsChanges,
  wantsChangesInTime,
} from '../../testing/answers.ts';
import {
  agent,
  APPROVAL,
  effect,
  gate,
  gatedEffect,
  id,
  lock,
  node,
  template,
} from '../../testing/graphs.ts';
import { type Play, play, REPOSITORY } from '../../testing/play.ts';
import { byHand, recover } from '../../testing/tasks.ts';

const hintOf = (task: Play, name: string): unknown => {
  const [order] = task.sent('effect.run');
  expect(order?.data).toMatchObject({ effect: { node: name } });
  const data = order?.data as { effect: { args: { hint?: string } } } | undefined;
  return data?.effect.args.hint;
};
const refusals = (task: Play) =>
  (task.task.checkpoints ?? []).flatMap(({ kind, name, reason }) =>
    kind === 'suggestion_refused' ? [`${name ?? ''}: ${reason}`] : [],
  );
const returned = (change: Partial<Suggestion>): Suggestion => ({
  emit: 'return_to_orchestrator',
  ...change,
});

const decided = (task: Play) =>
  (task.task.checkpoints ?? []).filter(({ kind }) => kind === 'resume_granted' || kind === 'resume_blocked');

describe('a decision', () => {
  test('an approval records who granted it, the key and the note, without a further event', () => {
    const task = play([gatedEffect('a')]).when(approves('a', { comment: 'as agreed' }));
    expect(task.said).toEqual(['effect_ordered a']);
    expect(decided(task)).toEqual([
      {
        kind: 'resume_granted',
        node: 'a',
        attempt: 1,
        revision: 1,
        reason: 'approved by grace: as agreed',
        payload: { decision: 'approved', idempotency_key: 'once' },
        by: 'grace',
      },
    ]);
  });

  test.each([
    ['rejects', rejects, 'rejected'],
    ['expires', expires, 'expired'],
    ['requests changes', wantsChanges, 'request_changes'],
  ] as const)(
    'a decision that %s records who blocked the effect, the key and the note',
    (_, act, decision) => {
      const task = play([gatedEffect('a')]).when(act('a'));
      expect(decided(task)).toMatchObject([
        { kind: 'resume_blocked', node: 'a', payload: { decision, idempotency_key: 'once' } },
      ]);
    },
  );

  test('an approval of a paused task is granted, and one that the gate stops is blocked', () => {
    const paused = play([gatedEffect('a')]).when(byHand('pause'), approves('a'));
    expect(decided(paused)).toMatchObject([{ kind: 'resume_granted', by: 'grace' }]);
    const onDecision = { approve: returned({ phase: 'blocked' }) };
    const stopped = play([gatedEffect('a', { onDecision })]).when(approves('a'));
    expect(decided(stopped)).toMatchObject([{ kind: 'resume_blocked', by: 'grace' }]);
  });

  test('the task shows its latest approval before and after the decision', () => {
    const task = play([gatedEffect('a')]);
    expect(task.task.latestApproval).toMatchObject({ node: 'a', attempt: 1, status: 'pending' });
    expect(task.when(approves('a', { comment: 'fine' })).task.latestApproval).toMatchObject({
      status: 'approved',
      by: 'grace',
      note: 'fine',
    });
    expect(task.when(rejects('a')).task.latestApproval).toMatchObject({ status: 'rejected', by: 'grace' });
  });

  const branch = (outcome: string, change: Partial<Gate['resumeBranches'][number]>): Partial<Gate> => ({
    loadContext: ['task'],
    resumePolicy: 'branches',
    resumeBranches: [
      { when: `task.approvals.latest.status == "${outcome}"`, emit: 'resume_executor', ...change },
    ],
  });

  test('a branch gives the payload of the decision, and records a checkpoint of its own', () => {
    const checkpoints = [
      { checkpoint: 'resume_granted', payload: { resumed_by: '{{ lobster.actor }}' } },
      {
        checkpoint: 'released',
        note: '{{ decision.comment }}',
        payload: { goal: '{{ task.spec.goal }}', n: '{{ 1 + 1 }}' },
      },
    ];
    const task = play([gatedEffect('a', branch('approved', { checkpoints }))]).when(
      approves('a', { comment: 'go' }),
    );
    expect(decided(task)).toMatchObject([{ kind: 'resume_granted', payload: { resumed_by: 'grace' } }]);
    expect(task.task.checkpoints).toContainEqual(
      expect.objectContaining({
        kind: 'noted',
        name: 'released',
        reason: 'released: go',
        payload: { goal: 'all of it', n: 2 },
      }),
    );
  });

  test('a payload above its limit fails the node', () => {
    const checkpoints = [{ checkpoint: 'large', payload: { all: '{{ inputs.big }}' } }];
    const inputs = { big: { type: 'string' as const, default: 'x'.repeat(5_000) } };
    const task = play([gatedEffect('a', { ...branch('approved', { checkpoints }), inputs })]).when(
      approves('a'),
    );
    expect(task.node('a').error).toMatchObject({ code: 'NODE_EXPRESSION' });
  });

  test('execution_ready returns the task to the agent before the effect', () => {
    const change = { emit: 'return_to_orchestrator', phase: 'execution_ready' } as const;
    const gated = gatedEffect('a', branch('rejected', change), { after: ['writer'] });
    const task = play([agent('writer'), gated]).when(
      succeeds('writer'),
      rejects('a', { comment: 'not yet' }),
    );
    expect(task.said).toEqual([
      'approval_closed a rejected',
      'restarted writer,a',
      'step_ordered writer.run#2',
    ]);
    expect(hintOf(task, 'writer')).toBe('rejected by grace: not yet');
    const alone = play([gatedEffect('a', branch('rejected', change))]).when(rejects('a'));
    expect(refusals(alone)).toEqual([
      'on_decision: return_to_orchestrator was suggested: no agent works before the effect',
    ]);
  });
});

describe('a gate that is written as calls of tools', () => {
  const { gate: calls } = read(CALLS);
  const held = (shape: Parameters<typeof gatedEffect>[2] = {}) => gatedEffect('a', calls, shape);

  test('its request has every fact, and its branches resume or block the effect', () => {
    const task = play([held()], { acceptanceCriteria: ['it is signed'] });
    const [request] = task.sent('approval.request');
    expect(request?.data).toMatchObject({
      title: 'Release: cap.file.append on file:somewhere',
      audience: ['release-owners'],
      gate: 'release@0.1',
      body: 'all of it awaiting_approval a/1 once\nall of it\n- it is signed\n\nnone none\nnone\nnone provided\n',
    });
    expect(task.task.checkpoints).toMatchObject([{ name: 'opened', payload: { key: 'once' } }]);
    const approved = task.when(approves('a'));
    expect(approved.said).toEqual(['effect_ordered a']);
    expect(decided(approved)).toMatchObject([
      { kind: 'resume_granted', payload: { resumed_by: 'grace', key: 'once' } },
    ]);
    expect(decided(task.when(rejects('a')))).toMatchObject([{ kind: 'resume_blocked' }]);
  });

  test('a rejection returns to the agent before the effect', () => {
    const task = play([agent('writer'), held({ after: ['writer'] })]).when(succeeds('writer'));
    expect(task.when(rejects('a')).said).toContain('restarted writer,a');
    expect(task.when(wantsChanges('a')).said).toContain('restarted writer,a');
  });
});

describe('requested changes', () => {
  const written = (gated = effect('a', { after: ['check'] })) =>
    play([
      agent('first'),
      agent('writer', { after: ['first'] }),
      node('check', { after: ['writer'] }),
      gated,
    ]).when(succeeds('first'), succeeds('writer'), succeeds('check'));

  test('requested changes restart the nearest agent with the comments as its hint', () => {
    const back = written().when(wantsChanges('a', { comment: 'shorter, please' }));
    expect(back.said).toEqual([
      'approval_closed a changes_requested',
      'restarted writer,check,a',
      'step_ordered writer.run#2',
    ]);
    expect(hintOf(back, 'writer')).toBe('changes requested by grace: shorter, please');
    expect(back.made.events).toContainEqual(expect.objectContaining({ type: 'restarted', by: 'grace' }));
    // A decided request needs no withdrawal.
    expect(back.sent('approval.cancel')).toEqual([]);
  });

  test('requested changes lead to another request with the next revision', () => {
    const first = written();
    const next = first.when(wantsChanges('a'), succeeds('writer'), succeeds('check'));
    expect(next.said.at(-1)).toBe('approval_requested a#2');
    expect(next.node('a').revision).toBe(2);
    expect(next.node('a').gate?.approval).not.toBe(first.node('a').gate?.approval);
    expect(next.when(approves('a'), applied('a')).task.phase).toBe('completed');
  });

  test('the hint names every person who requested changes', () => {
    const vote = { decision: 'request_changes', at: 1 } as const;
    const votes = [
      { by: 'linus', comment: 'and a test', ...vote },
      { by: 'grace', comment: 'shorter', ...vote },
      { by: 'ada', decision: 'approve' as const, comment: 'fine', at: 1 },
    ];
    const back = written().when(wantsChanges('a', { comment: 'shorter', votes }));
    expect(hintOf(back, 'writer')).toBe('changes requested by grace: shorter\nlinus: and a test');
  });

  test('requested changes restart the node that the gate names', () => {
    const onDecision = { request_changes: returned({ to: id('first') }) };
    const back = written(gatedEffect('a', { onDecision }, { after: ['check'] })).when(wantsChanges('a'));
    expect(back.said).toContain('restarted first,writer,check,a');
  });

  test('requested changes restart the nearest agent, and among equals the last one', () => {
    const task = play([
      agent('far'),
      agent('one', { after: ['far'] }),
      agent('two', { after: ['far'] }),
      effect('a', { after: ['one', 'two'] }),
    ]).when(succeeds('far'), succeeds('one'), succeeds('two'), wantsChanges('a'));
    expect(task.said).toContain('restarted two,a');
  });

  test('requested changes follow routes back, past agents that have not run', () => {
    const task = play([
      agent('writer', { on: { succeeded: ['check'], failed: ['mender'] } }),
      agent('mender'),
      node('check', { on: { succeeded: ['a'] } }),
      effect('a'),
    ]).when(succeeds('writer'), succeeds('check'), wantsChanges('a'));
    expect(task.said).toContain('restarted writer,mender,check,a');
  });

  test('changes to a start restart the agent as well', () => {
    const task = play([agent('writer'), node('a', { after: ['writer'], approval: APPROVAL })]);
    expect(task.when(succeeds('writer'), wantsChanges('a')).said).toContain('restarted writer,a');
  });

  test('without an agent an operator is asked, and each answer does what it says', () => {
    const task = play([node('plain'), effect('a', { after: ['plain'] }), node('b', { after: ['a'] })]);
    const failed = task.when(succeeds('plain'), wantsChanges('a', { comment: 'another file' }));
    expect(failed.said).toEqual(['approval_closed a changes_requested', 'node_failed a.run failed']);
    expect(failed.sent('recovery.assess')).toMatchObject([
      { data: { node: 'a', paused: 'changes requested by grace: another file' } },
    ]);
    const paused = failed.when(givesUp('a'));
    expect(paused.said).toEqual(['node_escalated a', 'stuck_asked a']);
    const answered = (answer: StuckAnswer): readonly string[] => paused.when(answers('a', answer)).said;
    expect(answered('retry')).toEqual(['stuck_answered a', 'node_retrying a#2', 'approval_requested a#2']);
    expect(answered('skip')).toEqual(['stuck_answered a', 'node_skipped a', 'step_ordered b.run']);
    expect(answered('done')).toEqual(['stuck_answered a', 'node_succeeded a', 'step_ordered b.run']);
    expect(answered('cancel')).toEqual(['stuck_answered a', 'node_ended a cancelled', 'failed failed']);
  });

  test('the audience of the gate is asked about the job that it paused', () => {
    const request = { audience: ['group:release'], title: 'Release?', onOpen: [] };
    const task = play([gatedEffect('a', { request })]).when(wantsChanges('a'), givesUp('a'));
    expect(task.sent('approval.request')).toMatchObject([{ data: { audience: ['group:release'] } }]);
  });

  test('people may request changes without limit, and use no retry', () => {
    let task = written(effect('a', { after: ['check'], retry: { mode: 'on_failure', budget: 1 } }));
    for (let round = 0; round < 10; round += 1)
      task = task.when(wantsChanges('a'), succeeds('writer'), succeeds('check'));
    expect(task.node('a')).toMatchObject({ status: 'awaiting_approval', attempt: 11, revision: 11 });
    expect(task.node('a').loops).toBeUndefined();
  });

  test('requested changes withdraw the orders after the agent', () => {
    const task = play([
      agent('writer'),
      node('slow', { after: ['writer'] }),
      effect('a', { after: ['writer'] }),
    ]).when(succeeds('writer'), wantsChanges('a'));
    expect(task.sent('effect.cancel')).toHaveLength(1);
    expect(task.statusOf('writer', 'slow', 'a')).toEqual(['running', 'idle', 'idle']);
  });

  test('a paused task follows requested changes once it is resumed', () => {
    const paused = written().when(byHand('pause'), wantsChanges('a', { comment: 'no' }));
    expect(paused.sent('effect.run')).toEqual([]);
    expect(hintOf(paused.when(byHand('resume')), 'writer')).toBe('changes requested by grace: no');
  });

  test('an expired request restarts within the retry budget, and then a person must decide', () => {
    const retry = { mode: 'on_failure', budget: 2 } as const;
    let task = written(gatedEffect('a', {}, { after: ['check'], retry }));
    for (let round = 0; round < 2; round += 1) {
      const back = task.when(wantsChangesInTime('a'));
      expect(hintOf(back, 'writer')).toBe('changes requested by no decision before the deadline');
      task = back.when(succeeds('writer'), succeeds('check'));
    }
    const last = task.when(wantsChangesInTime('a'));
    expect(last.said).toEqual(['approval_closed a#3 changes_requested', 'node_failed a.run#3 failed']);
    const paused = last.when(givesUp('a'));
    expect(paused.node('a').failure?.paused).toBe('no decision before the deadline, 3 times');
    expect(paused.said).toEqual(['node_escalated a#3', 'stuck_asked a#3']);
    // A person's retry resets the count.
    const again = paused.when(byHand('retry'), wantsChanges('a'), succeeds('writer'), succeeds('check'));
    expect(again.when(wantsChangesInTime('a')).said).toContain('restarted writer,check,a');
  });
});

describe("a gate's suggestion for a decision", () => {
  const gated = (onDecision: Gate['onDecision'], more: Partial<Gate> = {}) =>
    play([
      agent('writer'),
      gatedEffect('a', { onDecision, ...more }, { after: ['writer'] }),
      node('after', { after: ['a'] }),
      node('other'),
    ]).when(succeeds('writer'));

  test.each([[undefined], [{ emit: 'resume_executor' }]] as const)(
    'an approved effect runs (%j)',
    (approve) => {
      expect(gated(approve ? { approve } : {}).when(approves('a')).said).toEqual(['effect_ordered a']);
    },
  );

  test('a gate may hold an approved effect for a person, who lets it run under its grant', () => {
    const paused = gated({ approve: returned({ phase: 'paused' }) }).when(approves('a'));
    expect(paused.said).toEqual(['approval_closed a approved', 'node_failed a.run failed']);
    expect(paused.node('a').failure?.paused).toBe('approved by grace, but its gate stopped it');
    expect(paused.when(givesUp('a'), byHand('retry')).said).toEqual([
      'node_retrying a#2',
      'effect_ordered a#2',
    ]);
  });

  test('a gate may block an approved effect', () => {
    const over = gated({ approve: returned({ phase: 'blocked' }) }).when(approves('a'));
    expect(over.node('a')).toMatchObject({ status: 'blocked', error: { code: 'ERR_FORBIDDEN' } });
  });

  test('a gate may request a verdict, which counts like any other', () => {
    const asked = gated({ reject: { emit: 'ask_orchestrator_for_resume_decision' } }).when(
      rejects('a', { comment: 'later' }),
    );
    expect(asked.said).toEqual(['approval_closed a rejected', 'node_failed a.run failed']);
    expect(asked.sent('recovery.assess')[0]?.data).toMatchObject({
      node: 'a',
      outcome: 'failed',
      error: { code: 'ERR_FORBIDDEN', message: 'rejected by grace: later' },
    });
    const again = asked.when(recover('retry', { node: id('a') })).wait(1);
    expect(again.said).toEqual(['approval_requested a#2']);
    expect(asked.when(recover('escalate', { node: id('a') })).statusOf('a')).toEqual(['escalated']);
    const late = gated({ expire: returned({ phase: 'recovering' }) }).when(expires('a'));
    expect(late.sent('recovery.assess')[0]?.data).toMatchObject({ error: { code: 'APPROVALS_EXPIRED' } });
  });

  test('an approved effect under a verdict runs under its grant if the verdict allows it', () => {
    const asked = gated({ approve: returned({ phase: 'recovering' }) }).when(approves('a'));
    const next = asked.when(recover('retry', { node: id('a') })).wait(1);
    expect(next.said).toEqual(['effect_ordered a#2']);
  });

  test('a gate may restart a node after any decision', () => {
    const back = gated({ reject: returned({ to: id('writer') }) }).when(rejects('a', { comment: 'wrong' }));
    expect(back.said).toContain('restarted writer,a');
    expect(hintOf(back, 'writer')).toBe('rejected by grace: wrong');
    const late = gated({ expire: returned({ to: id('a') }) }).when(expires('a'));
    expect(late.said).toEqual(['approval_closed a expired', 'restarted a', 'approval_requested a#2']);
  });

  test('a restart that would not reach the gate is refused and recorded', () => {
    const over = gated({ reject: returned({ to: id('other') }) }).when(rejects('a'));
    expect(refusals(over)).toEqual([
      'on_decision: return_to_orchestrator was suggested: the node is not downstream of other',
    ]);
    expect(over.statusOf('a')).toEqual(['blocked']);
  });

  test('running a rejected effect is refused and recorded', () => {
    const always = [{ when: 'true', emit: 'resume_executor' as const }];
    const over = gated({}, { resumePolicy: 'branches', resumeBranches: always });
    for (const [said, status] of [
      [rejects, 'blocked'],
      [expires, 'recovering'],
    ] as const) {
      const ended = over.when(said('a'));
      expect(ended.sent('effect.run')).toEqual([]);
      expect(refusals(ended)).toHaveLength(1);
      expect(ended.statusOf('a')).toEqual([status]);
    }
  });

  test('an expired request pauses the job, and its retry asks again', () => {
    const paused = play([gatedEffect('a')]).when(expires('a'), givesUp('a'));
    expect(paused.node('a').failure).toMatchObject({
      paused: 'expired: no decision before the deadline',
      error: { code: 'APPROVALS_EXPIRED' },
    });
    expect(decided(paused)).toMatchObject([{ reason: 'expired: no decision before the deadline' }]);
    expect(paused.said).toEqual(['node_escalated a', 'stuck_asked a']);
    expect(paused.task.phase).toBe('paused');
    expect(paused.when(byHand('retry')).said).toEqual(['node_retrying a#2', 'approval_requested a#2']);
  });

  test('an effect that gives up at its deadline is blocked', () => {
    const over = play([effect('a', {}, { endsOnExpiry: true })]).when(expires('a'));
    expect(over.node('a')).toMatchObject({
      status: 'blocked',
      error: { code: 'APPROVALS_EXPIRED', message: 'expired: no decision before the deadline' },
    });
  });

  test('running an effect without a grant is refused and recorded', () => {
    const over = gated({ approve: { emit: 'resume_executor' } }).when(approves('a', { grant: undefined }));
    expect(refusals(over)).toHaveLength(1);
    expect(over.node('a').error).toMatchObject({
      code: 'ERR_FORBIDDEN',
      message: 'approved by grace, without a grant',
    });
  });

  test('branches come first and see the decision and the inputs', () => {
    const branches = {
      resumePolicy: 'branches' as const,
      inputs: { size: { type: 'integer' as const } },
      given: { size: '{{ task.goal | length }}' },
      loadContext: ['outputs' as const],
      resumeBranches: [
        { when: 'decision.outcome == "approved" and inputs.size > 100', ...returned({ phase: 'blocked' }) },
        { when: '"retry" in decision.comment', ...returned({ to: id('writer') }) },
        { when: 'decision.by == "linus" and outputs.writer.n == 1', ...returned({ phase: 'paused' }) },
      ],
    };
    const task = gated({ reject: returned({ phase: 'blocked' }) }, branches);
    expect(task.when(approves('a')).said).toEqual(['effect_ordered a']);
    expect(task.when(rejects('a', { comment: 'please retry' })).said).toContain('restarted writer,a');
    expect(task.when(rejects('a', { by: 'linus' })).statusOf('a')).toEqual(['blocked']);
    const counted = play([agent('writer'), gatedEffect('a', { ...branches }, { after: ['writer'] })]).when(
      succeeds('writer', { outputs: { n: 1 } }),
    );
    const paused = counted.when(rejects('a', { by: 'linus' }), givesUp('a'));
    expect(paused.statusOf('a')).toEqual(['escalated']);
  });

  test('an invalid branch condition fails the node', () => {
    const task = gated(
      {},
      { resumePolicy: 'branches', resumeBranches: [{ when: 'decision.no < 1', ...returned({}) }] },
    );
    for (const said of [approves, rejects, wantsChanges]) {
      const failed = task.when(said('a'));
      expect(failed.node('a').error).toMatchObject({ code: 'NODE_EXPRESSION' });
      expect(failed.sent('effect.run')).toEqual([]);
      expect(failed.sent('approval.cancel')).toEqual([]);
      expect(failed.task.outcome ?? failed.task.phase).not.toBe('awaiting_approval');
    }
  });

  test('an approved node with locks requests them as without a gate', () => {
    const locks = [lock('k')];
    const task = play(
      [gatedEffect('a', { onDecision: { approve: { emit: 'resume_executor' } } }, { locks })],
      {
        repository: REPOSITORY,
      },
    );
    expect(task.when(approves('a')).said).toEqual(['approval_closed a approved', 'locks_requested a']);
  });
});

describe('skip_duplicate_effect', () => {
  const skip = { emit: 'skip_duplicate_effect' } as const;
  const looped = play([
    gatedEffect('a', { onDecision: { approve: skip, reject: skip } }),
    gate('g', { after: ['a'], on: { failed: ['a'] } }),
  ]);

  test('without an earlier result the suggestion is refused and the effect runs', () => {
    const task = looped.when(approves('a'));
    expect(task.said).toEqual(['checkpoint a', 'effect_ordered a']);
    expect(refusals(task)).toEqual([
      'on_decision: skip_duplicate_effect was suggested: the effect was not applied before',
    ]);
  });

  test.each([
    ['approved', approves],
    ['rejected', rejects],
  ] as const)('the earlier result counts once the effect was applied (%s)', (outcome, said) => {
    const again = looped.when(approves('a'), applied('a'), fails('g'));
    expect(again.said.at(-1)).toBe('approval_requested a#2');
    const over = again.when(said('a'));
    expect(over.said).toEqual([
      `approval_closed a#2 ${outcome}`,
      'node_succeeded a.run#2',
      'step_ordered g.run#2',
    ]);
    expect(over.node('a').outputs).toEqual({ line: 1 });
    expect(over.sent('effect.run')).toHaveLength(1);
  });

  test('the result of another effect does not count', () => {
    const keyed = play([
      effect(
        'a',
        {},
        {
          idempotencyKey: 'key {{ nodes.other.status }}',
          gate: template({ onDecision: { reject: skip } }),
        },
      ),
      gate('g', { after: ['a'], on: { failed: ['a'] } }),
      node('other'),
    ]).when(approves('a'), applied('a'), succeeds('other'), fails('g'), rejects('a'));
    expect(refusals(keyed)).toHaveLength(1);
    expect(keyed.statusOf('a')).toEqual(['blocked']);
  });
});

describe("a gate's suggestion after a lost worker or a duplicate order", () => {
  const running = (recovery: Gate['recovery']) => play([gatedEffect('a', { recovery })]).when(approves('a'));
  const lost = (next: 'repeat' | 'probe' | 'person') =>
    reports('a', { type: 'in_doubt', epoch: 2, reason: 'it is gone', next, cause: 'worker_lost' });

  test('the gate leaves the failure to recovery', () => {
    for (const onWorkerCrash of [undefined, { emit: 'ask_orchestrator_for_resume_decision' as const }]) {
      const task = running(onWorkerCrash ? { onWorkerCrash } : {}).when(lost('person'));
      expect(task.said).toEqual(['checkpoint a', 'node_failed a.run in_doubt']);
      expect(refusals(task)).toEqual([]);
    }
  });

  test('a gate may ask people at once', () => {
    const task = running({ onWorkerCrash: returned({ phase: 'paused' }) }).when(lost('person'));
    expect(task.said).toEqual(['checkpoint a', 'in_doubt_asked a', 'checkpoint a']);
    expect(task.sent('recovery.assess')).toEqual([]);
    expect(task.sent('approval.request')[0]?.data).toMatchObject({
      inDoubt: { epoch: 2, reason: 'it is gone' },
    });
    expect(task.statusOf('a')).toEqual(['escalated']);
  });

  test('no gate repeats an effect that may have happened', () => {
    const task = running({ onWorkerCrash: { emit: 'resume_executor' } }).when(lost('person'));
    expect(task.sent('effect.run')).toEqual([]);
    expect(refusals(task)).toEqual([
      'on_worker_crash: resume_executor was suggested: the effect may have been applied, and its class forbids a repeat',
    ]);
    expect(task.statusOf('a')).toEqual(['recovering']);
  });

  test('what the effect class allows is left to the executor', () => {
    const task = running({ onWorkerCrash: returned({ phase: 'blocked' }) }).when(lost('repeat'));
    expect(task.said).toEqual(['checkpoint a', 'checkpoint a']);
    expect(refusals(task)).toHaveLength(1);
    expect(task.when(applied('a')).task.phase).toBe('completed');
  });

  test('a duplicate order leads only to the outcome of the effect', () => {
    const again = { type: 'duplicate_prevented', outcome: 'in_doubt' } as const;
    const task = running({ onDuplicateSideEffectAttempt: { emit: 'skip_duplicate_effect' } });
    const prevented = task.when(reports('a', again));
    expect(refusals(prevented)).toEqual([
      'on_duplicate_side_effect_attempt: skip_duplicate_effect was suggested: the effect is not known to be applied',
    ]);
    expect(prevented.statusOf('a')).toEqual(['running']);
    const known = task.when(reports('a', { ...again, outcome: 'applied' }));
    expect(refusals(known)).toEqual([]);
    expect(known.when(applied('a')).task.phase).toBe('completed');
  });

  test('other failures do not concern the gate', () => {
    const task = running({ onWorkerCrash: returned({ phase: 'paused' }) });
    expect(task.when(breaks('a')).said).toEqual(['node_failed a.run failed']);
    const unknown = reports('a', { type: 'in_doubt', epoch: 2, reason: 'who knows', next: 'person' });
    expect(task.when(unknown).said).toEqual(['node_failed a.run in_doubt']);
  });
});
