import { Choice } from '@holdpoint/contracts/approval/commands';
import { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import { questionOf, Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { ApprovalMessage, ApprovalState } from '@holdpoint/approvals/approval/state';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  cancellation,
  CHOICE,
  DEADLINE,
  decider,
  decides,
  grace,
  inputFor,
  linus,
  mallory,
  questionFor,
  requestFor,
  requestUnder,
  RULE,
  stuckFor,
  timer,
} from '@holdpoint/approvals/testing/requests';
import type { Model, Step } from './examine.ts';

export type ApprovalWorld = {
  readonly approval: ApprovalState;
  readonly now: number;
  readonly resolutions: number;
};
export type Labelled = readonly (readonly [label: string, message: ApprovalMessage])[];

export const START: ApprovalWorld = { approval: decider.initial, now: REQUESTED_AT, resolutions: 0 };
export const MOMENTS: readonly number[] = [
  REQUESTED_AT,
  REQUESTED_AT + 1,
  DEADLINE - 1,
  DEADLINE,
  DEADLINE + 1,
];
export const EXPIRY = ['expiry', timer('expiry')] as const;
export const CANCEL = ['cancel', { kind: 'cancel', payload: cancellation }] as const;

/** A second resolution is a fault; a third one shows nothing more. */
const RESOLUTIONS_MAX = 2;

export const decideApproval = <World extends ApprovalWorld>(
  world: World,
  message: ApprovalMessage,
): World => {
  const { events } = decider.decide(world.approval, message, { now: world.now });
  if (events.length === 0) return world;
  const resolved = events.filter(({ type }) => type === 'resolved').length;
  return {
    ...world,
    approval: events.reduce((before, event) => decider.evolve(before, event), world.approval),
    resolutions: Math.min(world.resolutions + resolved, RESOLUTIONS_MAX),
  };
};

export const laterSteps = <World extends ApprovalWorld>(
  world: World,
  moments: readonly number[],
): readonly Step<World>[] => {
  const later = moments.find((moment) => moment > world.now);
  return later === undefined ? [] : [[`until ${String(later)}`, { ...world, now: later }]];
};

const fault = (isWrong: boolean, text: string): readonly string[] => (isWrong ? [text] : []);

/** The faults that every approval must avoid, whatever its question and its policy. */
export const endFaults = ({ approval, resolutions }: ApprovalWorld): readonly string[] => {
  const ended = [
    ...fault(resolutions !== ('decided' in approval ? 1 : 0), 'not resolved exactly once'),
    ...fault(
      approval.status === 'withdrawn' && approval.decided.outcome !== 'cancelled',
      'withdrawn with another outcome than cancelled',
    ),
  ];
  if (approval.status !== 'closed') return ended;
  const { outcome, by, grant, statement, response, at } = approval.decided;
  const question = questionOf(approval.request);
  const allowed: readonly string[] =
    question === 'effect'
      ? ApprovalOutcome.exclude(['answered']).options
      : ['answered', 'cancelled', 'expired'];
  return [
    ...ended,
    ...fault(by.includes('mallory'), 'decided by a principal outside the audience'),
    ...fault(
      (grant === undefined) !== (outcome !== 'approved'),
      'a grant without an approval, or the reverse',
    ),
    ...fault(
      (statement === undefined) !== (outcome !== 'answered' || question !== 'in_doubt'),
      'a signed statement without an answered question about an effect in doubt, or the reverse',
    ),
    ...fault(!allowed.includes(outcome), 'an outcome that does not fit the question'),
    ...fault(
      (response === undefined) !== (outcome !== 'answered' || question !== 'input'),
      'a response without an answered input question, or the reverse',
    ),
    ...fault(
      (outcome === 'approved' || outcome === 'answered') && at >= approval.expiresAt,
      'decided after its expiry',
    ),
  ];
};

const rests = ({ approval }: ApprovalWorld): boolean =>
  approval.status === 'closed' || approval.status === 'withdrawn';

const messagesModel = (
  messages: Labelled,
  moments: readonly number[],
  wrong: (world: ApprovalWorld) => readonly string[],
): Model<ApprovalWorld> => ({
  start: START,
  steps: (world) => [
    ...messages.map(([label, message]) => [label, decideApproval(world, message)] as const),
    ...laterSteps(world, moments),
  ],
  wrong,
  rests,
});

/** One request of every kind, with every choice of three principals, before and after the deadline. */
export const everyQuestion: Model<ApprovalWorld> = messagesModel(
  [
    ['request', { kind: 'request', payload: requestFor() }],
    ['question about an effect in doubt', { kind: 'request', payload: questionFor() }],
    ['question about a stuck job', { kind: 'request', payload: stuckFor() }],
    ['question with choices', { kind: 'request', payload: inputFor(CHOICE) }],
    ['question with yes or no', { kind: 'request', payload: inputFor() }],
    ['request of another effect', { kind: 'request', payload: requestFor('other line') }],
    ['forged request', { kind: 'request', payload: requestFor('hello', { digest: '0'.repeat(64) }) }],
    CANCEL,
    ['cancel by id alone', { kind: 'cancel', payload: { id: APPROVAL, reason: 'over' } }],
    EXPIRY,
    ['rule applies', { kind: 'rule_applies', rule: RULE, author: 'ada' }],
    ...[ada, grace, mallory].flatMap((by) =>
      Choice.options.map((choice) => [`${by.name} ${choice}`, decides(by, choice)] as const),
    ),
    ...['a', 'c', false].map(
      (response) => [`ada responds ${String(response)}`, decides(ada, 'respond', { response })] as const,
    ),
  ],
  MOMENTS,
  endFaults,
);

const quorumFaults =
  (veto: boolean) =>
  (world: ApprovalWorld): readonly string[] => {
    const { approval } = world;
    const ended = endFaults(world);
    if (approval.status !== 'pending' && approval.status !== 'closed') return ended;
    const voters = approval.votes.map(({ by }) => by);
    const votesFaults = [
      ...fault(new Set(voters).size !== voters.length, 'a principal has two votes'),
      ...fault(voters.includes('linus'), 'the requester has a vote under four eyes'),
      ...fault(
        voters.includes('grace') && approval.steps === 0,
        'a principal voted before the request reached them',
      ),
    ];
    const approvers = approval.votes.filter(({ decision }) => decision === 'approve').length;
    if (approval.status === 'pending')
      return [...ended, ...votesFaults, ...fault(approvers >= 2, 'pending with a full quorum')];
    const { outcome, votes = [] } = approval.decided;
    const countOf = (verb: Verb): number =>
      new Set(votes.flatMap(({ by, decision }) => (decision === verb ? by : []))).size;
    return [
      ...ended,
      ...votesFaults,
      ...fault(outcome === 'approved' && countOf('approve') !== 2, 'approved without its quorum'),
      ...fault(
        outcome === 'rejected' && countOf('reject') !== (veto ? 1 : 2),
        'rejected with another number of votes than the policy wants',
      ),
      ...fault(
        votes.some(({ by, decision }) => by === 'linus' && decision === 'approve'),
        'the requester has a vote under four eyes',
      ),
      ...fault(
        votes.some(({ by }) => by === 'grace') && approval.steps !== 1,
        'a principal voted before the request reached them',
      ),
    ];
  };

const STEP_MS = 1_000;

/** Two approvers other than the requester, and a third who is asked after a while. */
export const quorumOfTwo = (veto: boolean): Model<ApprovalWorld> => {
  const request = requestUnder(
    {
      quorum: 2,
      fourEyes: true,
      veto,
      remindMs: [STEP_MS],
      handOn: [{ afterMs: STEP_MS, audience: ['user:grace'] }],
    },
    { audience: ['user:ada', 'user:linus', 'role:release-manager'] },
  );
  return messagesModel(
    [
      ['request', { kind: 'request', payload: request }],
      CANCEL,
      EXPIRY,
      ['hand on', timer('hand_on', { number: 1 })],
      ['rule applies', { kind: 'rule_applies', rule: RULE, author: 'ada' }],
      ...[ada, grace, linus, { name: 'barbara', groups: [], roles: ['release-manager'] }].flatMap((by) =>
        Verb.options
          .filter((verb) => by.name === 'ada' || verb !== 'request_changes')
          .map((verb) => [`${by.name} ${verb}`, decides(by, verb)] as const),
      ),
    ],
    [REQUESTED_AT, REQUESTED_AT + STEP_MS, DEADLINE],
    quorumFaults(veto),
  );
};
