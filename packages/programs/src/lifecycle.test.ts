import { historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { programDecider } from './decide.ts';
import {
  asked,
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

const given = specFor(programDecider);
const after = (...messages: readonly ProgramMessage[]) =>
  historyOf(programDecider, ...messages.map((message) => [message, NOW] as const));
const LEASE_MS = 30_000;

/** In the phase that a person decides on, with the question put. */
const inReview = [submission(), claim(1), end(1, completed('review')), claim(2), end(2, asked())] as const;
const question = () => taskAfter(...inReview).question?.approval ?? '';

describe('a task of a program', () => {
  test('starts with its first phase, for which a worker is wanted', () => {
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
  ])('with %s is refused', (_what, wrong) => {
    given()
      .when(submission({ ...programWith(), ...wrong }), NOW)
      .thenRefuses('ORCHESTRATOR_PROGRAM_INVALID');
  });

  test('is not two tasks of one name', () => {
    given(...after(submission()))
      .when(submission(programWith(), { topic: 'coffee' }), NOW)
      .thenRefuses('ORCHESTRATOR_TASK_CONFLICT');
  });

  test('goes from phase to phase, each of which sees what the one before has left', () => {
    given(...after(submission(), claim(1)))
      .when(end(1, completed('review', { topic: 'green tea' })), NOW)
      .thenEmitsLike(
        { type: 'phase_completed', node: 'draft', next: 'review' },
        { type: 'phase_ordered', node: 'review', visit: 2, attempt: 1, lease: 2 },
      )
      .thenSends({ data: { node: 'review', input: { state: { topic: 'green tea' } } } });
  });

  test('is completed by its last phase, with what that gives', () => {
    const program = { ...programWith(), initial: node('done') };
    given(...after(submission(program), claim(1)))
      .when(end(1, completed(undefined, {}, 42)), NOW)
      .thenEmitsLike({ type: 'phase_completed' }, { type: 'completed', outputs: { done: { output: 42 } } });
  });

  test('fails where its program ends it so', () => {
    const program = { ...programWith(), initial: node('dropped') };
    given(...after(submission(program), claim(1)))
      .when(end(1, completed()), NOW)
      .thenEmitsLike({ type: 'phase_completed' }, { type: 'failed', phase: 'failed' });
  });

  test('says from time to time where a fork may begin', () => {
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
  ])('does not go %s', (_where, next) => {
    given(...after(submission(), claim(1)))
      .when(end(1, completed(next)), NOW)
      .thenEmitsLike(
        { type: 'phase_failed', stage: 'next' },
        { type: 'failed', error: { code: 'PROGRAM_NEXT_UNKNOWN' } },
      );
  });
});

describe('the lease', () => {
  test('belongs to whoever speaks of the order first', () => {
    given(...after(submission()))
      .when(claim(1), NOW)
      .thenEmitsLike({ type: 'phase_started', worker: 'worker-1', lease: 1 })
      .thenAnswers({ lease: 1, leaseMs: LEASE_MS, input: { state: { topic: 'tea' } } });
    given(...after(submission(), claim(1)))
      .when(claim(1, 'worker-2'), NOW)
      .thenRefuses('ORCHESTRATOR_WORK_LOST');
  });

  test('goes on as long as the worker is heard of', () => {
    given(...after(submission(), claim(1)))
      .when(beat(1), NOW)
      .thenEmits()
      .thenTimes({ set: 'lease', dueAt: NOW + LEASE_MS });
  });

  test('is given to another when the worker is not heard of: what the first says then is not heard', () => {
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

  test('ends with the phase, and whoever says so once more is told that it is so', () => {
    given(...after(submission(), claim(1), end(1, completed('review'))))
      .when(end(1, completed('review')), NOW)
      .thenAnswers({ leaseMs: LEASE_MS })
      .thenNothing();
  });

  test('is not lost for ever to a phase that ends its workers', () => {
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

  test('that nobody takes is offered again, and people see that nobody is there', () => {
    given(...after(submission()))
      .when(timer('order', { ask: 1 }), NOW)
      .thenEmitsLike({
        type: 'phase_waiting',
        reason: expect.stringMatching(/no worker has claimed the order.*reply@1/) as string,
      })
      .thenSends({ data: { lease: 1 } });
  });
});

describe('what a phase records', () => {
  const started = () => after(submission(), claim(1));

  test('is there for whoever runs it again', () => {
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

  test('is forgotten by the next phase, except for effects', () => {
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

  test('sleeps by the clock of the store', () => {
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
  ])('may not be %s', (_what, wanted) => {
    given(...started())
      .when(record(1, wanted), NOW)
      .thenAnswersError(wanted.kind === 'step' ? 'PROGRAM_RECORDS_TOO_LARGE' : 'PROGRAM_STATE_TOO_LARGE')
      .thenEmits();
  });

  test('is one thing under one key', () => {
    given(...after(submission(), claim(1), record(1, { kind: 'sleep', key: 'a', ms: 5 })))
      .when(record(1, { kind: 'step', key: 'a', output: 1 }), NOW)
      .thenAnswersError('ORCHESTRATOR_RECORD_CONFLICT')
      .thenEmits();
  });
});

describe('an effect that a phase asks for', () => {
  const asking = [submission(), claim(1), record(1, { kind: 'effect', effect: effect() })] as const;
  const child = () => {
    const [entry] = taskAfter(...asking).entries;
    return entry?.kind === 'effect' ? entry.task : '';
  };

  test('is carried out by a task of its own, with its texts as they are', () => {
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
                  args: { text: '{{ as it is }}' },
                  effect: { effectClass: 'keyed', kind: 'write_external' },
                },
              ],
            },
          },
        },
        { subject: 'hp.cmd.task.watch', data: { id: child(), watcher: TASK } },
      );
  });

  test('is asked for once, however often the phase is run', () => {
    given(...after(...asking))
      .when(record(1, { kind: 'effect', effect: effect() }), NOW)
      .thenAnswers({ entry: { task: child() } })
      .thenEmits()
      .thenSends();
  });

  test('is not another one under the same key', () => {
    given(...after(...asking))
      .when(record(1, { kind: 'effect', effect: effect({ path: 'other.txt', text: 'x' }) }), NOW)
      .thenAnswersError('ERR_IDEMPOTENCY_CONFLICT')
      .thenEmits();
  });

  test('that cannot be is refused at once, with what is wrong', () => {
    given(...after(submission(), claim(1)))
      .when(record(1, { kind: 'effect', effect: { ...effect(), uses: 'cap.no.such_thing' } }), NOW)
      .thenAnswersError('ORCHESTRATOR_PROGRAM_INVALID')
      .thenEmits();
  });

  test('lets the phase go on once it has ended', () => {
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

  test('that has ended before the phase waits for it lets it go on at once', () => {
    given(...after(...asking, peerEnded(child(), 'succeeded')))
      .when(end(1, { kind: 'suspended', on: ['effect:publish'] }), NOW)
      .thenEmitsLike({ type: 'phase_suspended' }, { type: 'phase_ordered', lease: 2 });
  });

  test('is no news when its task is not known yet, or has said so before', () => {
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
    'that was called off and is told as %s is not asked for anew: it may have happened',
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

  test('that was refused stays refused in this phase, and may be asked for anew by a later one', () => {
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

  test('is asked for again while nothing is heard of it', () => {
    given(...after(...asking))
      .when(timer(`effect:${child()}`, { ask: 1 }), NOW)
      .thenEmits()
      .thenSends({ data: { id: child() } }, { data: { id: child(), watcher: TASK } });
  });

  test('is called off with the task, until it is known to be over', () => {
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

describe('a phase that asks people', () => {
  test('is recorded, with the state that it has left, before anybody is asked', () => {
    given(...after(...inReview.slice(0, -1)))
      .when(end(2, asked({ topic: 'black tea' })), NOW)
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

  test('goes on with what they say', () => {
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

  test('is told when the time is over', () => {
    given(...after(...inReview))
      .when(resolved(question(), 'expired'), NOW)
      .thenEmitsLike({ type: 'input_received', answer: { outcome: 'expired' } }, { activation: 'respond' });
  });

  test('hears nobody who answers another question', () => {
    given(...after(...inReview))
      .when(resolved('a-other', 'answered', true), NOW)
      .thenEmits()
      .thenSends();
  });

  test('is withdrawn no more once it is known to be closed', () => {
    given(...after(...inReview, byHand('cancel')))
      .when(resolved(question(), 'cancelled'), NOW)
      .thenEmits()
      .thenTimes({ clear: `withdraw:${question()}` });
  });

  test('hears no decision on an effect as an answer', () => {
    given(...after(...inReview))
      .when(resolved(question(), 'approved'), NOW)
      .thenEmits()
      .thenSends();
  });

  test('withdraws its question with the task', () => {
    given(...after(...inReview))
      .when(byHand('cancel'), NOW)
      .thenEmitsLike({ type: 'cancelled' })
      .thenSends({ subject: 'hp.cmd.approval.cancel', data: { id: question(), revision: 1 } });
  });
});

describe('an attempt that fails', () => {
  const failing = (policy: Parameters<typeof onError>) =>
    [submission(programWith({ onError: onError(...policy) })), claim(1)] as const;

  test('fails the task, unless its phase says otherwise', () => {
    given(...after(submission(), claim(1)))
      .when(end(1, failedWith()), NOW)
      .thenEmitsLike(
        { type: 'phase_failed', stage: 'run' },
        { type: 'failed', error: { message: 'no tea', details: { node: 'draft' } } },
      );
  });

  test('is followed by another after a delay that doubles, as often as the phase says', () => {
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
      .thenEmitsLike({ type: 'phase_failed' }, { type: 'failed' });
  });

  test('is told to whoever tries again, and what onRetry makes of the state is kept', () => {
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

  test('is put to people, whose word counts like any other attempt', () => {
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
      .thenEmitsLike({ type: 'phase_failed' }, { type: 'failed' });
  });

  test('can be tried again by hand after the task has failed', () => {
    given(...after(submission(), claim(1), end(1, failedWith())))
      .when(byHand('retry'), NOW)
      .thenEmitsLike({ type: 'phase_retrying', attempt: 2, by: 'bob', phase: 'recovering' })
      .thenTimes({ set: 'retry', dueAt: NOW });
  });
});

describe('a pause by hand', () => {
  test('orders nothing until it is lifted', () => {
    const paused = [submission(), claim(1), byHand('pause'), end(1, completed('review'))] as const;
    expect(taskAfter(...paused)).toMatchObject({ status: 'held', phase: 'paused', node: 'review' });
    given(...after(...paused))
      .when(byHand('resume'), NOW)
      .thenEmitsLike({ type: 'resumed' }, { type: 'phase_ordered', node: 'review', lease: 2 });
  });

  test.each(['pause', 'resume', 'cancel'] as const)('a task that is over cannot be told to %s', (kind) => {
    given(...after(submission(), claim(1), end(1, failedWith())))
      .when(byHand(kind), NOW)
      .thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
  });
});

describe('a fork', () => {
  test('goes on with the phase and the state that were reached, and with what has happened', () => {
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
