import type { CommandId } from '@holdpoint/contracts/values/ids';
import { historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import type { PhaseEnd } from '@holdpoint/contracts/program/work';
import { describe, expect, test } from 'vitest';
import { programDecider } from './decide.ts';
import {
  inputRequested,
  beat,
  byHand,
  claim,
  completed,
  effect,
  end,
  failedWith,
  NOW,
  node,
  onError,
  peerEnded,
  programWith,
  record,
  resolved,
  submission,
  TASK,
  taskAfter,
  timer,
} from '../testing/fixture.ts';
import type { ProgramMessage } from './messages.ts';
import { workInputFor } from './order-phase.ts';

const given = specFor(programDecider);
const after = (...messages: readonly ProgramMessage[]) =>
  historyOf(programDecider, ...messages.map((message) => [message, NOW] as const));
const LEASE_MS = 30_000;

/** In the phase with the question, which is open. */
const inReview = [
  submission(),
  claim(1),
  end(1, completed('review')),
  claim(2),
  end(2, inputRequested()),
] as const;
const question = () => taskAfter(...inReview).question?.approval ?? '';

describe('a task of a program', () => {
  test('a new task orders a worker for its first phase', () => {
    given()
      .when(submission(), NOW)
      .thenEmitsLike(
        { type: 'program_submitted', state: { topic: 'tea' }, phase: 'execution_ready' },
        { type: 'phase_ordered', node: 'draft', visit: 1, attempt: 1, lease: 1, activation: 'run' },
      )
      .thenSends({ data: { task: TASK, lease: 1, input: { state: { topic: 'tea' } } } })
      .thenAnswers({ id: TASK, phase: 'executing' });
  });

  test.each([
    ['a phase that is not there', { initial: node('nowhere') }],
    ['no end', { phases: programWith().phases.filter(({ type }) => type !== 'terminal') }],
    ['two phases of one name', { phases: [...programWith().phases, ...programWith().phases] }],
  ])('a program with %s is refused', (_what, wrong) => {
    given()
      .when(submission({ ...programWith(), ...wrong }), NOW)
      .thenRefuses('ORCHESTRATOR_PROGRAM_INVALID');
  });

  test('another submission under the same id is refused', () => {
    given(...after(submission()))
      .when(submission(programWith(), { topic: 'coffee' }), NOW)
      .thenRefuses('ORCHESTRATOR_TASK_CONFLICT');
  });

  test('each phase sees the state that the previous phase left', () => {
    given(...after(submission(), claim(1)))
      .when(end(1, completed('review', { topic: 'green tea' })), NOW)
      .thenEmitsLike(
        { type: 'phase_completed', node: 'draft', next: 'review' },
        { type: 'phase_ordered', node: 'review', visit: 2, attempt: 1, lease: 2 },
      )
      .thenSends({ data: { node: 'review', input: { state: { topic: 'green tea' } } } });
  });

  test('the terminal phase completes the task with its output', () => {
    const program = { ...programWith(), initial: node('done') };
    given(...after(submission(program), claim(1)))
      .when(end(1, completed(undefined, {}, 42)), NOW)
      .thenEmitsLike({ type: 'phase_completed' }, { type: 'completed', outputs: { done: { output: 42 } } });
  });

  test('a failing terminal phase fails the task', () => {
    const program = { ...programWith(), initial: node('dropped') };
    given(...after(submission(program), claim(1)))
      .when(end(1, completed()), NOW)
      .thenEmitsLike({ type: 'phase_completed' }, { type: 'failed', phase: 'failed' });
  });

  test('checkpoints mark where a fork can begin', () => {
    const history = after(submission(), claim(1), end(1, completed('review')), claim(2));
    given(...history)
      .when(end(2, { kind: 'skipped', next: node('publish') }), NOW)
      .thenEmitsLike(
        { type: 'phase_skipped', node: 'review' },
        { type: 'state_checkpoint', node: 'publish', visit: 3 },
        { type: 'phase_ordered', node: 'publish' },
      );
  });

  test.each([
    ['where there is none', 'nowhere'],
    ['where it has not said that it may', 'done'],
  ])('a phase cannot lead %s', (_where, next) => {
    given(...after(submission(), claim(1)))
      .when(end(1, completed(next)), NOW)
      .thenEmitsLike(
        { type: 'phase_failed', stage: 'next' },
        { type: 'failed', error: { code: 'PROGRAM_NEXT_UNKNOWN' } },
      );
  });
});

describe('the lease', () => {
  test('an unclaimed order goes to the first worker that answers', () => {
    given(...after(submission()))
      .when(claim(1), NOW)
      .thenEmitsLike({ type: 'phase_started', worker: 'worker-1', lease: 1 })
      .thenAnswers({ lease: 1, leaseMs: LEASE_MS, input: { state: { topic: 'tea' } } });
    given(...after(submission(), claim(1)))
      .when(claim(1, 'worker-2'), NOW)
      .thenRefuses('ORCHESTRATOR_WORK_LOST');
  });

  test('every request of the worker extends the lease', () => {
    given(...after(submission(), claim(1)))
      .when(beat(1), NOW)
      .thenEmits()
      .thenTimes({ set: 'lease', dueAt: NOW + LEASE_MS });
  });

  test('an expired lease goes to another worker, and the first one is refused', () => {
    const lost = after(submission(), claim(1), timer('lease'));
    given(...after(submission(), claim(1)))
      .when(timer('lease'), NOW)
      .thenEmitsLike({ type: 'phase_returned', lost: true }, { type: 'phase_ordered', lease: 2, attempt: 1 });
    for (const late of [
      beat(1),
      end(1, completed('review')),
      record(1, { kind: 'step', key: 'a', output: 1 }),
    ])
      given(...lost)
        .when(late, NOW)
        .thenRefuses('ORCHESTRATOR_WORK_LOST');
  });

  test('the end of a phase ends the lease, and a repeated end gets the same answer', () => {
    given(...after(submission(), claim(1), end(1, completed('review'))))
      .when(end(1, completed('review')), NOW)
      .thenAnswers({ leaseMs: LEASE_MS })
      .thenNothing();
  });

  test('a phase that kills its workers fails in the end', () => {
    const messages: ProgramMessage[] = [submission()];
    for (let lease = 1; lease < 10; lease += 1) messages.push(claim(lease), timer('lease'));
    given(...after(...messages, claim(10)))
      .when(timer('lease'), NOW)
      .thenEmitsLike(
        { type: 'phase_returned', lost: true },
        { type: 'phase_failed', stage: 'worker', error: { code: 'PROGRAM_WORKER_LOST' } },
        { type: 'failed' },
      );
  });

  test('an unclaimed order is sent again, and the task shows that no worker is running', () => {
    given(...after(submission()))
      .when(timer('order', { attempt: 1 }), NOW)
      .thenEmitsLike({
        type: 'phase_waiting',
        reason: expect.stringMatching(/no worker has claimed the order.*reply@1/) as string,
      })
      .thenSends({ data: { lease: 1 } });
  });
});

describe('what a phase records', () => {
  const started = () => after(submission(), claim(1));

  test('the next attempt sees the records of the phase', () => {
    const messages = [
      submission(),
      claim(1),
      record(1, { kind: 'step', key: 'a', output: { b: 1 } }),
    ] as const;
    given(...after(...messages, timer('lease')))
      .when(claim(2, 'worker-2'), NOW)
      .thenAnswers({ input: { entries: [{ kind: 'step', key: 'a', output: { b: 1 } }] } });
    given(...after(...messages))
      .when(record(1, { kind: 'step', key: 'a', output: 'another' }), NOW)
      .thenAnswers({ entry: { output: { b: 1 } } })
      .thenEmits();
  });

  test('the next phase sees only the effects among the records', () => {
    const child = taskAfter(submission(), claim(1), record(1, { kind: 'effect', effect: effect() }))
      .entries[0];
    const after2 = taskAfter(
      submission(),
      claim(1),
      record(1, { kind: 'step', key: 'a', output: 1 }),
      record(1, { kind: 'effect', effect: effect() }),
      end(1, completed('review')),
    );
    expect(after2.entries).toEqual([child]);
  });

  test('a sleep uses the clock of the store', () => {
    given(...started())
      .when(record(1, { kind: 'sleep', key: 'nap', ms: 500 }), NOW)
      .thenTimes({ set: 'lease', dueAt: NOW + LEASE_MS }, { set: 'sleep:nap', dueAt: NOW + 500 })
      .thenAnswers({ entry: { until: NOW + 500 } });
    given(
      ...after(
        submission(),
        claim(1),
        record(1, { kind: 'sleep', key: 'nap', ms: 500 }),
        end(1, { kind: 'suspended', on: ['nap'] }),
      ),
    )
      .when(timer('sleep:nap'), NOW + 500)
      .thenEmitsLike({ type: 'phase_entry_completed', key: 'nap' }, { type: 'phase_ordered', lease: 2 });
  });

  test.each([
    ['a record that is too large', { kind: 'step', key: 'a', output: 'x'.repeat(70_000) } as const],
    ['a state that is too large', { kind: 'retry_state', state: { x: 'x'.repeat(300_000) } } as const],
  ])('a record cannot be %s', (_what, wanted) => {
    given(...started())
      .when(record(1, wanted), NOW)
      .thenAnswersError(wanted.kind === 'step' ? 'PROGRAM_RECORDS_TOO_LARGE' : 'PROGRAM_STATE_TOO_LARGE')
      .thenEmits();
  });

  test('one key belongs to one record', () => {
    given(...after(submission(), claim(1), record(1, { kind: 'sleep', key: 'a', ms: 5 })))
      .when(record(1, { kind: 'step', key: 'a', output: 1 }), NOW)
      .thenAnswersError('ORCHESTRATOR_RECORD_CONFLICT')
      .thenEmits();
  });
});

describe('an effect of a phase', () => {
  const asking = [submission(), claim(1), record(1, { kind: 'effect', effect: effect() })] as const;
  const child = () => {
    const [entry] = taskAfter(...asking).entries;
    return entry?.kind === 'effect' ? entry.task : '';
  };

  test.each([
    [{}, { approvalTimeoutMs: 604_800_000 }],
    [{ approvalTimeoutMs: 60_000 }, { approvalTimeoutMs: 60_000, endsOnExpiry: true }],
  ])(
    'its approval waits seven days for a person, unless the program sets a limit (%j)',
    (limit, expected) => {
      given(...after(submission(), claim(1)))
        .when(record(1, { kind: 'effect', effect: { ...effect(), ...limit } }), NOW)
        .thenSends({ data: { definition: { nodes: [{ effect: expected }] } } }, {});
    },
  );

  test('a task of its own runs the effect, with its texts unchanged', () => {
    given(...after(submission(), claim(1)))
      .when(record(1, { kind: 'effect', effect: effect() }), NOW)
      .thenEmitsLike({ type: 'phase_recorded', entry: { kind: 'effect', key: 'effect:publish' } })
      .thenSends(
        {
          subject: 'hp.cmd.task.submit',
          data: {
            id: child(),
            requestedBy: 'ada',
            definition: {
              id: 'reply',
              nodes: [
                {
                  verbatim: true,
                  args: { line: '{{ as it is }}' },
                  effect: { effectClass: 'keyed', kind: 'write_external' },
                },
              ],
            },
          },
        },
        { subject: 'hp.cmd.task.watch', data: { id: child(), watcher: TASK } },
      );
  });

  test('the task of the effect shows criteria, reviews and artifact of the program', () => {
    const first = submission();
    const asked =
      first.kind === 'submit'
        ? { ...first, payload: { ...first.payload, acceptanceCriteria: ['it is kind'] } }
        : first;
    const review = { kind: 'spec', verdict: 'passed', summary: 'as agreed' } as const;
    const artifact = {
      uri: `artifact://${'a'.repeat(64)}` as const,
      sha256: 'a'.repeat(64),
      bytes: 4,
      mediaType: 'text/plain',
      name: 'letter',
    };
    const byGrace = {
      kind: 'record_review',
      payload: { id: TASK, kind: 'quality', verdict: 'failed', summary: 'too long', by: 'grace' },
      commandId: 'c-1' as CommandId,
    } as const;
    const reviewed = after(
      asked,
      claim(1),
      record(1, { kind: 'review', key: 'review:spec#1@1', review }),
      record(1, { kind: 'artifact', key: 'artifact:letter', artifact }),
      byGrace,
    );
    given(...reviewed)
      .when(byGrace, NOW)
      .thenEmits();
    given(...reviewed)
      .when(record(1, { kind: 'effect', effect: effect() }), NOW)
      .thenSends(
        {
          data: {
            acceptanceCriteria: ['it is kind'],
            onBehalfOf: { task: TASK, node: 'draft', attempt: 1 },
            evidence: {
              reviews: {
                spec: { verdict: 'passed', by: 'phase draft', attempt: 1 },
                quality: { verdict: 'failed', by: 'grace' },
              },
              artifact: { name: 'letter', uri: artifact.uri },
            },
          },
        },
        {},
      );
  });

  test('repeated attempts request the effect once', () => {
    given(...after(...asking))
      .when(record(1, { kind: 'effect', effect: effect() }), NOW)
      .thenAnswers({ entry: { task: child() } })
      .thenEmits()
      .thenSends();
  });

  test('another effect under the same key is refused', () => {
    given(...after(...asking))
      .when(record(1, { kind: 'effect', effect: effect({ path: 'other.txt', text: 'x' }) }), NOW)
      .thenAnswersError('ERR_IDEMPOTENCY_CONFLICT')
      .thenEmits();
  });

  test('approvers of a remote effect see its preview if the program says that it has one', () => {
    const remote = { ...effect({ charge: 'ch_1' }), uses: 'cap.remote.refund', previews: true } as const;
    given(...after(submission(), claim(1)))
      .when(record(1, { kind: 'effect', effect: remote }), NOW)
      .thenSends(
        { data: { definition: { nodes: [{ uses: 'cap.remote.refund', effect: { previews: true } }] } } },
        {},
      );
  });

  test('a preview of a capability without one is refused', () => {
    given(...after(submission(), claim(1)))
      .when(record(1, { kind: 'effect', effect: { ...effect(), previews: true } }), NOW)
      .thenAnswersError('ORCHESTRATOR_PROGRAM_INVALID')
      .thenEmits();
  });

  test('an invalid effect is refused at once, with its problems', () => {
    given(...after(submission(), claim(1)))
      .when(record(1, { kind: 'effect', effect: { ...effect(), uses: 'cap.no.such_thing' } }), NOW)
      .thenAnswersError('ORCHESTRATOR_PROGRAM_INVALID')
      .thenEmits();
  });

  test('the end of the effect continues the phase', () => {
    given(...after(...asking, end(1, { kind: 'suspended', on: ['effect:publish'] })))
      .when(peerEnded(child(), 'succeeded', { bytes: 3 }), NOW)
      .thenEmitsLike(
        {
          type: 'phase_entry_completed',
          ended: { outcome: 'succeeded', outputs: { bytes: 3 } },
          phase: 'executing',
        },
        { type: 'phase_ordered', lease: 2, attempt: 1 },
      );
    expect(taskAfter(...asking, end(1, { kind: 'suspended', on: ['effect:publish'] })).phase).toBe(
      'awaiting_approval',
    );
  });

  test('a phase that awaits an ended effect continues at once', () => {
    given(...after(...asking, peerEnded(child(), 'succeeded')))
      .when(end(1, { kind: 'suspended', on: ['effect:publish'] }), NOW)
      .thenEmitsLike({ type: 'phase_suspended' }, { type: 'phase_ordered', lease: 2 });
  });

  test('an unknown or repeated end of the effect changes nothing', () => {
    given(...after(...asking))
      .when(peerEnded(child(), 'unknown'), NOW)
      .thenNothing();
    given(...after(...asking, peerEnded(child(), 'succeeded')))
      .when(peerEnded(child(), 'succeeded'), NOW)
      .thenNothing();
  });

  test.each([
    ['cancelled', undefined],
    ['failed', { code: 'NODE_CANCELLED', message: 'cancelled by hand (ada)' }],
  ] as const)(
    'a cancelled effect that reports %s is not requested again, because it may have happened',
    (outcome, error) => {
      const told = peerEnded(child(), outcome) as Extract<ProgramMessage, { readonly kind: 'notify' }>;
      const calledOff: ProgramMessage = {
        ...told,
        notification: { ...told.notification, ...(error && { error }) },
      };
      const later = [end(1, completed('review')), claim(2), end(2, completed('draft')), claim(3)] as const;
      given(...after(...asking, calledOff, ...later))
        .when(record(3, { kind: 'effect', effect: effect() }), NOW)
        .thenEmits()
        .thenAnswers({ entry: { ended: { outcome } } });
    },
  );

  test('a rejection holds for the phase, and a later phase may request the effect again', () => {
    const refused = [...asking, peerEnded(child(), 'blocked')];
    given(...after(...refused))
      .when(record(1, { kind: 'effect', effect: effect() }), NOW)
      .thenEmits();
    const later = [...refused, end(1, completed('review')), claim(2)];
    given(...after(...later))
      .when(record(2, { kind: 'effect', effect: effect() }), NOW)
      .thenEmitsLike({ type: 'phase_recorded' });
    expect(taskAfter(...later, record(2, { kind: 'effect', effect: effect() })).entries).toHaveLength(1);
  });

  test('the submission of the effect is sent again until its end is known', () => {
    given(...after(...asking))
      .when(timer(`effect:${child()}`, { attempt: 1 }), NOW)
      .thenEmits()
      .thenSends({ data: { id: child() } }, { data: { id: child(), watcher: TASK } });
  });

  test('the effect is cancelled with the task, until its end is known', () => {
    given(...after(...asking))
      .when(byHand('cancel'), NOW)
      .thenEmitsLike({ type: 'cancelled' })
      .thenSends({ subject: 'hp.cmd.task.cancel', data: { id: child() } }, { subject: 'hp.cmd.task.watch' });
    given(...after(...asking, byHand('cancel')))
      .when(peerEnded(child(), 'cancelled'), NOW)
      .thenEmits()
      .thenTimes({ clear: `withdraw:${child()}` });
  });
});

describe('a question of a phase', () => {
  test('the question and the state are recorded before the request is sent', () => {
    given(...after(...inReview.slice(0, -1)))
      .when(end(2, inputRequested({ topic: 'black tea' })), NOW)
      .thenEmitsLike(
        { type: 'state_checkpoint' },
        {
          type: 'input_requested',
          about: 'phase',
          state: { topic: 'black tea' },
          phase: 'awaiting_approval',
        },
      )
      .thenSends({
        subject: 'hp.cmd.approval.request',
        data: { input: { kind: 'approval' }, title: 'Shall it go out?' },
      });
  });

  test('the answer continues the phase', () => {
    given(...after(...inReview))
      .when(resolved(question(), 'answered', true), NOW)
      .thenEmitsLike(
        { type: 'input_received', answer: { outcome: 'answered', response: true, by: 'cleo' } },
        { type: 'phase_ordered', activation: 'respond', lease: 3 },
      )
      .thenSends({
        data: { input: { answer: { response: true }, question: { title: 'Shall it go out?' } } },
      });
  });

  test('the phase hears that the question has expired at its own time limit', () => {
    const limited = {
      ...inputRequested(),
      question: { title: 'Now?', input: { kind: 'approval' }, timeoutMs: 60_000 },
    };
    given(...after(...inReview.slice(0, -1), end(2, limited as PhaseEnd)))
      .when(resolved(question(), 'expired'), NOW)
      .thenEmitsLike({ type: 'input_received', answer: { outcome: 'expired' } }, { activation: 'respond' });
  });

  test('a question without a time limit is asked again when it expires', () => {
    given(...after(...inReview))
      .when(resolved(question(), 'expired'), NOW)
      .thenEmitsLike(
        { type: 'input_received', answer: { outcome: 'expired' } },
        { type: 'state_checkpoint' },
        {
          type: 'input_requested',
          question: 2,
          about: 'phase',
          state: { topic: 'tea' },
          phase: 'awaiting_approval',
        },
      )
      .thenSends({
        subject: 'hp.cmd.approval.request',
        data: { title: 'Shall it go out?', timeoutMs: 604_800_000 },
      });
    const again = taskAfter(...inReview, resolved(question(), 'expired'));
    given(...after(...inReview, resolved(question(), 'expired')))
      .when(resolved(again.question?.approval ?? '', 'answered', true), NOW)
      .thenEmitsLike(
        { type: 'input_received', answer: { outcome: 'answered', response: true } },
        { type: 'phase_ordered', activation: 'respond' },
      );
  });

  test('an answer to another question changes nothing', () => {
    given(...after(...inReview))
      .when(resolved('a-other', 'answered', true), NOW)
      .thenEmits()
      .thenSends();
  });

  test('the withdrawal of a question ends when it is closed', () => {
    given(...after(...inReview, byHand('cancel')))
      .when(resolved(question(), 'cancelled'), NOW)
      .thenEmits()
      .thenTimes({ clear: `withdraw:${question()}` });
  });

  test('a withdrawal timer of an unknown request sends nothing', () => {
    given(...after(...inReview))
      .when(timer('withdraw:a-unknown', { attempt: 3 }), NOW)
      .thenNothing();
  });

  test('a decision about an effect is no answer', () => {
    given(...after(...inReview))
      .when(resolved(question(), 'approved'), NOW)
      .thenEmits()
      .thenSends();
  });

  test('the question is withdrawn with the task', () => {
    given(...after(...inReview))
      .when(byHand('cancel'), NOW)
      .thenEmitsLike({ type: 'cancelled' })
      .thenSends({ subject: 'hp.cmd.approval.cancel', data: { id: question(), revision: 1 } });
  });
});

describe('a failed attempt', () => {
  const failing = (policy: Parameters<typeof onError>) =>
    [submission(programWith({ onError: onError(...policy) })), claim(1)] as const;

  test('a failed attempt fails the task by default', () => {
    given(...after(submission(), claim(1)))
      .when(end(1, failedWith()), NOW)
      .thenEmitsLike(
        { type: 'phase_failed', stage: 'run' },
        { type: 'failed', error: { message: 'no tea', details: { node: 'draft' } } },
      );
  });

  test.each([
    ['ERR_FORBIDDEN', 'blocked'],
    ['APPROVALS_EXPIRED', 'blocked'],
    ['PROGRAM_PHASE_FAILED', 'failed'],
  ])('a phase that fails with %s leaves the task %s', (code, outcome) => {
    given(...after(submission(), claim(1)))
      .when(end(1, failedWith('no tea', code)), NOW)
      .thenEmitsLike({ type: 'phase_failed' }, { type: 'failed', outcome, error: { code } });
  });

  test('retries follow with a doubling delay, up to the limit of the phase', () => {
    given(...after(...failing(['retry', 2])))
      .when(end(1, failedWith()), NOW)
      .thenEmitsLike(
        { type: 'phase_failed' },
        { type: 'phase_retrying', attempt: 2, delayMs: 1_000, phase: 'recovering' },
      );
    const second = [...failing(['retry', 2]), end(1, failedWith()), timer('retry'), claim(2)];
    given(...after(...second))
      .when(end(2, failedWith()), NOW)
      .thenEmitsLike({ type: 'phase_failed' }, { type: 'phase_retrying', attempt: 3, delayMs: 2_000 });
    given(...after(...second, end(2, failedWith()), timer('retry'), claim(3)))
      .when(end(3, failedWith()), NOW)
      .thenEmitsLike(
        { type: 'phase_failed', error: { message: 'no tea' } },
        { type: 'failed', error: { message: 'Max retries exceeded: no tea', details: { node: 'draft' } } },
      );
  });

  test('a failure of the task names the failed phase and the phase before it', () => {
    given(...after(submission(), claim(1), end(1, completed('review')), claim(2)))
      .when(end(2, failedWith()), NOW)
      .thenEmitsLike(
        { type: 'phase_failed' },
        { type: 'failed', error: { message: 'no tea', details: { node: 'review', from: 'draft' } } },
      );
  });

  test('a worker gets the name of the phase before its own', () => {
    given(...after(submission(), claim(1), end(1, completed('review'))))
      .when(claim(2), NOW)
      .thenAnswers({ input: { from: 'draft' } });
  });

  test('the next attempt sees the failures and the state of onRetry', () => {
    const again = [...failing(['retry', 2]), end(1, failedWith()), timer('retry')] as const;
    given(...after(...again))
      .when(claim(2), NOW)
      .thenAnswers({
        input: { failures: [{ attempt: 1, error: { message: 'no tea' } }], state: { topic: 'tea' } },
      });
    given(
      ...after(
        ...again,
        claim(2),
        record(2, { kind: 'retry_state', state: { topic: 'soup' } }),
        timer('lease'),
      ),
    )
      .when(claim(3), NOW)
      .thenAnswers({ input: { retried: true, state: { topic: 'soup' } } });
  });

  test('the state of onRetry is the start of all further attempts, and onRetry runs again for each', () => {
    const soup = record(2, { kind: 'retry_state', state: { topic: 'soup' } });
    const twice = [
      ...failing(['retry', 3]),
      end(1, failedWith()),
      timer('retry'),
      claim(2),
      soup,
      end(2, failedWith()),
      timer('retry'),
    ];
    const third = taskAfter(...twice);
    expect(workInputFor(third)).toMatchObject({ state: { topic: 'soup' } });
    expect(workInputFor(third).retried).toBeUndefined();
    given(...after(...twice, claim(3)))
      .when(record(3, { kind: 'retry_state', state: { topic: 'stew' } }), NOW)
      .thenEmitsLike({ type: 'phase_retry_prepared', attempt: 3, state: { topic: 'stew' } });
    const stew = [...twice, claim(3), record(3, { kind: 'retry_state', state: { topic: 'stew' } })];
    given(...after(...stew))
      .when(record(3, { kind: 'retry_state', state: { topic: 'cake' } }), NOW)
      .thenEmits();
    expect(workInputFor(taskAfter(...stew))).toMatchObject({ retried: true, state: { topic: 'stew' } });
  });

  test('the state of onRetry ends with its phase', () => {
    const next = taskAfter(
      ...failing(['retry', 1]),
      end(1, failedWith()),
      timer('retry'),
      claim(2),
      record(2, { kind: 'retry_state', state: { topic: 'soup' } }),
      end(2, completed('review', { topic: 'stew' })),
    );
    expect(workInputFor(next)).toMatchObject({ state: { topic: 'stew' } });
    expect(next.retried).toBeUndefined();
  });

  test('people may grant an attempt, which counts like any other', () => {
    const paused = [...failing(['pause', 1]), end(1, failedWith())] as const;
    const asks = taskAfter(...paused);
    expect(asks.phase).toBe('paused');
    given(...after(...paused))
      .when(resolved(asks.question?.approval ?? '', 'answered', 'retry'), NOW)
      .thenEmitsLike({ type: 'input_received' }, { type: 'phase_retrying', attempt: 2, by: 'cleo' });
    given(...after(...paused))
      .when(resolved(asks.question?.approval ?? '', 'answered', 'fail'), NOW)
      .thenEmitsLike({ type: 'input_received' }, { type: 'failed' });
    const granted = [
      ...paused,
      resolved(asks.question?.approval ?? '', 'answered', 'retry'),
      timer('retry'),
      claim(2),
    ];
    given(...after(...granted))
      .when(end(2, failedWith()), NOW)
      .thenEmitsLike(
        { type: 'phase_failed' },
        { type: 'failed', error: { message: 'Max retries exceeded: no tea' } },
      );
  });

  test('an operator can retry the phase of a failed task', () => {
    given(...after(submission(), claim(1), end(1, failedWith())))
      .when(byHand('retry'), NOW)
      .thenEmitsLike({ type: 'phase_retrying', attempt: 2, by: 'bob', phase: 'recovering' })
      .thenTimes({ set: 'retry', dueAt: NOW });
  });
});

describe('a pause', () => {
  test('the state is recorded before a pause', () => {
    given(...after(submission(), claim(1)))
      .when(byHand('pause'), NOW)
      .thenEmitsLike({ type: 'state_checkpoint', reason: 'before the pause' }, { type: 'paused' });
  });

  test('a paused task orders nothing until it is resumed', () => {
    const paused = [submission(), claim(1), byHand('pause'), end(1, completed('review'))] as const;
    expect(taskAfter(...paused)).toMatchObject({ status: 'held', phase: 'paused', node: 'review' });
    given(...after(...paused))
      .when(byHand('resume'), NOW)
      .thenEmitsLike({ type: 'resumed' }, { type: 'phase_ordered', node: 'review', lease: 2 });
  });

  test.each(['pause', 'resume', 'cancel'] as const)('an ended task refuses to %s', (kind) => {
    given(...after(submission(), claim(1), end(1, failedWith())))
      .when(byHand(kind), NOW)
      .thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
  });
});

describe('a fork', () => {
  test('a fork starts at the current phase with its state and its applied effects', () => {
    const messages = [submission(), claim(1), record(1, { kind: 'effect', effect: effect() })] as const;
    const [entry] = taskAfter(...messages).entries;
    const origin = taskAfter(
      ...messages,
      peerEnded(entry?.kind === 'effect' ? entry.task : '', 'succeeded', { done: true }),
      end(1, completed('review', { topic: 'forked tea' })),
    );
    given()
      .when(
        { kind: 'fork_program', task: 't-2' as typeof TASK, origin, version: origin.version, by: 'bob' },
        NOW,
      )
      .thenEmitsLike(
        {
          type: 'program_submitted',
          state: { topic: 'forked tea' },
          forkedFrom: { task: TASK, node: 'review', entries: [{ ended: { outputs: { done: true } } }] },
        },
        { type: 'phase_ordered', node: 'review', lease: 1 },
      );
  });
});
