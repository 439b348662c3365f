import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { reportCommand } from '@holdpoint/contracts/approval/question';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { instant } from '../output/columns.ts';
import { comesAfter, type Job } from './job.ts';
import { spentText } from '../recovery/usage-text.ts';
import { becauseText, isStuck, resolveCommand, stuckReason, verdictText } from '../recovery/stuck.ts';
import { isEnded } from './status.ts';
import type { Timeline } from './timeline.ts';
import { waitKinds, waitOf } from './wait.ts';

/** A job as text, by field. */
export type JobRecord = Readonly<Record<string, string>>;

const joined = (parts: readonly string[] | undefined): string => (parts ?? []).join(', ');
const time = (at: number | undefined): string => (at === undefined ? '' : instant(at));

/** With the task given, includes the waits of the whole task. */
export const waitText = (node: NodeView, run?: Pick<TaskView, 'phase' | 'circuit'>): string => {
  const wait = waitOf(node);
  if (wait !== undefined) return `${wait.kind}: ${wait.detail}`;
  if (node.job === 'escalated') return `operator: ${stuckReason(node)}`;
  // A task on a circuit trial also has a circuit, but does not wait for it.
  const held = run?.phase === 'circuit_open' && !isEnded(node.job);
  return held && run.circuit !== undefined ? `circuit: ${run.circuit}` : '';
};

/** Fields that need no request to the approvals service. */
const approvalState = ({ run, node: { gated, job, approval } }: Job): string => {
  if (job === 'waiting_on_approval') return 'pending';
  const { latestApproval: latest } = run;
  const outcome = latest !== undefined && latest.id === approval ? latest.status : undefined;
  if (job === 'blocked_by_approval') return outcome ?? 'rejected';
  if (outcome === 'expired') return outcome;
  if (!gated) return '';
  return approval === undefined ? 'not_asked' : 'decided';
};

const failureText = ({ error, job, detail, reason }: NodeView): string => {
  if (error !== undefined) return `${error.code}: ${error.message}`;
  return job === 'failed' ? (detail ?? reason ?? job) : '';
};

/** The fields of a list, in order. Missing values are empty. */
export const listRecord = (job: Job, timeline?: Timeline): JobRecord => {
  const { id, run, node, createdAt } = job;
  return {
    job: id,
    status: node.job,
    created: time(createdAt ?? timeline?.created),
    after: joined(comesAfter(job)),
    dependencies: joined(node.needs),
    locks: joined(node.locks),
    wait: waitText(node, run),
    waited_on: joined(timeline?.waitedOn ?? waitKinds(node)),
    approval_required: String(node.gated),
    approval_state: approvalState(job),
    approval_decided_by: '',
    pinned_head: '',
    artifacts: joined(node.produces),
    failed: failureText(node),
    command: node.uses,
  };
};

const contextRecord = ({ run, node: { context } }: Job): JobRecord => {
  const root = run.repository ?? '';
  const worktree = context?.worktree ?? '';
  return {
    plan: context?.slug ?? '',
    branch: context?.branch ?? '',
    target: context?.target ?? '',
    commit: context?.commit ?? '',
    worktree,
    execution_root: worktree === '' ? root : `${root}/${worktree}`,
  };
};

const workflowRecord = ({ run, node }: Job): JobRecord => {
  const at = run.workflow.lastIndexOf('@');
  const control = node.uses.startsWith('control.');
  return {
    workflow_run: run.id,
    workflow_selector: run.selector ?? '',
    workflow_template: at < 0 ? run.workflow : run.workflow.slice(0, at),
    workflow_template_version: at < 0 ? '' : run.workflow.slice(at + 1),
    workflow_definition_hash: run.definitionHash,
    workflow_node: node.id,
    workflow_node_name: node.name ?? '',
    workflow_node_attempt: String(node.attempt),
    workflow_node_outcome: node.status,
    workflow_executor_operation: control ? '' : node.uses,
    workflow_control_policy: control ? node.uses : '',
  };
};

const approvalRecord = (approval: ApprovalView | undefined): JobRecord =>
  approval === undefined
    ? {}
    : {
        approval: approval.id,
        approval_state: approval.status,
        approval_requested_at: time(approval.requestedAt),
        approval_requested_by: approval.requestedBy,
        approval_decided_at: time(approval.decidedAt),
        approval_decided_by: approval.decidedBy ?? '',
        approval_reason: approval.comment ?? '',
      };

const checkpointsText = ({ run, node }: Job): string =>
  (run.checkpoints ?? [])
    .flatMap(({ kind, name = kind, node: of, attempt }) =>
      of === node.id ? [`${name} (attempt ${String(attempt)})`] : [],
    )
    .join(', ');

/** The verdict of recovery and the available actions. */
const recoveryRecord = ({ id, node, run }: Job): JobRecord => ({
  session: node.session === undefined ? '' : String(node.session),
  verdict: node.verdict === undefined ? '' : verdictText(node.verdict),
  because: node.verdict?.classification === undefined ? '' : becauseText(node.verdict.classification),
  next: isStuck(node) ? `${reportCommand(id)}, then ${resolveCommand(id)}` : '',
  spent: spentText(run.spent, run.budget),
  circuit: run.circuit ?? '',
});

/** Every known field of a job; empty fields are omitted. */
export const showRecord = (job: Job, timeline: Timeline, approval: ApprovalView | undefined): JobRecord => {
  const { node } = job;
  const all = {
    ...listRecord(job, timeline),
    started: time(timeline.started),
    finished: time(timeline.finished),
    exit_code: node.exitCode === undefined ? '' : String(node.exitCode),
    outcome: node.detail ?? node.reason ?? '',
    scope: job.run.repository ?? '',
    ...contextRecord(job),
    ...workflowRecord(job),
    ...approvalRecord(approval),
    question: node.question ?? '',
    ...recoveryRecord(job),
    checkpoints: checkpointsText(job),
    effects: joined(node.effects),
    outputs: node.outputs === undefined ? '' : JSON.stringify(node.outputs),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
};
