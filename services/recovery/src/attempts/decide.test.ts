import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf } from '@holdpoint/runtime/testing/run';
import { continued, historyOf, specFor } from '@holdpoint/runtime/testing/spec';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attemptsDecider, type AttemptsMessage } from './decide.ts';

const given = specFor(attemptsDecider);
const task = TaskId.parse('t-1');
const node = NodeId.parse('append');
const NOW = 1_000_000;

const failure = (attempt: number, change: Partial<AssessFailure> = {}): AssessFailure => ({
  task,
  node,
  attempt,
  outcome: 'failed',
  error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' },
  ...change,
});
const assess = (payload: AssessFailure): AttemptsMessage => ({ kind: 'assess', payload });
const after = (...failures: readonly AssessFailure[]) =>
  historyOf(attemptsDecider, ...failures.map((each) => [assess(each), NOW] as const));
const inDoubt = failure(1, {
  outcome: 'in_doubt',
  error: { code: 'EXECUTOR_OUTCOME_UNKNOWN', message: 'lost' },
});

describe('a failure', () => {
  test('a failure is recorded with its verdict, which goes to the orchestrator', () => {
    const verdict = { kind: 'retry', delayMs: 1_000, class: 'TRANSIENT', rule: 'verdicts@3/transient' };
    given()
      .when(assess(failure(1)), NOW)
      .thenEmitsLike({ type: 'assessed', task, node, attempt: 1, error: failure(1).error, verdict })
      .thenSends({
        subject: 'hp.cmd.task.recover',
        id: `task.recover.t-1.append.1.${String(NOW)}`,
        data: { task, node, attempt: 1, verdict },
      });
  });

  test.each([
    [2, 'retry', 2_000],
    [5, 'escalate', 0],
  ] as const)('failure number %i of a job leads to: %s', (count, kind, delayMs) => {
    const earlier = Array.from({ length: count - 1 }, (_, i) => failure(i + 1));
    given(...after(...earlier))
      .when(assess(failure(count)), NOW)
      .thenEmitsLike({ verdict: { kind, delayMs } });
  });

  test('each node has its own history', () => {
    given(...after(failure(1), failure(2)))
      .when(assess(failure(1, { node: NodeId.parse('deploy') })), NOW)
      .thenEmitsLike({ verdict: { kind: 'retry', delayMs: 1_000 } });
  });

  test('an in-doubt effect escalates to a person', () => {
    given()
      .when(assess(inDoubt), NOW)
      .thenEmitsLike({ verdict: { kind: 'escalate', class: 'EFFECT_IN_DOUBT' } });
  });

  test('a repeated failure receives its verdict again under a new message id', () => {
    const history = after(failure(1), failure(2));
    given(...history)
      .when(assess(failure(1)), NOW + 9)
      .thenEmits()
      .thenSends({
        id: `task.recover.t-1.append.1.${String(NOW + 9)}`,
        data: { attempt: 1, verdict: { delayMs: 1_000 } },
      });
  });

  test('a repeated failure with other details keeps its verdict', () => {
    given(...after(failure(1)))
      .when(assess(inDoubt), NOW)
      .thenEmits()
      .thenSends({ data: { verdict: { kind: 'retry', class: 'TRANSIENT' } } });
  });

  test('the verdict of a stuck job is sent again at intervals until the job is resolved', () => {
    const stuck = after(inDoubt);
    const timer = { kind: 'timer', name: 'stuck:append', data: { count: 0 } } as const;
    given()
      .when(assess(inDoubt), NOW)
      .thenTimes({ set: 'stuck:append', dueAt: NOW + 300_000, data: { count: 0 } });
    given(...stuck)
      .when(timer, NOW + 300_000)
      .thenEmits()
      .thenSends({
        subject: 'hp.cmd.task.recover',
        data: { node, attempt: 1, verdict: { kind: 'escalate' } },
      })
      .thenTimes({ set: 'stuck:append', dueAt: NOW + 900_000, data: { count: 1 } });
    const settle: AttemptsMessage = {
      kind: 'job_unstuck',
      payload: { task, node, attempt: 1, resolution: 'ended' },
    };
    given(...stuck)
      .when(settle, NOW)
      .thenEmitsLike({ type: 'job_unstuck', resolution: 'ended' })
      .thenTimes({ clear: 'stuck:append' });
    const settled = historyOf(attemptsDecider, [assess(inDoubt), NOW], [settle, NOW]);
    given(...settled)
      .when(timer, NOW)
      .thenNothing();
    given(...settled)
      .when(settle, NOW)
      .thenNothing();
  });

  test('a late success of an earlier attempt leaves a job stuck', () => {
    const stuck = after(failure(2, { ...inDoubt, attempt: 2 }));
    const late: AttemptsMessage = { kind: 'record_attempt', payload: { task, node, attempt: 1 } };
    const history = [...stuck, ...historyOf(attemptsDecider, [late, NOW])];
    given(...stuck)
      .when(late, NOW)
      .thenEmitsLike({ type: 'attempt_recorded', attempt: 1 })
      .thenTimes();
    given(...history)
      .when({ kind: 'job_unstuck', payload: { task, node, attempt: 2, resolution: 'done' } }, NOW)
      .thenEmitsLike({ type: 'job_unstuck', attempt: 2 });
  });

  test.each([
    ['a success', { kind: 'record_attempt', payload: { task, node, attempt: 1 } }],
    ['a failure', assess(failure(1))],
  ] as const)(
    'a failure counts even if %s of an earlier attempt arrives later',
    (_what, late: AttemptsMessage) => {
      const history = historyOf(attemptsDecider, [assess(failure(2)), NOW], [late, NOW]);
      given(...history)
        .when(assess(failure(3)), NOW)
        .thenEmitsLike({
          verdict: { kind: 'retry', delayMs: late.kind === 'record_attempt' ? 2_000 : 4_000 },
        });
    },
  );

  test('a late failure of an earlier attempt leaves a job stuck', () => {
    for (const late of [failure(1), inDoubt]) {
      const history = historyOf(
        attemptsDecider,
        [assess({ ...inDoubt, attempt: 2 }), NOW],
        [assess(late), NOW],
      );
      given(...history)
        .when({ kind: 'job_unstuck', payload: { task, node, attempt: 2, resolution: 'done' } }, NOW)
        .thenEmitsLike({ type: 'job_unstuck', attempt: 2 });
    }
  });

  test('a failure that operators decide about is stuck whatever its class, with a report', () => {
    const paused = { ...failure(1), paused: 'changes requested by grace: another file' };
    const verdict = {
      kind: 'escalate',
      delayMs: 0,
      reason: 'changes requested by grace: another file',
      report: expect.stringContaining('wants your decision') as string,
    };
    given()
      .when(assess(paused), NOW)
      .thenEmitsLike({ type: 'assessed', attempt: 1, verdict })
      .thenSends({ subject: 'hp.cmd.task.recover', data: { attempt: 1, verdict } })
      .thenTimes({ set: 'stuck:append', dueAt: NOW + 300_000, data: { count: 0 } });
    // A repeat that an operator ordered failed: recovery knows an earlier failure of the same attempt.
    given(...after({ ...failure(1), refused: 'no' }))
      .when(assess(paused), NOW)
      .thenEmitsLike({ type: 'assessed', attempt: 1, verdict });
  });

  test('a late repeat of a pause does not make a resolved job stuck again', () => {
    const paused = { ...failure(1), paused: 'its template wants it' };
    const history = continued(attemptsDecider, after(paused), [
      { kind: 'job_unstuck', payload: { task, node, attempt: 1, resolution: 'retry' } },
      NOW,
    ]);
    given(...history)
      .when(assess(paused), NOW)
      .thenEmits()
      .thenSends({ subject: 'hp.cmd.task.recover', data: { attempt: 1 } });
  });

  test('a job whose verdict is refused escalates with a report', () => {
    const refused = { ...failure(1), refused: 'its template allows no more attempts' };
    const verdict = {
      kind: 'escalate',
      delayMs: 0,
      class: 'TRANSIENT',
      reason: expect.stringMatching(/; its template allows no more attempts$/) as string,
      report: expect.stringContaining('- Attempts: 1') as string,
    };
    given(...after(failure(1)))
      .when(assess(refused), NOW + 9)
      .thenEmitsLike({ type: 'assessed', attempt: 1, at: NOW, verdict })
      .thenSends({ subject: 'hp.cmd.task.recover', data: { attempt: 1, verdict } })
      .thenTimes({ set: 'stuck:append', dueAt: NOW + 300_009, data: { count: 0 } });
    // It may be all that is ever heard of the attempt.
    given()
      .when(assess(refused), NOW)
      .thenEmitsLike({ type: 'assessed', attempt: 1, verdict: { kind: 'escalate' } });
    const history = after(failure(1), refused);
    for (const again of [failure(1), refused])
      given(...history)
        .when(assess(again), NOW)
        .thenEmits()
        .thenSends({ data: { verdict } });
    given(...history)
      .when({ kind: 'job_unstuck', payload: { task, node, attempt: 1, resolution: 'retry' } }, NOW)
      .thenEmitsLike({ type: 'job_unstuck', attempt: 1 });
    // It is the same failure: the next one is the second.
    given(...history)
      .when(assess(failure(2)), NOW)
      .thenEmitsLike({ verdict: { kind: 'retry', delayMs: 2_000 } });
  });

  test('an unknown timer changes nothing', () => {
    given(...after(failure(1)))
      .when({ kind: 'timer', name: 'any', data: null }, NOW)
      .thenNothing();
  });
});

describe('any sequence of failures', () => {
  const payload = fc.record({
    attempt: fc.integer({ min: 1, max: 7 }),
    node: fc.constantFrom(node, NodeId.parse('deploy'), NodeId.parse('constructor')),
    outcome: fc.constantFrom('failed', 'in_doubt'),
    error: fc.record({
      code: fc.constantFrom('EXECUTOR_TARGET_UNAVAILABLE', 'EXECUTOR_GRANT_INVALID', 'NEWER'),
      message: fc.string({ unit: 'binary' }),
    }),
  });
  const acts = fc.array(
    fc.record({
      message: payload.map((said) => assess({ task, ...said })),
      now: fc.integer({ min: NOW, max: NOW * 2 }),
    }),
    { maxLength: 20 },
  );

  test('any failures satisfy the laws of a decider', () => {
    fc.assert(fc.property(acts, (sequence) => void holdsEveryLaw(attemptsDecider, sequence)));
  });

  test('each attempt has one verdict, which satisfies the contract', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        const events = eventsOf(holdsEveryLaw(attemptsDecider, sequence));
        const keys = events.map((event) =>
          event.type === 'assessed' ? `${event.node}/${String(event.attempt)}` : event.type,
        );
        expect(keys).toEqual([...new Set(keys)]);
        for (const event of events) expect(RecoveryEvent.parse(event)).toEqual(event);
      }),
    );
  });

  test('every failure is answered with the verdict of its attempt', () => {
    fc.assert(
      fc.property(acts, (sequence) => {
        for (const { message, made } of holdsEveryLaw(attemptsDecider, sequence)) {
          if (message.kind !== 'assess') continue;
          const { node: asked, attempt } = message.payload;
          expect(made.send).toMatchObject([{ data: { node: asked, attempt } }]);
        }
      }),
    );
  });
});
