import { errorBody } from '@holdpoint/contracts/errors';
import type { TaskId } from '@holdpoint/contracts/ids';
import { digestOf } from '@holdpoint/contracts/json';
import type { SubmitTask, TaskEvent } from '@holdpoint/contracts/task';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow';
import { type Decision, refused } from '@holdpoint/runtime/decider';
import { advance } from './advance.ts';
import { createDraft } from './draft.ts';
import type { TaskState } from './state.ts';
import { type BuiltInWorkflow, findWorkflow, workflowNames } from './workflows/catalog.ts';

/** A new task starts at once; a repeat is answered with the task it made; the same id with other content is refused. */
export const submit = (
  workflows: readonly BuiltInWorkflow[],
  state: TaskState,
  task: TaskId,
  submission: SubmitTask,
  now: number,
): Decision<TaskEvent> => {
  const {
    goal,
    workflow: reference,
    acceptanceCriteria = [],
    inputs = {},
    requestedBy = 'unknown',
  } = submission;
  const contentDigest = digestOf({ goal, reference, acceptanceCriteria, inputs, requestedBy });
  const draft = createDraft(state, task);
  if (state.phase !== 'absent') {
    if (state.contentDigest === contentDigest) return draft.done();
    return refused(
      errorBody('ORCHESTRATOR_TASK_CONFLICT', `task ${task} was submitted before with other content`),
    );
  }
  const workflow = findWorkflow(workflows, reference);
  if (workflow === undefined) {
    const known = workflowNames(workflows);
    return refused(
      errorBody(
        'ORCHESTRATOR_UNKNOWN_WORKFLOW',
        `no workflow is called ${JSON.stringify(reference)}; known: ${known.join(', ')}`,
        { known: [...known] },
      ),
    );
  }
  const definition = WorkflowDefinition.safeParse(workflow.define(submission));
  if (!definition.success) {
    const problems = definition.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    return refused(
      errorBody('CONTRACT_INVALID', `the workflow cannot be run: ${problems.join('; ')}`, { problems }),
    );
  }
  draft.emit({
    type: 'submitted',
    goal,
    acceptanceCriteria,
    inputs,
    requestedBy,
    contentDigest,
    definition: definition.data,
  });
  draft.emit({ type: 'readied' });
  advance(draft, now);
  return draft.done();
};
