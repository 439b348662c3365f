import { TaskEvent } from '@holdpoint/contracts/task/events';
import { describe, expect, test } from 'vitest';
import { eventText } from './event-text.ts';

const verdict = {
  kind: 'rollback',
  delayMs: 0,
  class: 'BROKEN_BUILD',
  rule: 'verdicts@3/build',
  reason: 'the build is broken',
};
const of = { node: 'build', attempt: 2 };
const DIGEST = 'd'.repeat(64);
const effect = {
  task: 't-1',
  node: 'build',
  uses: 'control.stuck',
  kind: 'other',
  effectClass: 'opaque',
  idempotencyKey: 'k',
  target: 't',
  args: {},
};

describe('events of recovery', () => {
  test.each<readonly [type: string, event: object, text: string]>([
    [
      'rollback_ordered',
      { ...of, by: 't-2', commit: 'a'.repeat(40), inputs: {}, verdict },
      'build: back to aaaaaaaaaaaa, done by t-2: BROKEN_BUILD, the build is broken',
    ],
    ['rollback_ended', { ...of, by: 't-2', outcome: 'succeeded' }, 'build: succeeded, done by t-2'],
    [
      'handoff_ordered',
      { ...of, verdict: { ...verdict, kind: 'continue', class: 'CONTEXT_EXHAUSTED', reason: 'more to do' } },
      'build: in a new session: CONTEXT_EXHAUSTED, more to do',
    ],
    [
      'node_retrying',
      { ...of, delayMs: 1_000, verdict, session: 2 },
      'build: attempt 2 in 1000 ms, session 2: BROKEN_BUILD, the build is broken',
    ],
    ['node_retrying', { ...of, delayMs: 0 }, 'build: attempt 2 in 0 ms'],
    [
      'restarted',
      { node: 'build', nodes: ['agent', 'build'], route: 'build', verdict },
      'agent, build, because of build: BROKEN_BUILD, the build is broken',
    ],
    ['node_succeeded', { ...of, outputs: {}, by: 'ada' }, 'build, by ada'],
    [
      'stuck_asked',
      { ...of, approval: 'a-1', effectId: 'e-1', effect, digest: DIGEST, question: 1 },
      'build: how to continue? question a-1',
    ],
    [
      'stuck_answered',
      { ...of, approval: 'a-1', answer: 'skip', by: 'ada', comment: 'not needed' },
      'build: skip, by ada, "not needed"',
    ],
    [
      'node_deferred',
      { ...of, target: 'https://x', reason: '5 failed' },
      'build: waits for https://x: 5 failed',
    ],
    ['node_undeferred', of, 'build'],
    ['deferred', { circuit: 'workflow:w' }, 'waits for workflow:w, until you close it'],
    ['deferred', { circuit: 'workflow:w', until: 0 }, 'waits for workflow:w, until 1970-01-01 00:00:00Z'],
    ['undeferred', { circuit: 'workflow:w', trial: true }, 'workflow:w, as the trial'],
    ['undeferred', { circuit: 'workflow:w', trial: false }, 'workflow:w'],
    [
      'budget_extended',
      { node: 'build', approval: 'a-1', by: 'ada' },
      'build: budget doubled by ada, approval a-1',
    ],
  ])('the event %s is shown on one line', (type, event, text) => {
    expect(eventText(TaskEvent.parse({ type, id: 't-1', phase: 'recovering', ...event }))).toBe(text);
  });
});
