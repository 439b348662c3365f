import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { createApprovalDecider } from '@holdpoint/approvals/approval/decide';
import type {
  ApprovalMessage,
  ApprovalState,
  ApprovalWork,
  Principal,
} from '@holdpoint/approvals/approval/state';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  DEADLINE,
  grace,
  NODE,
  requestFor,
  TASK,
} from '@holdpoint/approvals/testing/requests';
import { createEffectDecider, type EffectMessage, type EffectWork } from '@holdpoint/executor/effect/decide';
import type { EffectState } from '@holdpoint/executor/effect/state';
import type { Answer, Decider } from '@holdpoint/runtime/decider';
import type { Step } from '@holdpoint/runtime/testing/explore';
import { sign, verify } from './approval-grants.ts';
import type { Model } from './examine.ts';

export type ApprovalDecider = Decider<ApprovalState, ApprovalMessage, ApprovalEvent, ApprovalWork>;
export type EffectDecider = Decider<EffectState, EffectMessage, EffectEvent, EffectWork>;

export type Race = {
  readonly approvals: ApprovalDecider;
  readonly executor: EffectDecider;
  /** A decision may wait for the lock. The clock is read once the lock is held. */
  readonly clock: 'behind the lock' | 'before the lock';
  /** The quorum. With two, both approvers agree; with one, they disagree. */
  readonly quorum: 1 | 2;
};

/** An approver who decides, waits for the lock and gets an answer. */
type Person = {
  readonly waitsSince: number | undefined;
  readonly told: Answer | undefined;
};
export type RaceWorld = {
  readonly approval: ApprovalState;
  readonly effect: EffectState;
  readonly now: number;
  readonly ada: Person;
  readonly grace: Person;
  /** The requester: orders after the approval and may withdraw before or after. */
  readonly asker: { readonly ordered: boolean; readonly withdrawn: boolean };
  readonly resolutions: number;
  /** The true time of the resolution. */
  readonly resolvedAt: number | undefined;
  readonly cancelStored: boolean;
  readonly startedFaults: readonly string[];
  /** With a quorum of two: who approved and had the lock. */
  readonly approvers: readonly string[];
};

export const realRace: Race = {
  approvals: createApprovalDecider(sign),
  executor: createEffectDecider({ verify }),
  clock: 'behind the lock',
  quorum: 1,
};
export const raceOfTwo: Race = { ...realRace, quorum: 2 };

const request = requestFor();
const requestOf = ({ quorum }: Race): typeof request =>
  quorum === 1 ? request : requestFor('hello', { policy: { quorum } });
/** An effect under the same key that was not approved. */
export const other = requestFor('other line');
const PLACE = { worker: 'E', slot: 0 };
/** Before and after the deadline, and after the end of the last grant. */
const MOMENTS = [
  { now: REQUESTED_AT, label: 'asked' },
  { now: DEADLINE - 1, label: 'a moment before the deadline' },
  { now: DEADLINE, label: 'the deadline' },
  { now: DEADLINE + 3_600_000, label: 'the end of every grant' },
] as const;
const RESOLUTIONS_MAX = 2;

const decideApproval = (
  world: RaceWorld,
  message: ApprovalMessage,
  now: number,
  { approvals }: Race,
): readonly [RaceWorld, Answer | undefined] => {
  const { events, answer } = approvals.decide(world.approval, message, { now });
  const resolved = events.filter(({ type }) => type === 'resolved').length;
  const next = {
    ...world,
    approval: events.reduce((state, event) => approvals.evolve(state, event), world.approval),
    resolutions: Math.min(world.resolutions + resolved, RESOLUTIONS_MAX),
    resolvedAt: resolved > 0 ? world.now : world.resolvedAt,
  };
  return [events.length === 0 ? world : next, answer];
};

const personSteps = (
  world: RaceWorld,
  who: Principal,
  verb: Verb,
  race: Race,
): readonly Step<RaceWorld>[] => {
  const name = who.name as 'ada' | 'grace';
  const { waitsSince, told } = world[name];
  const behind = race.clock === 'behind the lock';
  if (waitsSince === undefined) {
    // Only a decision by an old clock needs the time.
    const since = behind ? REQUESTED_AT : world.now;
    return [[`${name} presses ${verb}`, { ...world, [name]: { waitsSince: since, told } }]];
  }
  const now = behind ? world.now : waitsSince;
  const message = { kind: 'decide', payload: { id: APPROVAL, decision: verb }, by: who } as const;
  const [next, answer] = decideApproval(world, message, now, race);
  const isHeard = race.quorum > 1 && answer !== undefined && 'ok' in answer;
  const approvers = isHeard ? [...new Set([...world.approvers, name])].toSorted() : world.approvers;
  return [[`${name} has the lock`, { ...next, approvers, [name]: { waitsSince: undefined, told: answer } }]];
};

const approvalSteps = (world: RaceWorld, race: Race): readonly Step<RaceWorld>[] => {
  const reach = (message: ApprovalMessage): RaceWorld => decideApproval(world, message, world.now, race)[0];
  const about = { id: APPROVAL, task: TASK, node: NODE, revision: 1 };
  const later = MOMENTS.find(({ now }) => now > world.now);
  return [
    ['requested', reach({ kind: 'request', payload: requestOf(race) })],
    ['expiry timer', reach({ kind: 'timer', name: 'expiry', data: null })],
    ...(world.asker.withdrawn
      ? [['approval cancelled', reach({ kind: 'cancel', payload: { ...about, reason: 'over' } })] as const]
      : []),
    // Time before the request changes nothing.
    ...(later === undefined || world.approval.status === 'absent'
      ? []
      : [[later.label, { ...world, now: later.now }] as const]),
  ];
};

const grantIn = ({ approval }: RaceWorld): string | undefined =>
  approval.status === 'closed' ? approval.decided.grant : undefined;

const askerSteps = (world: RaceWorld): readonly Step<RaceWorld>[] => {
  const { ordered, withdrawn } = world.asker;
  return [
    ...(grantIn(world) === undefined || ordered || withdrawn
      ? []
      : [['approval heard of', { ...world, asker: { ordered: true, withdrawn } }] as const]),
    ...(withdrawn ? [] : [['withdrawn', { ...world, asker: { ordered, withdrawn: true } }] as const]),
  ];
};

const decideEffect = (world: RaceWorld, message: EffectMessage, { executor }: Race): RaceWorld => {
  const { events, work } = executor.decide(world.effect, message, { now: world.now });
  const effect = events.reduce((state, event) => executor.evolve(state, event), world.effect);
  const cancelStored = world.cancelStored || message.kind === 'cancel';
  const started = work.flatMap((each) => (each.kind === 'start' ? [each.order] : []));
  if (events.length === 0 && started.length === 0 && cancelStored === world.cancelStored) return world;
  const startedFaults = [...world.startedFaults, ...started.flatMap((order) => badStart(world, order))];
  return { ...world, effect, cancelStored, startedFaults };
};

const badStart = ({ approval, now, cancelStored }: RaceWorld, order: RunEffect): readonly string[] => {
  const stands =
    approval.status === 'closed' &&
    approval.decided.outcome === 'approved' &&
    order.digest === approval.request.digest;
  const ended = stands && now >= (approval.decided.validUntil ?? 0);
  return [
    ...(stands ? [] : ['started without a valid approval']),
    ...(ended ? ['started after its grant had ended'] : []),
    ...(cancelStored ? ['started after its cancellation was stored'] : []),
  ];
};

/** A client on the bus sees grants and may use one for another order. */
const executorSteps = (world: RaceWorld, race: Race): readonly Step<RaceWorld>[] => {
  const reach = (message: EffectMessage): RaceWorld => decideEffect(world, message, race);
  const grant = grantIn(world);
  const orderOf = ({ effectId: id, effect, digest }: typeof request, token: string): RunEffect => ({
    id,
    attempt: 1,
    effect,
    digest,
    grant: token,
  });
  const run = (payload: RunEffect, place: typeof PLACE | undefined): RaceWorld =>
    reach({ kind: 'run', payload, slot: place });
  const about = { id: request.effectId, task: TASK, node: NODE, attempt: 1 };
  return [
    ...(grant !== undefined && world.asker.ordered
      ? [
          ['order finds a place', run(orderOf(request, grant), PLACE)] as const,
          ['order finds no place', run(orderOf(request, grant), undefined)] as const,
        ]
      : []),
    ...(grant === undefined
      ? []
      : [['another effect under the grant', run(orderOf(other, grant), PLACE)] as const]),
    ['claimed', reach({ kind: 'claim', id: request.effectId, slot: PLACE })],
    ...(world.asker.withdrawn && world.asker.ordered
      ? [['effect cancelled', reach({ kind: 'cancel', payload: { ...about, reason: 'over' } })] as const]
      : []),
  ];
};

const BY_PEOPLE = ['approved', 'rejected', 'changes_requested'];

/** Whether the answer differs from the decision that counts. */
const misinformed = ({ told }: Person, approval: ApprovalState): boolean => {
  if (told === undefined) return false;
  const said =
    'ok' in told ? told.ok : told.error.code === 'APPROVALS_ALREADY_DECIDED' ? told.error.details : undefined;
  // A pending quorum says nothing about the outcome.
  if (said === undefined || said['status'] === 'pending') return false;
  if (approval.status !== 'closed' && approval.status !== 'withdrawn') return true;
  const { outcome, by, votes = [] } = approval.decided;
  const deciders = [by, ...votes.map((vote) => vote.by)];
  return said['status'] !== outcome || !deciders.some((each) => said['by'] === each);
};

const wrong = (world: RaceWorld, quorum: number): readonly string[] => {
  const { approval, resolutions, resolvedAt = 0, startedFaults } = world;
  const outcome = approval.status === 'closed' ? approval.decided.outcome : '';
  const late = approval.status === 'closed' && resolvedAt >= approval.expiresAt;
  return [
    ...startedFaults,
    ...(resolutions > 1 ? ['resolved twice'] : []),
    ...(late && BY_PEOPLE.includes(outcome) ? ['decided after its expiry'] : []),
    ...(!late && outcome === 'expired' ? ['expired before its time'] : []),
    ...(quorum > 1 && grantIn(world) !== undefined && world.approvers.length < quorum
      ? ['granted by fewer people than its quorum']
      : []),
    ...([world.ada, world.grace].some((person) => misinformed(person, approval))
      ? ['got an answer that does not count']
      : []),
  ];
};

/**
 * The real deciders of approvals and executor with two approvers, an expiry timer that fires early, late,
 * never or again, a requester who withdraws, and a clock that may jump to any moment.
 */
export const approvalRace = (race: Race): Model<RaceWorld> => ({
  start: {
    approval: race.approvals.initial,
    effect: race.executor.initial,
    now: REQUESTED_AT,
    ada: { waitsSince: undefined, told: undefined },
    grace: { waitsSince: undefined, told: undefined },
    asker: { ordered: false, withdrawn: false },
    resolutions: 0,
    resolvedAt: undefined,
    cancelStored: false,
    startedFaults: [],
    approvers: [],
  },
  steps: (world) => [
    ...personSteps(world, ada, 'approve', race),
    ...personSteps(world, grace, race.quorum > 1 ? 'approve' : 'reject', race),
    ...approvalSteps(world, race),
    ...askerSteps(world),
    ...executorSteps(world, race),
  ],
  wrong: (world) => wrong(world, race.quorum),
  rests: ({ approval }) => approval.status === 'closed' || approval.status === 'withdrawn',
});
