import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { type Choice, StuckAnswer } from '@holdpoint/contracts/approval/commands';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import type { Vote } from '@holdpoint/contracts/approval/status';
import { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { Principal } from '@holdpoint/approvals/approval/state';
import { agentThatTries } from './agents.ts';
import type { Change } from '../event-states.ts';
import type { Cluster } from '../services/cluster.ts';
import { startBreakers } from './circuit-operators.ts';
import { startHands } from './operators.ts';
import type { Node, Reply } from '../services/replica.ts';
import { PEOPLE } from '../workload/gates.ts';
import { NONSENSE, responseTo } from './program-operators.ts';
import { startRules } from './standing-rules.ts';
import { LATE_MS } from '../outside/target.ts';
import type { World } from '../world.ts';

const { ada: OPERATOR, linus: OTHER, mallory: STRANGER, grace: SENIOR } = PEOPLE;
type Person = Principal;

const ASK_AGAIN_MS = 4_000;
const CALLS_MAX = 12;
const LOOKS_WITHIN_MS = 15_000;
const COLLEAGUE_WITHIN_MS = 2_000;
const AROUND_EXPIRY_MS = 60;
/** By then a frozen process has thawed and knows that its lease is over. */
const AFTER_LATE_MS = 60_000;
const NEVER_LOOKS = 0.25;
const LATE_ANSWER_MS = 150_000;
const DECIDES = { nobody: 0.1, atExpiry: 0.08, two: 0.15, stranger: 0.04 } as const;

export type Call = <To extends Addressed>(
  nodes: readonly Node<To>[],
  to: To,
  onReply?: (reply: Reply) => void,
) => void;

/** Approvers, and operators who handle open questions. */
export const startPeople = (world: World, cluster: Cluster) => {
  const { timeline, choices, checker, books } = world;

  const up = <To extends Addressed>(nodes: readonly Node<To>[], place: string): Node<To> | undefined => {
    const candidates = nodes.filter((node) => node.isUp());
    return candidates.length === 0 ? undefined : choices.pick(place, candidates);
  };

  /** Repeats a call until it is answered: every call may be repeated. */
  const call = <To extends Addressed>(
    nodes: readonly Node<To>[],
    to: To,
    onReply: (reply: Reply) => void = () => undefined,
    calls = 1,
  ): void => {
    let heard = false;
    up(nodes, `api ${to.aggregate}`)?.call(to, (what) => {
      heard = typeof what === 'object';
      if (heard) onReply(what);
    });
    timeline.in(ASK_AGAIN_MS * calls, () => {
      if (!heard && calls < CALLS_MAX) call(nodes, to, onReply, calls + 1);
    });
  };

  const decide = (id: ApprovalId, verb: Choice, by: Person, response?: Json): void => {
    const payload = { id, decision: verb, ...(response !== undefined && { response }) };
    const message = { kind: 'decide', payload, by } as const;
    call(cluster.approvals, { kind: 'approval', aggregate: id, message }, (reply) => {
      if (typeof reply !== 'object' || reply.answer === undefined || !('ok' in reply.answer)) return;
      const { ok } = reply.answer;
      const state = books.approvals.stateOf(id);
      if (by.agent !== undefined && 'request' in state)
        checker.expect(
          'no agent gets the answer that it decided a request of its owner',
          state.request.requestedBy !== by.name,
          id,
          () => `the answer to ${by.agent ?? ''} is ${JSON.stringify(ok)}`,
        );
      const counted = (votes: readonly Vote[] = []): boolean => votes.some((vote) => vote.by === ok['by']);
      const stands =
        (state.status === 'closed' &&
          state.decided.outcome === ok['status'] &&
          (state.decided.by === ok['by'] || counted(state.decided.votes))) ||
        // Under a quorum the vote stays pending, unless the approver changes it.
        (ok['status'] === 'pending' &&
          (state.status === 'closed' || (state.status === 'pending' && counted(state.votes))));
      checker.expect(
        'the answer to a decision is the decision that counts',
        stands,
        id,
        () => `the answer to ${by.name} is ${JSON.stringify(ok)}, but the state is ${JSON.stringify(state)}`,
      );
    });
  };

  const verbFor = (place: string): Verb => {
    const drawn = choices.number(place);
    if (drawn < 0.84) return 'approve';
    return drawn < 0.95 ? 'reject' : 'request_changes';
  };

  /** Approvers answer after every late request has arrived. From then on the target's answer is final. */
  const onInDoubt = (id: ApprovalId, effect: string): void => {
    const place = `answer to ${id}`;
    if (choices.happens(`stranger ${place}`, DECIDES.stranger))
      timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => decide(id, 'applied', STRANGER));
    if (choices.happens(`nobody ${place}`, DECIDES.nobody)) return;
    const answer = (): Choice => {
      if (world.target.applications(effect) > 0) return 'applied';
      return choices.pick(place, ['not_applied', 'retry', 'retry']);
    };
    timeline.in(LATE_MS + choices.between(place, AFTER_LATE_MS, AFTER_LATE_MS + LOOKS_WITHIN_MS), () =>
      decide(id, answer(), OPERATOR),
    );
  };

  /** Some approvers answer at once, some much later, some never, and some invalidly. */
  const onStuckJob = (id: ApprovalId): void => {
    const place = `what becomes by ${id}`;
    if (choices.happens(`stranger ${place}`, DECIDES.stranger))
      timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => decide(id, 'skip', STRANGER));
    if (choices.happens(`nonsense ${place}`, DECIDES.stranger))
      timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => decide(id, 'approve', OPERATOR));
    if (choices.happens(`nobody ${place}`, NEVER_LOOKS)) return;
    const late = choices.happens(`late ${place}`, 0.15) ? LATE_ANSWER_MS : LOOKS_WITHIN_MS;
    const answer = choices.pick(place, [...StuckAnswer.options, 'retry', 'retry'] as const);
    timeline.in(choices.between(place, 0, late), () => decide(id, answer, OPERATOR));
    if (choices.happens(`two ${place}`, DECIDES.two))
      timeline.in(choices.between(`other ${place}`, 0, late), () =>
        decide(id, choices.pick(`other ${place}`, StuckAnswer.options), OTHER),
      );
  };

  /** Most questions of programs get a valid answer; some get an invalid, double, late or missing one. */
  const onInputRequest = (request: Extract<ApprovalEvent, { readonly type: 'requested' }>): void => {
    const id = ApprovalId.parse(request.id);
    const place = `response to ${id}`;
    const within = (what: string): number => choices.between(`${what} ${place}`, 0, LOOKS_WITHIN_MS);
    if (choices.happens(`stranger ${place}`, DECIDES.stranger))
      timeline.in(within('stranger'), () =>
        decide(id, 'respond', STRANGER, responseTo(world, request, 'stranger')),
      );
    if (choices.happens(`nonsense ${place}`, 0.15))
      timeline.in(within('nonsense'), () => decide(id, 'respond', OPERATOR, NONSENSE));
    if (choices.happens(`nobody ${place}`, DECIDES.nobody)) return;
    const when = choices.happens(`at expiry ${place}`, DECIDES.atExpiry)
      ? request.timeoutMs + choices.between(place, -AROUND_EXPIRY_MS, AROUND_EXPIRY_MS)
      : within('when');
    const response = responseTo(world, request, OPERATOR.name);
    timeline.in(when, () => decide(id, 'respond', OPERATOR, response));
    if (choices.happens(`two ${place}`, DECIDES.two))
      timeline.in(when + choices.between(place, -5, 5), () =>
        decide(id, 'respond', OTHER, responseTo(world, request, OTHER.name)),
      );
  };

  /** A requester who may not decide alone asks a colleague. */
  const onOwnRequest = (id: ApprovalId, requester: string): void => {
    const place = `colleague decides on ${id}`;
    if (choices.happens(`nobody ${place}`, DECIDES.nobody)) return;
    const colleague = requester === OPERATOR.name ? OTHER : OPERATOR;
    timeline.in(choices.between(place, 0, COLLEAGUE_WITHIN_MS), () => decide(id, verbFor(place), colleague));
  };

  /** Under a quorum a second approver mostly follows. */
  const onVote = (id: ApprovalId): void => {
    const place = `second decision on ${id}`;
    if (choices.happens(`nobody ${place}`, DECIDES.nobody)) return;
    const when = choices.between(place, 0, LOOKS_WITHIN_MS);
    timeline.in(when, () => decide(id, verbFor(place), choices.pick(place, [OPERATOR, OTHER, OTHER])));
  };

  const onEscalation = (id: ApprovalId): void => {
    const place = `senior decision on ${id}`;
    timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => decide(id, verbFor(place), SENIOR));
  };

  /** Agents try to decide without being asked. */
  const onRequestForAgent = (request: Extract<ApprovalEvent, { readonly type: 'requested' }>): void => {
    const id = ApprovalId.parse(request.id);
    const place = `by an agent on ${id}`;
    const agent = agentThatTries(choices, place);
    if (agent === undefined) return;
    timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => {
      if (request.input !== undefined) decide(id, 'respond', agent, responseTo(world, request, agent.name));
      else if (request.inDoubt !== undefined) {
        // Only an agent whose answer must not count gives an answer that it cannot know.
        if (agent.name === request.requestedBy) decide(id, 'applied', agent);
      } else if (request.stuck !== undefined) decide(id, choices.pick(place, StuckAnswer.options), agent);
      else decide(id, verbFor(place), agent);
    });
  };

  const onApprovalEvent = ({ event }: Change<unknown, ApprovalEvent>): void => {
    if (event.type === 'voted') return onVote(event.id);
    if (event.type === 'escalated') return onEscalation(event.id);
    if (event.type === 'decision_refused' && event.code === 'APPROVALS_FOUR_EYES')
      return onOwnRequest(event.id, event.by);
    if (event.type !== 'requested') return;
    const place = `decision on ${event.id}`;
    const id = ApprovalId.parse(event.id);
    onRequestForAgent(event);
    if (event.input !== undefined) return onInputRequest(event);
    if (event.inDoubt !== undefined) return onInDoubt(id, event.effectId);
    if (event.stuck !== undefined) return onStuckJob(id);
    if (choices.happens(`stranger ${place}`, DECIDES.stranger))
      timeline.in(choices.between(place, 0, LOOKS_WITHIN_MS), () => decide(id, 'approve', STRANGER));
    if (choices.happens(`nobody ${place}`, DECIDES.nobody)) return;
    const when = choices.happens(`at expiry ${place}`, DECIDES.atExpiry)
      ? event.timeoutMs + choices.between(place, -AROUND_EXPIRY_MS, AROUND_EXPIRY_MS)
      : choices.between(place, 0, LOOKS_WITHIN_MS);
    timeline.in(when, () => decide(id, verbFor(place), OPERATOR));
    if (choices.happens(`two ${place}`, DECIDES.two))
      timeline.in(when + choices.between(place, -5, 5), () => decide(id, verbFor(`other ${place}`), OTHER));
  };

  const hands = startHands(world, cluster, call);
  startRules(world, cluster, call);
  const breakers = startBreakers(world, cluster, call);
  return {
    asked: onApprovalEvent,
    call,
    tell: hands.tell,
    review: hands.review,
    happened: hands.happened,
    reset: breakers.reset,
  };
};
