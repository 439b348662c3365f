import { Answer } from '@holdpoint/contracts/approval/commands';
import { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { NodeId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { VerdictKind } from '@holdpoint/contracts/workflow/failure-class';
import type { TimerChange } from '@holdpoint/runtime/decider';
import type { Act } from '@holdpoint/runtime/testing/run';
import fc from 'fast-check';
import type { taskDecider } from '../src/task/decide.ts';
import type { TaskMessage } from '../src/task/model/messages.ts';
import { findNode, type NodeStatus, openQuestion, type TaskState } from '../src/task/model/state.ts';
import { OTHER_EFFECT } from './parallel.ts';
import { approvalOf, byHand, NOW, submission, submit, TASK, verdictOf } from './tasks.ts';

/** The state of a run: its messages and its timers. */
type Past = { readonly said: readonly TaskMessage[]; readonly timers: ReadonlyMap<string, Json> };
/** A message that mostly fits the state, and sometimes comes from elsewhere. */
type Move = (state: TaskState, past: Past) => TaskMessage;
/** The same for one node. */
type NodeMove = (state: TaskState, node: NodeId) => TaskMessage;

const nodeIn = (state: TaskState, node: NodeId) =>
  state.phase === 'absent' ? undefined : findNode(state, node);
const seldom = fc.constantFrom(false, false, false, false, true);

const approvalMove: fc.Arbitrary<NodeMove> = fc
  .record({
    outcome: fc.oneof(
      { weight: 4, arbitrary: fc.constant('approved' as const) },
      { weight: 1, arbitrary: fc.constantFrom(...ApprovalOutcome.options) },
    ),
    stale: seldom,
    grantLastsMs: fc.constantFrom(3_600_000, 4_000),
    comment: fc.option(fc.string(), { nil: undefined }),
  })
  .map(({ outcome, stale, grantLastsMs, comment }) => (state, node) => {
    const { gate, revision = 1 } = nodeIn(state, node) ?? {};
    const id = stale ? approvalOf(revision + 1) : (gate?.approval ?? approvalOf(1));
    const granted = outcome === 'approved' && { grant: `grant for ${id}`, validUntil: NOW + grantLastsMs };
    const said = { outcome, by: 'grace', comment, at: NOW, ...granted };
    return { kind: 'approval', event: { type: 'resolved', id, task: TASK, node, revision, ...said } };
  });

/** An answer about an effect in doubt, an expiry, or a cancellation. */
const answerMove: fc.Arbitrary<NodeMove> = fc
  .record({
    outcome: fc.constantFrom('answered', 'answered', 'answered', 'expired', 'cancelled', 'approved'),
    answer: fc.constantFrom(...Answer.options, 'retry'),
    stale: seldom,
  })
  .map(({ outcome, answer, stale }) => (state, node) => {
    const { inDoubt, stuck, revision = 1 } = nodeIn(state, node) ?? {};
    const id = stale ? approvalOf(99) : (inDoubt?.approval ?? stuck?.approval ?? approvalOf(98));
    const said = outcome === 'answered' && { answer, statement: `statement on ${id}: ${answer}` };
    const event = {
      type: 'resolved',
      id,
      task: TASK,
      node,
      revision,
      outcome,
      by: 'grace',
      at: NOW,
      ...said,
    };
    return { kind: 'approval', event } as TaskMessage;
  });

const outcomeFacts = fc.constantFrom<object>(
  { type: 'applied', epoch: 1, outputs: { line: 1 } },
  { type: 'failed_clean', epoch: 1, error: { code: 'EXECUTOR_TARGET_UNAVAILABLE', message: 'busy' } },
  { type: 'in_doubt', epoch: 2, reason: 'lost', next: 'person' },
  { type: 'in_doubt', epoch: 2, reason: 'lost', next: 'person', cause: 'worker_lost' },
  { type: 'in_doubt', epoch: 2, reason: 'lost', next: 'repeat', cause: 'worker_lost' },
  { type: 'in_doubt', epoch: 2, reason: 'lost', next: 'probe' },
  { type: 'not_applied', epoch: 2, reason: 'grace said so', by: 'person' },
  { type: 'not_applied', epoch: 2, reason: 'it is not there', by: 'probe' },
  { type: 'duplicate_prevented', outcome: 'applied' },
  { type: 'refused', error: { code: 'EXECUTOR_GRANT_EXPIRED', message: 'late' } },
  { type: 'refused', error: { code: 'EXECUTOR_GRANT_INVALID', message: 'no' } },
  { type: 'cancelled', reason: 'over' },
  { type: 'deferred', target: 'https://api.example', reason: 'its circuit is open' },
  { type: 'undeferred' },
  { type: 'superseded', epoch: 1, observed: 'applied' },
);

const effectMove: fc.Arbitrary<NodeMove> = fc
  .record({ says: outcomeFacts, late: seldom, foreign: seldom, newer: fc.boolean() })
  .map(({ says: of, late, foreign, newer }) => (state, node) => {
    const { gate, attempt = 1, inDoubt } = nodeIn(state, node) ?? {};
    // From before or after an in-doubt answer.
    const says = newer && inDoubt !== undefined && 'epoch' in of ? { ...of, epoch: inDoubt.epoch + 2 } : of;
    const id = foreign ? OTHER_EFFECT : (gate?.effectId ?? OTHER_EFFECT);
    const about = { id, task: TASK, node, attempt: late ? Math.max(1, attempt - 1) : attempt };
    const order = { ...gate, grant: late ? 'an earlier one' : gate?.grant?.token };
    return { kind: 'effect', event: { ...says, ...about, order } as EffectEvent };
  });

const recoveryMove: fc.Arbitrary<NodeMove> = fc
  .record({
    kind: fc.constantFrom(...VerdictKind.options, 'retry', 'retry'),
    late: seldom,
    delayMs: fc.nat(5_000),
  })
  .map(({ kind, late, delayMs }) => (state, node) => {
    const { attempt = 1, failure } = nodeIn(state, node) ?? {};
    // A failure that operators decide about is given up, for its own reason.
    const verdict =
      failure?.paused === undefined
        ? verdictOf(kind, delayMs)
        : { ...verdictOf('escalate'), reason: failure.paused };
    return {
      kind: 'recover',
      payload: { task: TASK, node, attempt: late ? attempt + 1 : attempt, verdict },
      task: TASK,
    };
  });

/** Timers, set or not. Those with a count fire once, as they were set: see `dueMove`. */
const timerMove: fc.Arbitrary<NodeMove> = fc
  .constantFrom('retry', 'other')
  .map((name) => (_, node) => ({ kind: 'timer', name: `${name}:${node}`, data: null }));

const handMove: fc.Arbitrary<NodeMove> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.constantFrom<NodeMove>(
      () => byHand('pause'),
      () => byHand('resume'),
      () => byHand('resume'),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom<NodeMove>(
      () => byHand('retry'),
      (_, node) => byHand('retry', { node }),
      (state, node) => byHand('retry', { node, attempt: nodeIn(state, node)?.attempt ?? 1 }),
      (_, node) => byHand('retry', { node, attempt: 1 }),
    ),
  },
  { weight: 1, arbitrary: fc.constant<NodeMove>(() => byHand('cancel')) },
);

/** An earlier message, unchanged: the bus may repeat it at any time. */
const againMove: fc.Arbitrary<Move> = fc.nat().map(
  (pick): Move =>
    (_, { said }) =>
      said[pick % Math.max(1, said.length)] ?? submit(),
);

/** A timer that is set, due or not. */
const dueMove: fc.Arbitrary<Move> = fc.nat().map((pick): Move => (_, { timers }) => {
  const [name, data] = [...timers][pick % Math.max(1, timers.size)] ?? ['other', null];
  return { kind: 'timer', name, data };
});

/** A reply that a node waits for. Without such moves few runs would get far. */
const fittingMove = (nodes: readonly NodeId[]): fc.Arbitrary<Move> =>
  fc
    .record({
      pick: fc.nat(),
      approval: approvalMove,
      answer: answerMove,
      effect: effectMove,
      recovery: recoveryMove,
    })
    .map(({ pick, approval, answer: said, effect, recovery }) => {
      const answers: Partial<Record<NodeStatus, NodeMove>> = {
        // An ordered effect may still turn out to be applied.
        awaiting_approval: pick % 4 === 0 ? effect : approval,
        running: effect,
        recovering: recovery,
        retrying: (_, node) => ({ kind: 'timer', name: `retry:${node}`, data: null }),
        escalated: (state, node) => {
          const { inDoubt, stuck } = nodeIn(state, node) ?? {};
          if (inDoubt?.answered !== undefined) return effect(state, node);
          const isAsked =
            openQuestion({ ...(inDoubt && { inDoubt }), ...(stuck && { stuck }) }) !== undefined;
          return isAsked && pick % 5 !== 0 ? said(state, node) : byHand('retry', { node });
        },
      };
      return (state) => {
        const waiting = nodes.flatMap((node) => {
          const { status = 'idle', withdrawn } = nodeIn(state, node) ?? {};
          const confirmation = withdrawn && (withdrawn.approval ? approval : effect);
          const answer = confirmation ?? answers[status];
          return answer === undefined ? [] : [answer(state, node)];
        });
        return (
          waiting[pick % Math.max(1, waiting.length)] ??
          (state.phase === 'absent' ? submit() : byHand('resume'))
        );
      };
    });

const about = (nodes: fc.Arbitrary<NodeId>, move: fc.Arbitrary<NodeMove>): fc.Arbitrary<Move> =>
  fc.record({ node: nodes, move }).map(
    ({ node, move: made }) =>
      (state) =>
        made(state, node),
  );

/** The timers after a decision, as the runtime keeps them: a fired timer is gone unless it is set again. */
export const keepTimers = (
  timers: Map<string, Json>,
  message: TaskMessage,
  changes: readonly TimerChange[],
): void => {
  if (message.kind === 'timer') timers.delete(message.name);
  for (const change of changes) {
    if ('set' in change) timers.set(change.set, change.data ?? null);
    else timers.delete(change.clear);
  }
};

/** Messages to a task with these effect nodes, in any order, with clocks that may step back. */
export const actsFor = (
  decider: typeof taskDecider,
  effectNodes: readonly NodeId[],
): fc.Arbitrary<readonly Act<TaskMessage>[]> => {
  const own = fc.constantFrom(...effectNodes);
  const any = fc.constantFrom(...effectNodes, ...effectNodes, NodeId.parse('nowhere'));
  const move = fc.oneof(
    { weight: 12, arbitrary: fittingMove(effectNodes) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Move>(
        () => submit(),
        () => submit({ ...submission, goal: 'another' }),
      ),
    },
    { weight: 3, arbitrary: about(any, handMove) },
    { weight: 1, arbitrary: about(any, approvalMove) },
    { weight: 1, arbitrary: about(any, answerMove) },
    { weight: 1, arbitrary: about(any, effectMove) },
    { weight: 1, arbitrary: about(any, recoveryMove) },
    // Its own timers name existing nodes.
    { weight: 1, arbitrary: about(own, timerMove) },
    { weight: 3, arbitrary: dueMove },
    { weight: 2, arbitrary: againMove },
  );
  const moment = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: NOW, max: NOW + 10_000 }) },
    { weight: 1, arbitrary: fc.constant(NOW + 3_600_000) },
  );
  return fc.array(fc.record({ move, now: moment }), { maxLength: 40, size: 'max' }).map((moves) => {
    let state = decider.initial;
    const said: TaskMessage[] = [];
    const timers = new Map<string, Json>();
    return moves.map(({ move: toMessage, now }) => {
      const message = toMessage(state, { said, timers });
      const made = decider.decide(state, message, { now });
      state = made.events.reduce((before, event) => decider.evolve(before, event), state);
      if (message.kind !== 'timer') said.push(message);
      keepTimers(timers, message, made.timers);
      return { message, now };
    });
  });
};
