import { ApprovalOutcome, Choice } from '@holdpoint/contracts/approval';
import { explore } from '@holdpoint/runtime/testing/explore';
import { expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  ASKED,
  cancellation,
  DEADLINE,
  decider,
  grace,
  mallory,
  questionFor,
  requestFor,
} from '../testing/requests.ts';
import type { ApprovalMessage, ApprovalState } from './approval.ts';

type World = { readonly state: ApprovalState; readonly now: number; readonly resolutions: number };

const MOMENTS = [ASKED, ASKED + 1, DEADLINE - 1, DEADLINE, DEADLINE + 1];

const messages: readonly (readonly [label: string, message: ApprovalMessage])[] = [
  ['request', { kind: 'request', payload: requestFor() }],
  ['ask of a doubt', { kind: 'request', payload: questionFor() }],
  ['request other', { kind: 'request', payload: requestFor('other line') }],
  ['request forged', { kind: 'request', payload: requestFor('hello', { digest: '0'.repeat(64) }) }],
  ['cancel', { kind: 'cancel', payload: cancellation }],
  ['cancel as before', { kind: 'cancel', payload: { id: APPROVAL, reason: 'over' } }],
  ['expiry', { kind: 'timer', name: 'expiry', data: null }],
  ...[ada, grace, mallory].flatMap((by) =>
    Choice.options.map(
      (decision) =>
        [`${by.name} ${decision}`, { kind: 'decide', by, payload: { id: APPROVAL, decision } }] as const,
    ),
  ),
];

const reach = (world: World, message: ApprovalMessage): World => {
  const made = decider.decide(world.state, message, { now: world.now });
  const state = made.events.reduce((before, event) => decider.evolve(before, event), world.state);
  const resolutions = world.resolutions + made.events.filter(({ type }) => type === 'resolved').length;
  return { ...world, state, resolutions };
};

const steps = (world: World) => {
  const later = MOMENTS.find((moment) => moment > world.now);
  return [
    ...messages.map(([label, message]) => [label, reach(world, message)] as const),
    ...(later === undefined ? [] : [[`until ${String(later)}`, { ...world, now: later }] as const]),
  ];
};

const check = ({ state, resolutions }: World): void => {
  expect(resolutions).toBe('decided' in state ? 1 : 0);
  if (state.status === 'withdrawn') expect(state.decided.outcome).toBe('cancelled');
  if (state.status !== 'closed') return;
  const { outcome, by, grant, statement, at } = state.decided;
  expect(by).not.toBe('mallory');
  expect(grant === undefined).toBe(outcome !== 'approved');
  expect(statement === undefined).toBe(outcome !== 'answered');
  const asks = state.request.doubt !== undefined;
  expect(
    asks ? ['answered', 'cancelled', 'expired'] : ApprovalOutcome.exclude(['answered']).options,
  ).toContain(outcome);
  if (outcome === 'approved' || outcome === 'answered') expect(at).toBeLessThan(state.expiresAt);
};

/** One more than it takes: the last level finds nothing new, so that this is every state there is. */
const DEPTH = 7;
/** Fewer states than this would mean that something which could happen no longer can. */
const STATES_KNOWN = 483;

test('every sequence of messages leads to one resolution at the most', () => {
  const found = explore<World>({
    start: { state: decider.initial, now: ASKED, resolutions: 0 },
    steps,
    check: ({ world }) => check(world),
    depth: DEPTH,
  });
  expect(Math.max(...found.map(({ way }) => way.length))).toBeLessThan(DEPTH);
  expect(found.length).toBeGreaterThanOrEqual(STATES_KNOWN);
  const outcomes = new Set(
    found.map(({ world: { state } }) => (state.status === 'closed' ? state.decided.outcome : state.status)),
  );
  expect([...outcomes].toSorted()).toEqual(
    [
      'absent',
      'answered',
      'approved',
      'cancelled',
      'changes_requested',
      'expired',
      'pending',
      'rejected',
      'withdrawn',
    ].toSorted(),
  );
});
