import { NodeId } from '@holdpoint/contracts/ids';
import type { TaskEvent } from '@holdpoint/contracts/task';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow';
import { taskDecider } from '@holdpoint/orchestrator/domain/decide';
import type { TaskMessage } from '@holdpoint/orchestrator/domain/messages';
import { byHand, NOW, submission, TASK } from '@holdpoint/orchestrator/testing/tasks';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';

export const REPOSITORY = '/srv/app';
export const STAGE = NodeId.parse('stage');
export const LABEL = 'custom:report:weekly';

const report = { type: 'custom', typeId: 'report', key: 'weekly' };
const run = { uses: 'cap.env.shell.command.run', after: [], args: { script: 'true' } };

/** One node that something stands in the way of, and one after it. */
const workflow = (stage: object): WorkflowDefinition =>
  WorkflowDefinition.parse({
    id: 'fuzz.graph',
    version: 'v1',
    policy: { failureMode: 'continue_independent', missingProducer: 'wait' },
    nodes: [
      { ...run, id: 'stage', on: { succeeded: ['done'] }, ...stage },
      { id: 'done', uses: 'control.terminal', after: [], args: {} },
    ],
  });

const submitted = (stage: object, more: { readonly after?: string[] } = {}): TaskMessage => ({
  kind: 'submit',
  task: TASK,
  payload: { ...submission, definition: workflow(stage), repository: REPOSITORY, ...more },
});

const after = (...messages: readonly TaskMessage[]): readonly TaskEvent[] =>
  eventsOf(
    runOf(
      taskDecider,
      messages.map((message) => ({ message, now: NOW })),
    ),
  );

const stageRuns = submitted({});

/** A task with a node that waits for each of the things that a node can wait for, or runs, or is repeated. */
export const graphHistories = {
  waitingForPeer: after(submitted({}, { after: ['t-2/check', 't-3'] })),
  waitingForLocks: after(submitted({ locks: [{ key: 'branch:main', mode: 'exclusive' }] })),
  waitingForArtifacts: after(submitted({ needs: [report] })),
  waitingForLook: after(
    submitted({
      needs: [{ type: 'plan_doc', slug: 's', branch: '' }],
      preconditions: [{ kind: 'clean_worktree' }],
    }),
  ),
  waitingForStart: after(submitted({ approval: { audience: ['operators'], timeoutMs: 60_000 } })),
  stageRunning: after(stageRuns),
  stagePaused: after(stageRuns, byHand('pause', { node: STAGE })),
  itemsRunning: after(
    submitted({
      forEach: '["a", "b", "c"]',
      parallel: 2,
      args: { script: 'true' },
      finally: [{ uses: run.uses, args: run.args }],
    }),
  ),
  merging: after(
    submitted({
      uses: 'cap.env.builtin.git.integrate_plan_branch',
      args: {},
      effect: {
        kind: 'merge',
        effectClass: 'fenced',
        idempotencyKey: 'merge',
        target: 'branch:main',
        pool: 'default',
        audience: ['operators'],
        approvalTimeoutMs: 60_000,
      },
    }),
  ),
  gateLooping: after(
    submitted({
      uses: 'control.gate.stop_condition',
      args: {},
      script: 'false',
      gatePolicy: 'retry',
      retry: { mode: 'until_gate', budget: 1 },
      until: 'outputs.exit_code == 0 or inputs.x',
    }),
  ),
} as const;

type Ordered = Extract<TaskEvent, { readonly type: 'step_ordered' }>;

/** The step that was ordered last in a history. */
export const lastOrder = (history: readonly TaskEvent[]): Ordered | undefined =>
  history.findLast((event): event is Ordered => event.type === 'step_ordered');
