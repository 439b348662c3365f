import { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import { Choice } from '@holdpoint/contracts/approval/commands';
import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import { explore, type Step } from '@holdpoint/runtime/testing/explore';
import { describe, expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  ASKED,
  cancellation,
  CHOICE,
  DEADLINE,
  decider,
  decides,
  desk,
  grace,
  inputFor,
  linus,
  mallory,
  questionFor,
  requestFor,
  requestUnder,
  RULE,
  ruleAdded,
  specOf,
  stuckFor,
  timer,
} from '../../testing/requests.ts';
import type { ApprovalMessage, ApprovalState } from './state.ts';
import type { Rule, RuleMessage, RuleWork } from '../rule/rule.ts';

type World = { readonly state: ApprovalState; readonly now: number; readonly resolutions: number };
type Labelled = readonly (readonly [label: string, message: ApprovalMessage])[];

const MOMENTS = [ASKED, ASKED + 1, DEADLINE - 1, DEADLINE, DEADLINE + 1];
const START: World = { state: decider.initial, now: ASKED, resolutions: 0 };

const reach = (world: World, message: ApprovalMessage): World => {
  const made = decider.decide(world.state, message, { now: world.now });
  const state = made.events.reduce((before, event) => decider.evolve(before, event), world.state);
  const resolutions = world.resolutions + made.events.filter(({ type }) => type === 'resolved').length;
  return { ...world, state, resolutions };
};

const stepsOf = (messages: Labelled, moments: readonly number[]) => (world: World) => {
  const later = moments.find((moment) => moment > world.now);
  return [
    ...messages.map(([label, message]) => [label, reach(world, message)] as const),
    ...(later === undefined ? [] : [[`until ${String(later)}`, { ...world, now: later }] as const]),
  ];
};

const checkEnd = ({ state, resolutions }: World): void => {
  expect(resolutions).toBe('decided' in state ? 1 : 0);
  if (state.status === 'withdrawn') expect(state.decided.outcome).toBe('cancelled');
  if (state.status !== 'closed') return;
  const { outcome, by, grant, statement, response, at } = state.decided;
  expect(by).not.toContain('mallory');
  expect(grant === undefined).toBe(outcome !== 'approved');
  const question = questionOf(state.request);
  expect(statement === undefined).toBe(outcome !== 'answered' || question !== 'doubt');
  expect(
    question !== 'effect'
      ? ['answered', 'cancelled', 'expired']
      : ApprovalOutcome.exclude(['answered']).options,
  ).toContain(outcome);
  expect(response === undefined).toBe(outcome !== 'answered' || question !== 'input');
  if (outcome === 'approved' || outcome === 'answered') expect(at).toBeLessThan(state.expiresAt);
};

/** The last level finds nothing new, so that this is every state there is. */
const everything = (messages: Labelled, moments: readonly number[], check: (world: World) => void) => {
  const depth = 20;
  const found = explore<World>({
    start: START,
    steps: stepsOf(messages, moments),
    check: ({ world }) => check(world),
    depth,
  });
  expect(Math.max(...found.map(({ way }) => way.length))).toBeLessThan(depth);
  const ends = new Set(
    found.map(({ world: { state } }) => (state.status === 'closed' ? state.decided.outcome : state.status)),
  );
  return { states: found.length, ends: [...ends].toSorted() };
};

const EXPIRY = ['expiry', timer('expiry')] as const;
const CANCEL = ['cancel', { kind: 'cancel', payload: cancellation }] as const;

// Fewer states than those that are named would mean that something which could happen no longer can.

test('every sequence of messages leads to one resolution at the most', () => {
  const messages: Labelled = [
    ['request', { kind: 'request', payload: requestFor() }],
    ['ask of a doubt', { kind: 'request', payload: questionFor() }],
    ['ask of a stuck job', { kind: 'request', payload: stuckFor() }],
    ['ask for a choice', { kind: 'request', payload: inputFor(CHOICE) }],
    ['ask for yes or no', { kind: 'request', payload: inputFor() }],
    ['request other', { kind: 'request', payload: requestFor('other line') }],
    ['request forged', { kind: 'request', payload: requestFor('hello', { digest: '0'.repeat(64) }) }],
    CANCEL,
    ['cancel as before', { kind: 'cancel', payload: { id: APPROVAL, reason: 'over' } }],
    EXPIRY,
    ['a rule', { kind: 'rule_applies', rule: RULE, author: 'ada' }],
    ...[ada, grace, mallory].flatMap((by) =>
      Choice.options.map((choice) => [`${by.name} ${choice}`, decides(by, choice)] as const),
    ),
    ...['a', 'c', false].map(
      (response) => [`ada responds ${String(response)}`, decides(ada, 'respond', { response })] as const,
    ),
  ];
  const { states, ends } = everything(messages, MOMENTS, checkEnd);
  expect(states).toBeGreaterThanOrEqual(1_788);
  expect(ends).toEqual(
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

const checkOfTwo =
  (veto: boolean) =>
  (world: World): void => {
    checkEnd(world);
    const { state } = world;
    if (state.status !== 'pending' && state.status !== 'closed') return;
    const approvers = state.votes.filter(({ decision }) => decision === 'approve').map(({ by }) => by);
    expect(new Set(state.votes.map(({ by }) => by)).size).toBe(state.votes.length);
    expect(state.votes.map(({ by }) => by)).not.toContain('linus');
    expect(state.votes.some(({ by }) => by === 'grace') && state.steps === 0).toBe(false);
    if (state.status === 'pending') {
      expect(approvers.length).toBeLessThan(2);
      return;
    }
    const { outcome, votes = [] } = state.decided;
    const said = (wanted: Verb) =>
      new Set(votes.flatMap(({ by, decision }) => (decision === wanted ? by : [])));
    if (outcome === 'approved') expect(said('approve').size).toBe(2);
    if (outcome === 'rejected') expect(said('reject').size).toBe(veto ? 1 : 2);
    expect(said('approve')).not.toContain('linus');
    if (votes.some(({ by }) => by === 'grace')) expect(state.steps).toBe(1);
  };

describe('where two people have to approve, other than whoever asked, and a third is asked later', () => {
  const TURN_MS = 1_000;
  const MOMENTS_OF_TWO = [ASKED, ASKED + TURN_MS, DEADLINE];

  test.each([
    { veto: true, known: 2_464 },
    { veto: false, known: 7_924 },
  ])('with a veto: $veto', ({ veto, known }) => {
    const request = requestUnder(
      {
        quorum: 2,
        fourEyes: true,
        veto,
        remindMs: [TURN_MS],
        handOn: [{ afterMs: TURN_MS, audience: ['user:grace'] }],
      },
      { audience: ['user:ada', 'user:linus', 'role:release-manager'] },
    );
    const messages: Labelled = [
      ['request', { kind: 'request', payload: request }],
      CANCEL,
      EXPIRY,
      ['remind', timer('remind', { number: 1 })],
      ['hand on', timer('hand_on', { number: 1 })],
      ['a rule', { kind: 'rule_applies', rule: RULE, author: 'ada' }],
      ...[ada, grace, linus, { name: 'barbara', groups: [], roles: ['release-manager'] }].flatMap((by) =>
        Verb.options
          .filter((verb) => by.name === 'ada' || verb !== 'request_changes')
          .map((verb) => [`${by.name} ${verb}`, decides(by, verb)] as const),
      ),
    ];
    const { states, ends } = everything(messages, MOMENTS_OF_TWO, checkOfTwo(veto));
    expect(states).toBeGreaterThanOrEqual(known);
    expect(ends).toEqual(
      [
        'absent',
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
});

type RuleWorld = World & {
  readonly rule: Rule;
  /** What one of the two has asked of the other: it may come now, later, again, or never. */
  readonly asked: boolean;
  readonly applies: boolean;
  readonly revokedFirst: boolean;
};

test('a rule that decides while two people do: one decision, and no use that nothing stands for', () => {
  const request = requestFor();
  const rule = desk.evolve(desk.initial, ruleAdded({ spec: specOf({ usesMax: 1 }) }));
  if (rule.status !== 'rule') throw new Error('no rule');

  const ask = (world: RuleWorld, message: RuleMessage): RuleWorld => {
    const made = desk.decide(world.rule, message, { now: world.now });
    const after = made.events.reduce<ReturnType<typeof desk.evolve>>(
      (before, event) => desk.evolve(before, event),
      world.rule,
    );
    if (after.status !== 'rule') throw new Error('the rule is gone');
    const work = made.work as readonly RuleWork[];
    return {
      ...world,
      rule: after,
      applies: world.applies || work.some(({ kind }) => kind === 'rule_applies'),
      revokedFirst: world.revokedFirst || (after.revokedBy !== undefined && after.uses === 0),
    };
  };
  const tell = (world: RuleWorld, message: ApprovalMessage): RuleWorld => ({
    ...world,
    ...reach(world, message),
  });

  const people: Labelled = [
    CANCEL,
    EXPIRY,
    ...[ada, grace].flatMap((by) =>
      Verb.options.map((verb) => [`${by.name} ${verb}`, decides(by, verb)] as const),
    ),
  ];
  const steps = (world: RuleWorld): readonly Step<RuleWorld>[] => {
    const later = MOMENTS.find((moment) => moment > world.now);
    const requested = tell(world, { kind: 'request', payload: request, rules: [RULE] });
    return [
      ['request', { ...requested, asked: true }],
      ...people.map(([label, message]) => [label, tell(world, message)] as const),
      ['the rule is revoked', ask(world, { kind: 'revoke_rule', id: RULE, by: ada, administrator: false })],
      ...(world.asked
        ? [
            [
              'the rule is asked',
              ask(world, { kind: 'use_rule', rule: RULE, approval: request, rest: [] }),
            ] as const,
          ]
        : []),
      ...(world.applies
        ? [['it applies', tell(world, { kind: 'rule_applies', rule: RULE, author: 'ada' })] as const]
        : []),
      ...(later === undefined ? [] : [[`until ${String(later)}`, { ...world, now: later }] as const]),
    ];
  };
  const depth = 20;
  const found = explore<RuleWorld>({
    start: { ...START, rule, asked: false, applies: false, revokedFirst: false },
    steps,
    check: ({ world }) => {
      checkEnd(world);
      const { state, rule: now, revokedFirst } = world;
      expect(now.uses).toBeLessThanOrEqual(1);
      const byRule = state.status === 'closed' && state.decided.rule !== undefined;
      expect(byRule ? now.usedFor : [APPROVAL]).toEqual([APPROVAL]);
      expect(byRule && revokedFirst).toBe(false);
    },
    depth,
  });
  expect(Math.max(...found.map(({ way }) => way.length))).toBeLessThan(depth);
  expect(found.length).toBeGreaterThanOrEqual(2_074);
  const byRule = found.filter(
    ({ world: { state } }) => state.status === 'closed' && state.decided.rule === RULE,
  );
  expect(byRule.length).toBeGreaterThan(0);
});
