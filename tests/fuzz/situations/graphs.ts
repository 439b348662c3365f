import { workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { VerdictKind } from '@holdpoint/contracts/workflow/failure-class';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { taskDecider } from '@holdpoint/orchestrator/task/decide';
import type { TaskMessage } from '@holdpoint/orchestrator/task/model/messages';
import { byHand, NOW, submission, TASK, verdictOf } from '@holdpoint/orchestrator/testing/tasks';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { continued } from '@holdpoint/runtime/testing/spec';

export const REPOSITORY = '/srv/app';
export const STAGE = NodeId.parse('stage');
export const LABEL = 'custom:report:weekly';
export const CIRCUIT = workflowCircuit('fuzz.graph');

const report = { type: 'custom', typeId: 'report', key: 'weekly' };
const run = { uses: 'cap.env.shell.command.run', after: [], args: { script: 'true' } };

/** A blocked node, a node after it, and the nodes before it. */
const workflow = (stage: object, earlier: readonly object[] = [], policy: object = {}): WorkflowDefinition =>
  WorkflowDefinition.parse({
    id: 'fuzz.graph',
    version: 'v1',
    policy: { failureMode: 'continue_independent', missingProducer: 'wait', ...policy },
    nodes: [
      ...earlier,
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

type Ordered = Extract<TaskEvent, { readonly type: 'step_ordered' }>;

/** The last ordered step of a history. */
export const lastOrder = (history: readonly TaskEvent[]): Ordered | undefined =>
  history.findLast((event): event is Ordered => event.type === 'step_ordered');

/** A report of the executor about the last order. */
const said = (history: readonly TaskEvent[], event: JsonObject): TaskMessage => {
  const order = lastOrder(history);
  const about = { id: order?.effectId, task: TASK, node: order?.node, attempt: order?.attempt };
  return { kind: 'effect', event: { epoch: 1, ...about, ...event } } as TaskMessage;
};
const then = (
  history: readonly TaskEvent[],
  ...next: readonly ((so: readonly TaskEvent[]) => TaskMessage)[]
): readonly TaskEvent[] =>
  next.reduce((so, message) => continued(taskDecider, so, [message(so), NOW] as const), history);
const applied = (outputs: JsonObject) => (history: readonly TaskEvent[]) =>
  said(history, { type: 'applied', outputs });
const verdict = (kind: VerdictKind) => (): TaskMessage => ({
  kind: 'recover',
  task: TASK,
  payload: {
    task: TASK,
    node: STAGE,
    attempt: 1,
    verdict: { ...verdictOf(kind), ...(kind === 'rollback' && { commit: COMMIT }) },
  },
});

const COMMIT = 'c'.repeat(40);
const RECOVER = { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 };
const BEFORE = { ...run, id: 'before', on: { succeeded: ['stage'] } };
/** In its own worktree, which started from a commit. */
const PLACED = {
  outcome: 'succeeded',
  outputs: { worktree: '.worktrees/t-1', branch: 'b', commit: COMMIT },
  context: { worktree: '.worktrees/t-1', branch: 'b' },
  report: { usage: { inputTokens: 5 } },
};
const placed = (stage: object, policy: object = {}): readonly TaskEvent[] =>
  then(
    after({
      kind: 'submit',
      task: TASK,
      payload: { ...submission, definition: workflow(stage, [BEFORE], policy), repository: REPOSITORY },
    }),
    applied(PLACED),
  );

const stageFailed = then(
  placed({ onError: RECOVER }),
  applied({ outcome: 'failed', exitCode: 1, report: { approach: 'by hand', next: 'the rest' } }),
);

/** Tasks with a node that waits for each possible thing, runs, or repeats. */
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
  stageFailed,
  stageStuck: then(stageFailed, verdict('skip')),
  stageRollingBack: then(stageFailed, verdict('rollback')),
  stageHandingOn: then(stageFailed, verdict('continue')),
  budgetUsedUp: placed({}, { budget: { tokens: 5 } }),
  orderHeld: then(placed({}), (history) =>
    said(history, { type: 'deferred', target: 'https://api.example', reason: 'its circuit is open' }),
  ),
  circuitOpen: after({ ...stageRuns, openCircuits: [CIRCUIT] } as TaskMessage),
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
