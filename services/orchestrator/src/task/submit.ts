import { workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import { unverifiedName } from '@holdpoint/contracts/values/person';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import { type NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { type Decision, refused } from '@holdpoint/runtime/decider';
import { wrongArguments } from '@holdpoint/workflows/definition/argument-checks';
import { definitionChecks, definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import { graphOf } from '@holdpoint/workflows/graph/graph';
import { type Problem, problemText } from '@holdpoint/workflows/problems/problem';
import { deferTask } from './outgoing/circuits.ts';
import { createDecisionBuilder, type DecisionBuilder } from './model/decision-builder.ts';
import { sendArtifactReport } from './graph/ending.ts';
import type { ForkTask, Submission } from './model/messages.ts';
import { watchPeers } from './outgoing/watch-peers.ts';
import { advance } from './graph/advance.ts';
import { isApprovalGate } from './model/control-nodes.ts';
import type { TaskChange, TaskState } from './model/state.ts';
import type { TaskTiming } from './model/timing.ts';
import { type BuiltInWorkflow, findWorkflow, workflowNames } from '../workflows/catalog.ts';
import { rollback } from '../workflows/rollback.ts';
import { workflowIndex } from './model/workflow-index.ts';

type Refusal = Decision<never>;
type Submitted = Omit<Extract<TaskChange, { readonly type: 'submitted' }>, 'type' | 'at'>;

const conflict = (task: TaskId): Refusal =>
  refused(errorBody('ORCHESTRATOR_TASK_CONFLICT', `task ${task} exists with other content: use another id`));

/** The refusal of every submission of a task that was cancelled before it arrived. */
export const cancelledBefore = (task: TaskId): Refusal =>
  refused(
    errorBody(
      'ORCHESTRATOR_TASK_CANCELLED',
      `task ${task} was cancelled before its submission: use another id`,
    ),
  );

const PROBLEMS_SHOWN = 20;

const invalid = (problems: readonly string[]): Refusal => {
  const shown = problems.slice(0, PROBLEMS_SHOWN);
  const rest = problems.length - shown.length;
  const more = rest > 0 ? `; and ${String(rest)} more` : '';
  return refused(
    errorBody('ORCHESTRATOR_WORKFLOW_INVALID', `invalid workflow: ${shown.join('; ')}${more}`, {
      problems: shown,
    }),
  );
};

/** The submitted definition, or a built-in workflow. */
const resolveDefinition = (
  workflows: readonly BuiltInWorkflow[],
  { payload: submission, invalid: problems }: Submission,
): WorkflowDefinition | Refusal => {
  const { definition } = submission;
  if (definition !== undefined) {
    const errors = problems ?? errorsIn(definitionProblems(definition));
    return errors.length === 0 ? definition : invalid(errors);
  }
  const workflow = findWorkflow(workflows, submission.workflow);
  if (workflow === undefined) {
    const known = workflowNames(workflows);
    const named = JSON.stringify(submission.workflow);
    return refused(
      errorBody('ORCHESTRATOR_UNKNOWN_WORKFLOW', `unknown workflow ${named}; known: ${known.join(', ')}`, {
        known: [...known],
      }),
    );
  }
  const made = workflow.define(submission);
  if ('problems' in made) return invalid(made.problems);
  const parsed = WorkflowDefinition.safeParse(made);
  if (parsed.success) {
    const errors = errorsIn(wrongArguments(parsed.data));
    return errors.length === 0 ? parsed.data : invalid(errors);
  }
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  return refused(
    errorBody('CONTRACT_INVALID', `invalid workflow: ${issues.join('; ')}`, { problems: issues }),
  );
};

const errorsIn = (problems: readonly Problem[]): readonly string[] =>
  problems.filter(({ severity }) => severity === 'error').map(problemText);

/** Definitions with more nodes are checked in slices before their submission is decided. */
export const LARGE_NODES = 500;

/** The slices in which a large definition is checked before the decision, so that other messages are answered in between. */
export const preparing = (message: Submission): (() => Generator<void, Submission>) | undefined => {
  const { definition } = message.payload;
  if (definition === undefined || definition.nodes.length <= LARGE_NODES) return undefined;
  return function* () {
    return { ...message, invalid: errorsIn(yield* definitionChecks(definition)) };
  };
};

/** The submission may override whether entry nodes need approval. */
const withApproval = (definition: WorkflowDefinition, wanted: SubmitTask['approval']): WorkflowDefinition => {
  if (wanted === undefined) return definition;
  const entries = new Set(graphOf(definition).entries);
  const change = (node: NodeDefinition): NodeDefinition => {
    if (!entries.has(node.id)) return node;
    const { approval, ...rest } = node;
    if (wanted === 'none') return isApprovalGate(node) ? { ...rest, args: { required: false } } : rest;
    return { ...rest, approval: approval ?? { audience: ['operators'], timeoutMs: DECISION_MS } };
  };
  return { ...definition, nodes: definition.nodes.map(change) };
};

/** The built-in workflows, and the gate of effects without their own. */
export type ShippedDefaults = {
  readonly workflows: readonly BuiltInWorkflow[];
  readonly gate?: Gate | undefined;
  readonly timing: TaskTiming;
};

const begin = (builder: DecisionBuilder, submitted: Submitted, circuit?: string): Decision<TaskEvent> => {
  builder.emit({ type: 'submitted', ...submitted, at: builder.now });
  builder.emit({ type: 'ready' });
  sendArtifactReport(builder);
  watchPeers(builder);
  const { graph } = workflowIndex(submitted.definition);
  builder.enqueue(submitted.forkedFrom === undefined ? graph.entries : graph.nodes.keys());
  if (circuit !== undefined) deferTask(builder, circuit);
  advance(builder);
  return builder.done();
};

/**
 * Starts a new task. A repeat is answered with the existing task; other content under the same id is refused.
 */
export const submit = (
  { workflows, gate, timing }: ShippedDefaults,
  state: TaskState,
  message: Submission,
  now: number,
): Decision<TaskEvent> => {
  const { task, payload: submission, openCircuits = [], sender = { kind: 'unverified' } } = message;
  const { goal, workflow, acceptanceCriteria = [], inputs = {}, agent, rollbackOf } = submission;
  const { requestedBy = unverifiedName(undefined) } = submission;
  if (submission.evidence !== undefined && sender.kind !== 'service')
    return refused(errorBody('ERR_FORBIDDEN', 'evidence: only the orchestrator passes on reviews'));
  if (submission.onBehalfOf !== undefined && sender.kind !== 'service' && message.origin === undefined)
    return refused(errorBody('ERR_FORBIDDEN', 'onBehalfOf: submit it as a request, which checks that task'));
  // Only the orchestrator can pass a rollback off as one that a verdict ordered.
  if (rollbackOf !== undefined && (sender.kind !== 'service' || workflow !== rollback.id))
    return refused(errorBody('ERR_FORBIDDEN', 'rollbackOf: only the orchestrator orders rollbacks'));
  // Later reviews of the origin do not make a repeat another submission.
  const { id: _, evidence = message.origin, onBehalfOf: _origin, ...content } = submission;
  const contentDigest = digestOf({ ...content, acceptanceCriteria, inputs, requestedBy });
  const builder = createDecisionBuilder(state, task, now, timing);
  if (state.phase !== 'absent')
    return state.contentDigest === contentDigest ? builder.done() : conflict(task);
  if (state.tombstone) return cancelledBefore(task);
  const definition = resolveDefinition(workflows, message);
  if ('events' in definition) return definition;
  const circuit = openCircuits.find((name) => name === workflowCircuit(definition.id));
  const submitted = {
    goal,
    acceptanceCriteria,
    inputs,
    requestedBy,
    ...(agent !== undefined && { agent }),
    ...(rollbackOf !== undefined && submission.definition === undefined && { rollbackOf }),
    ...(submission.onBehalfOf && { onBehalfOf: submission.onBehalfOf }),
    ...(evidence && Object.keys(evidence).length > 0 && { evidence }),
    contentDigest,
    workflow,
    definition: withApproval(definition, submission.approval),
    ...(gate && { gate }),
    ...(submission.repository !== undefined && { repository: submission.repository }),
    ...(submission.after !== undefined && { after: submission.after }),
  };
  return begin(builder, submitted, circuit);
};

/** Starts a task from the state of another. */
export const fork = (
  { gate, timing }: ShippedDefaults,
  state: TaskState,
  { task, origin, carried, by }: ForkTask,
  now: number,
): Decision<TaskEvent> => {
  const builder = createDecisionBuilder(state, task, now, timing);
  const { id, version, goal, acceptanceCriteria, inputs, definition, workflow, repository } = origin;
  const contentDigest = digestOf({ forkedFrom: id, version, by });
  if (state.phase !== 'absent')
    return state.contentDigest === contentDigest ? builder.done() : conflict(task);
  if (state.tombstone) return cancelledBefore(task);
  return begin(builder, {
    goal,
    acceptanceCriteria: [...acceptanceCriteria],
    inputs,
    requestedBy: by,
    contentDigest,
    definition,
    ...(gate && { gate }),
    forkedFrom: { task: id, version, nodes: { ...carried } },
    ...(workflow !== undefined && { workflow }),
    ...(repository !== undefined && { repository }),
  });
};
