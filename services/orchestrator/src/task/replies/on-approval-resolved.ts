import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { evaluateCondition, ExpressionError } from '@holdpoint/workflows/expression/expression';
import { orderEffect, replyTimer } from '../outgoing/outgoing.ts';
import { checkpoint } from '../model/checkpoints.ts';
import { questionResolved } from './in-doubt.ts';
import type { Draft } from '../model/decision-builder.ts';
import { effectGate } from '../model/effect-gate.ts';
import { decidedText } from '../model/earlier-attempts.ts';
import { letGo } from '../graph/ending.ts';
import { finish } from '../graph/finish.ts';
import { gateScope } from '../outgoing/gate-scope.ts';
import { type Facts, judge, type Judgement, suggestionFor } from './gate-suggestions.ts';
import { refuse } from './on-peer-changed.ts';
import { attempt as attempted } from '../graph/start-when-ready.ts';
import { failed } from '../graph/request-verdict.ts';
import { rewind } from '../graph/rewind.ts';
import {
  type Decided,
  findNode,
  type Gate,
  nodeDefinition,
  type NodeState,
  nodeState,
} from '../model/state.ts';
import { awaitReply, BUDGET_DEFAULT } from '../graph/steps.ts';
import { stuckResolved } from './stuck-job.ts';
import { nearestAgent, startsAnewWith } from '../model/upstream.ts';

/** A request of a node that still waits for it, and what was decided. */
type Resolution = { readonly fact: ApprovalResolved; readonly state: NodeState; readonly gate: Gate };

/** What the approvals service decided. A late answer to a question that is no longer open changes nothing. */
export const approvalResolved = (draft: Draft, fact: ApprovalResolved): void => {
  const state = findNode(draft.task(), fact.node);
  if (state?.doubt?.approval === fact.id) return questionResolved(draft, fact, state);
  if (state?.stuck?.approval === fact.id) return stuckResolved(draft, fact, state);
  const { status, gate } = state ?? {};
  if (state === undefined || status !== 'awaiting_approval' || gate?.approval !== fact.id) return;
  const resolution = { fact, state, gate };
  const judgement = judged(draft, resolution);
  if (judgement instanceof ExpressionError) {
    close(draft, resolution, false);
    return attempted(draft, fact.node, () => {
      throw judgement;
    });
  }
  follow(draft, resolution, judgement);
};

const grantIn = ({ outcome, grant, validUntil }: ApprovalResolved) =>
  outcome === 'approved' && grant !== undefined && validUntil !== undefined
    ? { grant, validUntil }
    : undefined;

/** What follows from it; or what is wrong with a condition of its gate. */
const judged = (draft: Draft, { fact, state, gate }: Resolution): Judgement | ExpressionError => {
  const task = draft.task();
  const { node, outcome, by, comment = '' } = fact;
  const facts: Facts = {
    outcome,
    granted: grantIn(fact) !== undefined,
    applied: state.known?.effectId === gate.effectId,
    agent: outcome === 'changes_requested' ? nearestAgent(task, node) : undefined,
    leadsHere: (to) => startsAnewWith(task, to, node),
  };
  const template = effectGate(task, node);
  if (template === undefined) return judge(undefined, facts);
  const holds = (condition: string): boolean => {
    const about = { effect: gate.effect, digest: gate.digest, revision: state.revision };
    const scope = gateScope(task, node, template, about, gate.asked?.inputs ?? {});
    return evaluateCondition(condition, { ...scope, decision: { outcome, by, comment } });
  };
  try {
    return judge(suggestionFor(template, outcome, holds), facts);
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
};

const close = (draft: Draft, { fact, state }: Resolution, keepsGrant: boolean): void => {
  const { node, id: approval, outcome, by, comment } = fact;
  draft.emit({
    type: 'approval_closed',
    node,
    attempt: state.attempt,
    approval,
    outcome,
    by,
    comment,
    ...(keepsGrant && grantIn(fact)),
  });
};

const follow = (draft: Draft, resolution: Resolution, { course, refused }: Judgement): void => {
  const { fact, state } = resolution;
  const { node } = fact;
  const note = (): void => {
    if (refused === undefined) return;
    const about = { kind: 'suggestion_refused', revision: state.revision, name: 'on_decision' } as const;
    checkpoint(draft, node, { ...about, reason: refused });
  };
  const said = reasonOf(fact);
  switch (course.kind) {
    case 'resume': {
      const grant = grantIn(fact);
      if (grant === undefined) throw new Error(`approval ${fact.id} has no grant`);
      if (goesStraightOn(draft, node)) {
        note();
        return orderNow(draft, node, grant);
      }
      close(draft, resolution, true);
      note();
      draft.timer({ clear: replyTimer(node) });
      return draft.touch([node]);
    }
    case 'back':
      close(draft, resolution, false);
      note();
      return goBack(draft, resolution, course.to);
    case 'blocked':
      close(draft, resolution, false);
      note();
      return refuse(draft, node, said);
    case 'paused':
      close(draft, resolution, true);
      note();
      return waitForPerson(
        draft,
        resolution,
        fact.outcome === 'changes_requested' && fact.comment === undefined ? `${said}: no comment` : said,
      );
    case 'recovering':
      close(draft, resolution, true);
      note();
      return failed(draft, node, 'run', { outcome: 'failed', error: errorBody('ERR_FORBIDDEN', said) });
    case 'known': {
      close(draft, resolution, false);
      note();
      const { known } = nodeState(draft.task(), node);
      return finish(draft, node, { ...known?.result, outcome: 'succeeded' }, 'run');
    }
  }
};

/** Why it does not go on. */
const reasonOf = (fact: ApprovalResolved): string => {
  const said = decidedText(saidIn(fact));
  if (fact.outcome !== 'approved') return said;
  return grantIn(fact) === undefined ? `${said}, without a grant` : `${said}, and its gate holds it back`;
};

const saidIn = ({ outcome, by, comment }: ApprovalResolved): Decided => ({
  outcome,
  by,
  ...(comment !== undefined && { comment }),
});

const waitForPerson = (draft: Draft, { fact, state }: Resolution, reason: string): void => {
  const { node } = fact;
  draft.emit({ type: 'node_escalated', node, attempt: state.attempt, reason });
  letGo(draft, node, state);
};

/** Nobody has decided in time, and the gate says what that means. */
const byClock = ({ surface }: ApprovalResolved): boolean => surface === 'clock';

/** Who has asked for which changes: everybody, where it took more than one. */
const wishesIn = (fact: ApprovalResolved): string => {
  if (byClock(fact)) return 'nobody has decided in time';
  const others = (fact.votes ?? []).filter(
    ({ decision, by, comment }) => decision === 'request_changes' && by !== fact.by && comment !== undefined,
  );
  const wishes = [fact, ...others].map(({ by, comment }) => `${by}: ${comment ?? 'no comment'}`);
  return wishes.join('\n');
};

/** As much as an agent is told. */
const HINT_MAX = 65_536;

/**
 * The task goes back, with what was said for whoever works on it next. A person may ask for that as often as he likes; a clock
 * as often as the node may be tried again, and then a person is waited for.
 */
const goBack = (draft: Draft, resolution: Resolution, to: NodeId): void => {
  const { fact, state } = resolution;
  const { node, outcome, by } = fact;
  const what = outcome === 'changes_requested' ? 'changes requested by' : `${outcome.replace('_', ' ')} by`;
  const hint = `${what} ${wishesIn(fact)}`.slice(0, HINT_MAX).toWellFormed();
  if (!byClock(fact)) return rewind(draft, [to], { hint, by });
  const { loops = 0 } = state;
  const { retry } = nodeDefinition(draft.task(), node);
  if (loops >= (retry?.budget ?? BUDGET_DEFAULT))
    return waitForPerson(draft, resolution, `nobody has decided in time, ${String(loops + 1)} times`);
  return rewind(draft, [to], { route: node, hint, by });
};

/** Nothing stands between the approval of an effect and its order: no pause, no locks, no step before it. */
const goesStraightOn = (draft: Draft, node: NodeId): boolean => {
  const { effect, locks = [], before = [] } = nodeDefinition(draft.task(), node);
  const { pausedByHand, repository } = draft.task();
  const locked = locks.length > 0 && repository !== undefined;
  const { paused } = nodeState(draft.task(), node);
  return effect !== undefined && !pausedByHand && paused !== true && !locked && before.length === 0;
};

const orderNow = (
  draft: Draft,
  node: NodeId,
  { grant, validUntil }: { readonly grant: string; readonly validUntil: number },
): void => {
  const { attempt, gate } = nodeState(draft.task(), node);
  if (gate === undefined) throw new Error(`node ${node} was never gated`);
  const { approval, effectId } = gate;
  draft.emit({ type: 'effect_ordered', node, attempt, effectId, approval, grant, validUntil });
  draft.send(orderEffect(draft.task(), node, 0));
  awaitReply(draft, node);
};
