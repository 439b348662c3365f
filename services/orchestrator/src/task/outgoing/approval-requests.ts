import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { jobOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import { type EffectDeclaration, WAIT_MAX_MS } from '@holdpoint/contracts/workflow/workflow';
import type { Outgoing } from '@holdpoint/runtime/decider';
import { requestFacts } from '../evidence/request-facts.ts';
import { budgetRequestIn } from '../model/budget.ts';
import { effectGate } from '../model/effect-gate.ts';
import { nodeDefinition, nodeState, questionRevision, type Task } from '../model/state.ts';
import { TITLE_MAX } from './gate-request.ts';
import { command, gateOf, inDoubtOf, requesterOf } from './outgoing.ts';

/** The cut may halve a character, and the store rejects half of one. */
const beginningOf = (text: string): string => text.slice(0, 200).toWellFormed();

/** The parts of a request that differ by question. */
type Question = Pick<
  RequestApproval,
  'id' | 'title' | 'audience' | 'timeoutMs' | 'inDoubt' | 'body' | 'policy' | 'gate'
>;

const approvalRequest = (
  task: Task,
  node: NodeId,
  { id, ...question }: Question,
  resends: number,
): Outgoing => {
  const { effectId, effect, digest } = gateOf(task, node);
  return command('approval', 'request', subjects.approvalCommand('request'), `${id}.${String(resends)}`, {
    id,
    task: task.id,
    node,
    revision: nodeState(task, node).revision,
    effectId,
    effect,
    digest,
    ...requesterOf(task),
    facts: requestFacts(task, node),
    workflow: task.definition.id,
    ...(task.rollbackOf && { rollbackOf: task.rollbackOf }),
    ...question,
  });
};

/** `file append` for `cap.file.append`. */
const actionOf = (uses: string): string =>
  uses.replace(/^cap\.(?:env\.(?:builtin|shell)\.)?/, '').replaceAll('.', ' ');

/** The title for an effect without a gate. A target that only repeats the capability is left out. */
export const titleOf = (task: Task, { uses, target }: CanonicalEffect): string =>
  `${beginningOf(task.goal)}: ${actionOf(uses)}${target === uses ? '' : ` on ${beginningOf(target)}`}`;

/** `resends` counts the repeats of the same request. */
export const requestApproval = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { approval: id, effect, asked } = gateOf(task, node);
  const { effect: declared } = nodeDefinition(task, node);
  const by = declared
    ? { audience: declared.audience, timeoutMs: waitOf(declared), ...gatedBy(effectGate(task, node)) }
    : startRequest(task, node, effect);
  const { inputs: _, ...filledIn } = asked ?? {};
  const title = asked?.title ?? titleOf(task, effect);
  return approvalRequest(task, node, { id, title, ...by, ...filledIn }, resends);
};

/** A start needs approval because its author wants it, or because the budget is used up. */
const startRequest = (
  task: Task,
  node: NodeId,
  effect: CanonicalEffect,
): Omit<Question, 'id' | 'title'> & { readonly title?: string } => {
  const { approval } = nodeDefinition(task, node);
  const audience = approval?.audience ?? ['operators'];
  const asked = budgetRequestIn(effect);
  if (asked === undefined) return { audience, timeoutMs: approval?.timeoutMs ?? DECISION_MS };
  const title = `More budget for ${beginningOf(task.goal)}: ${asked.used}`;
  return {
    title: title.slice(0, TITLE_MAX).toWellFormed(),
    audience: task.definition.policy?.budget?.audience ?? audience,
    timeoutMs: DECISION_MS,
    policy: { decisions: ['approve', 'reject'] },
  };
};

/** The timeout: from the gate by effect kind, else from the effect. */
const waitOf = ({ gate, kind, approvalTimeoutMs }: EffectDeclaration): number =>
  gate?.timeoutMs[kind] ?? gate?.timeoutMs.default ?? approvalTimeoutMs;

const gatedBy = (gate: ReturnType<typeof effectGate>): Pick<Question, 'policy' | 'gate'> =>
  gate === undefined ? {} : { policy: gate.policy, gate: `${gate.id}@${gate.version}` };

/** The request waits as long as possible, because the answer takes an investigation. */
export const requestInDoubtAnswer = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { approval: id, epoch, reason = '' } = inDoubtOf(task, node);
  const { effect, asked } = gateOf(task, node);
  const title = `Did it happen? ${titleOf(task, effect)}`;
  const question: Question = {
    id,
    title: title.slice(0, TITLE_MAX).toWellFormed(),
    audience: asked?.audience ?? nodeDefinition(task, node).effect?.audience ?? ['operators'],
    timeoutMs: WAIT_MAX_MS,
    inDoubt: { epoch, reason },
  };
  return approvalRequest(task, node, question, resends);
};

/** The request waits as long as possible: the job stays stuck. */
export const requestStuckAnswer = (task: Task, node: NodeId, resends: number): Outgoing => {
  const { stuck, verdict, reason = '' } = nodeState(task, node);
  if (stuck === undefined || verdict === undefined)
    throw new Error(`node ${node} of ${task.id} has no open stuck-job question`);
  const { approval: id, effectId, effect, digest } = stuck;
  const { effect: declared, approval } = nodeDefinition(task, node);
  const asked = declared && nodeState(task, node).gate?.asked?.audience;
  const audience = asked ?? declared?.audience ?? approval?.audience ?? ['operators'];
  const request: RequestApproval = {
    id,
    task: task.id,
    node,
    revision: questionRevision(nodeState(task, node)),
    effectId,
    effect,
    digest,
    title: `Stuck: ${jobOf(task.id, node)}: ${beginningOf(task.goal)}`.slice(0, TITLE_MAX).toWellFormed(),
    ...requesterOf(task),
    audience,
    timeoutMs: WAIT_MAX_MS,
    stuck: { class: verdict.class, reason: reason.slice(0, STUCK_REASON_MAX).toWellFormed() },
    body: verdict.report ?? reason,
    workflow: task.definition.id,
  };
  return command(
    'approval',
    'request',
    subjects.approvalCommand('request'),
    `${id}.${String(resends)}`,
    request,
  );
};

const STUCK_REASON_MAX = 2_000;
