import { events } from '@holdpoint/contracts/catalog/events';
import { inputIdOf, effectTaskIdOf } from '@holdpoint/contracts/values/ids';
import { WorkOrder } from '@holdpoint/contracts/program/work';
import { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { holdsEveryLaw } from '@holdpoint/runtime/testing/laws';
import { eventsOf } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import { expect, test } from 'vitest';
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
  timer,
} from '../testing/fixture.ts';
import type { ProgramMessage } from './messages.ts';
import { isProgram } from './state.ts';

const lease = fc.integer({ min: 1, max: 6 });
const worker = fc.constantFrom('worker-1', 'worker-2');
const phaseEnd = fc.constantFrom(
  completed('review'),
  completed('publish', { topic: 'x' }, [1]),
  completed('done'),
  completed(undefined, {}, 'bye'),
  completed('nowhere'),
  { kind: 'skipped', next: node('publish') } as const,
  failedWith(),
  inputRequested(),
  { kind: 'suspended', on: ['nap', 'effect:publish'] } as const,
  { kind: 'suspended', on: ['a'] } as const,
  { kind: 'returned', reason: 'it stops' } as const,
);
const wanted = fc.constantFrom(
  { kind: 'step', key: 'a', output: 1 } as const,
  { kind: 'sleep', key: 'nap', ms: 10 } as const,
  { kind: 'effect', effect: effect() } as const,
  { kind: 'effect', effect: effect({ path: 'other', text: 'y' }) } as const,
  { kind: 'retry_state', state: { topic: 'again' } } as const,
);
const children = [1, 2, 3].map((asking) => effectTaskIdOf(TASK, 'publish', asking));
const message: fc.Arbitrary<ProgramMessage> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(lease, worker).map(([of, by]) => claim(of, by)) },
  { weight: 1, arbitrary: fc.tuple(lease, worker).map(([of, by]) => beat(of, by)) },
  { weight: 6, arbitrary: fc.tuple(lease, phaseEnd, worker).map(([of, how, by]) => end(of, how, by)) },
  { weight: 4, arbitrary: fc.tuple(lease, wanted, worker).map(([of, what, by]) => record(of, what, by)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          'lease',
          'order',
          'retry',
          'question',
          'sleep:nap',
          ...children.flatMap((id) => [`effect:${id}`, `withdraw:${id}`]),
        ),
        fc.integer({ min: 1, max: 3 }),
      )
      .map(([name, attempt]) => timer(name, { attempt })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.integer({ min: 1, max: 4 }),
        fc.constantFrom('answered', 'expired', 'cancelled'),
        fc.constantFrom('retry', 'fail', true),
      )
      .map(([of, outcome, said]) => resolved(inputIdOf(TASK, of), outcome as 'answered', said)),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom(...children), fc.constantFrom('succeeded', 'failed', 'blocked', 'unknown'))
      .map(([peer, outcome]) => peerEnded(peer, outcome as 'succeeded')),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('cancel', 'pause', 'resume', 'retry'), fc.integer({ max: 9, min: 0 }))
      .map(([kind, of]) => {
        const command = byHand(kind);
        return { ...command, commandId: `c-${String(of)}` } as ProgramMessage;
      }),
  },
  fc.constant<ProgramMessage>({ kind: 'watch', watcher: 't-watcher' as typeof TASK }),
);
const acts = fc
  .tuple(
    fc.constantFrom('fail', 'retry', 'pause'),
    fc.array(fc.record({ message, now: fc.integer({ min: NOW, max: NOW + 1_000 }) }), { maxLength: 30 }),
  )
  .map(([strategy, rest]) => [
    { message: submission(programWith({ onError: onError(strategy as 'fail', 2) })), now: NOW },
    ...rest,
  ]);

test('any messages in any order keep every decider law and the contracts', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const run = holdsEveryLaw(programDecider, sequence);
      for (const event of eventsOf(run)) expect(events.orchestrator.parse(event)).toEqual(event);
      for (const { subject, data } of run.flatMap(({ made }) => made.send)) {
        if (subject.startsWith('hp.work.')) WorkOrder.parse(data);
        else if (subject === 'hp.cmd.approval.request') RequestApproval.parse(data);
        else if (subject === 'hp.cmd.task.submit') SubmitTask.parse(data);
      }
    }),
    { numRuns: 300 },
  );
});

const LEASED: ReadonlySet<string> = new Set(['phase_recorded', 'phase_completed']);

test('the lease rises with every order, and only its holder can record', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const events = eventsOf(holdsEveryLaw(programDecider, sequence));
      const ordered = events.flatMap((event) => (event.type === 'phase_ordered' ? [event.lease] : []));
      expect(ordered).toEqual(ordered.map((_lease, at) => at + 1));
      const leases = events.flatMap((event, at) => {
        const last = events.slice(0, at).findLast(({ type }) => type === 'phase_ordered');
        return LEASED.has(event.type) && 'lease' in event
          ? [[event.lease, last && 'lease' in last && last.lease]]
          : [];
      });
      expect(leases.filter(([said, held]) => said !== held)).toEqual([]);
    }),
    { numRuns: 200 },
  );
});

test('an ended task does not change, unless an operator retries it', () => {
  fc.assert(
    fc.property(acts, (sequence) => {
      const late = holdsEveryLaw(programDecider, sequence).flatMap(({ before, made }) =>
        isProgram(before) && before.status === 'ended' ? made.events.map(({ type }) => type) : [],
      );
      expect(late.filter((type) => type !== 'phase_retrying' && type !== 'watcher_added')).toEqual([]);
    }),
    { numRuns: 200 },
  );
});
