import { z } from 'zod';
import { AccessTokenView, CreateAccessToken, Scope } from '../approval/access-token.ts';
import { DecideApproval } from '../approval/commands.ts';
import {
  ApprovalDetail,
  CheckApproval,
  DecisionResult,
  DecideMany,
  ListApprovals,
} from '../approval/queries.ts';
import { KeysNonce, PublishedKeys } from '../approval/signing-keys.ts';
import { RuleMatch, RuleSpec, RuleView } from '../approval/standing-rule.ts';
import { ApprovalStatus } from '../approval/status.ts';
import { ApprovalView } from '../approval/views.ts';
import { AuditLine } from '../audit/audit.ts';
import type { ServiceName } from '../bus/subjects.ts';
import {
  ARTIFACT_RANGE_MAX_BYTES,
  ArtifactUri,
  ArtifactView,
  StoredArtifact,
} from '../effect/stored-artifact.ts';
import { CapabilityView, EffectOrder, EffectView } from '../effect/views.ts';
import { ProgramDefinition, ProgramView } from '../program/definition.ts';
import { WorkRequest, WorkAnswer } from '../program/work.ts';
import { CircuitState, CircuitView, SetCircuit } from '../recovery/circuit.ts';
import { AssessFailure } from '../recovery/commands.ts';
import { REPORT_MAX, Verdict } from '../recovery/verdict.ts';
import { AttemptView, CountClasses, FailureBucket, FailureCount, StuckJob } from '../recovery/views.ts';
import {
  CancelTask,
  CompleteNode,
  PauseTask,
  RecordCheckpoint,
  ResumeTask,
  RetryTask,
  SkipTask,
  SubmitTask,
} from '../task/commands.ts';
import { ForkTask, HistoryEntry, ListTasks, TaskAck, TaskSummary } from '../task/queries.ts';
import { TaskView } from '../task/views.ts';
import { ErrorBody } from '../values/errors.ts';
import { AccessTokenId, ApprovalId, EffectId, NodeId, RuleId, TaskId } from '../values/ids.ts';
import { Page, pageOf } from '../values/page.ts';
import { FailureClass } from '../workflow/failure-class.ts';
import { OfferedWorkflow } from '../workflow/offered-workflow.ts';
import { CapabilityLabel } from '../workflow/workflow.ts';
import { adminEndpoints, endpoint, resolveDeadLetter } from './endpoint.ts';

/** The request/reply API on the NATS services framework: `hp.api.<service>.<endpoint>`. */
export const api = {
  orchestrator: {
    ...adminEndpoints,
    submit: endpoint('Submit a task; answered once it is stored', SubmitTask, TaskAck),
    cancel: endpoint('Cancel a task', CancelTask, TaskAck),
    pause: endpoint('Pause a task: nothing new is started', PauseTask, TaskAck),
    resume: endpoint('Resume a paused task', ResumeTask, TaskAck),
    retry: endpoint('Give failed or escalated nodes another attempt', RetryTask, TaskAck),
    skip: endpoint('Leave a node out', SkipTask, TaskAck),
    done: endpoint('Take a node as done that has not succeeded', CompleteNode, TaskAck),
    checkpoint: endpoint('Record a note that whoever goes on with a task finds', RecordCheckpoint, TaskAck),
    fork: endpoint(
      'Start a new task from a version of another: what had ended by then is carried over',
      ForkTask,
      TaskAck,
    ),
    get: endpoint('One task with its nodes', z.object({ id: TaskId }), TaskView),
    list: endpoint(
      'Tasks, latest submission first. A page may end before it is full: `next` goes on',
      ListTasks,
      pageOf(TaskSummary),
    ),
    history: endpoint(
      'The events of one task: every one, or with a limit a page of them',
      z.object({
        id: TaskId,
        /** Only events with a later version. */
        after: z.int().min(0).optional(),
        /** Maximum number of events; a large page may end earlier. */
        limit: z.int().min(1).max(1_000).optional(),
      }),
      z.object({
        events: z.array(HistoryEntry),
        /** Number of events of the task. */
        version: z.int().optional(),
        /** Later events exist. */
        more: z.boolean().optional(),
      }),
    ),
    program_register: endpoint(
      'Make versions of programs known, so that tasks can be started by their names; the same again changes nothing',
      z.object({ programs: z.array(ProgramDefinition).min(1).max(50) }),
      z.object({ items: z.array(ProgramView) }),
    ),
    program_list: endpoint('Programs that are known, the latest first', Page, pageOf(ProgramView)),
    workflows: endpoint(
      'Workflows that a task can be started with by their names, and what each takes; of programs the latest version',
      z.object({}),
      z.object({ items: z.array(OfferedWorkflow) }),
    ),
    work: endpoint('What a worker says of the phase that it has been given', WorkRequest, WorkAnswer),
    dead_letter: resolveDeadLetter,
  },
  approvals: {
    ...adminEndpoints,
    decide: endpoint(
      'Decide on an approval; needs the header `authorization: Bearer <token>`',
      DecideApproval,
      DecisionResult,
    ),
    decide_many: endpoint(
      'Decide on several approvals alike, each on its own; needs the header',
      DecideMany,
      z.object({
        items: z.array(
          z.union([
            z.object({ id: ApprovalId, decided: DecisionResult }),
            z.object({ id: ApprovalId, error: ErrorBody }),
          ]),
        ),
      }),
    ),
    get: endpoint('One approval with the exact effect', z.object({ id: ApprovalId }), ApprovalDetail),
    list: endpoint(
      'What waits in the order that is asked for; what is decided oldest or newest first. A page may end before it is full: `next` goes on',
      ListApprovals,
      pageOf(ApprovalView),
    ),
    whoami: endpoint(
      'Whose the token is, and what it is good for; needs the header',
      z.object({}),
      z.object({
        name: z.string(),
        groups: z.array(z.string()),
        roles: z.array(z.string()),
        scopes: z.array(Scope),
        administrator: z.boolean(),
        /** The token belongs to this agent of the named principal. */
        agent: z.string().optional(),
      }),
    ),
    check: endpoint(
      'Whether a standing rule would approve an effect, as checkApproval asks it',
      CheckApproval,
      z.object({ approved: z.boolean(), rule: RuleView.optional() }),
    ),
    rule_add: endpoint('Add a standing rule, as persistRule does; needs the header', RuleSpec, RuleView),
    rule_revoke: endpoint(
      'Revoke a standing rule; needs the header',
      z.object({ id: RuleId, reason: z.string().max(1_000).optional() }),
      RuleView,
    ),
    rule_list: endpoint(
      'Standing rules, oldest first',
      Page.extend({ status: RuleView.shape.status.optional() }),
      pageOf(RuleView),
    ),
    rule_test: endpoint(
      'Which of the latest requests a rule would have decided',
      z.object({ match: RuleMatch, last: z.int().min(1).max(5_000).default(1_000) }),
      z.object({
        /** Number of examined requests. */
        examined: z.int(),
        items: z.array(
          z.object({
            id: ApprovalId,
            title: z.string(),
            status: ApprovalStatus,
            decidedBy: z.string().optional(),
            requestedAt: z.int(),
          }),
        ),
      }),
    ),
    token_create: endpoint('Make an API token; needs the header', CreateAccessToken, AccessTokenView),
    token_revoke: endpoint(
      'Revoke an API token; needs the header',
      z.object({ id: AccessTokenId }),
      AccessTokenView,
    ),
    token_list: endpoint('API tokens, oldest first; needs the header', Page, pageOf(AccessTokenView)),
    audit: endpoint(
      'The audit log, in order; needs the header',
      z.object({
        /** Lines after this one. */
        after: z.int().min(0).default(0),
        limit: z.int().min(1).max(1_000).default(500),
        /** Only lines of this approval, rule or token: they form no unbroken chain. */
        about: z.string().max(64).optional(),
      }),
      z.object({
        items: z.array(AuditLine),
        /** Later lines exist. */
        more: z.boolean(),
      }),
    ),
    keys: endpoint(
      'The public keys of the service, and statements on them by each',
      z.object({ nonce: KeysNonce.optional() }),
      PublishedKeys,
    ),
    dead_letter: resolveDeadLetter,
  },
  executor: {
    ...adminEndpoints,
    get: endpoint('One effect as the ledger has it', z.object({ id: EffectId }), EffectView),
    list: endpoint(
      'The effects of one task',
      z.object({ task: TaskId }),
      z.object({ items: z.array(EffectView) }),
    ),
    capabilities: endpoint(
      'What this executor can carry out, its own capabilities among it',
      z.object({ uses: CapabilityLabel.optional() }),
      z.object({ items: z.array(CapabilityView) }),
    ),
    order: endpoint(
      'What one effect was ordered with and gave, and what would take it back',
      z.object({ id: EffectId }),
      EffectOrder,
    ),
    artifacts: endpoint(
      'The artifacts of one task: full logs and large outputs, oldest first',
      Page.extend({ task: TaskId }),
      pageOf(ArtifactView),
    ),
    artifact: endpoint(
      'One artifact, and with a limit a part of its content',
      z.object({
        uri: ArtifactUri,
        /** First byte. */
        offset: z.int().min(0).optional(),
        limit: z.int().min(1).max(ARTIFACT_RANGE_MAX_BYTES).optional(),
      }),
      z.object({
        artifact: StoredArtifact,
        /** Starts that produced this content; several when they printed the same. */
        sources: z.array(ArtifactView),
        stored: z.boolean(),
        /** Base64; absent unless a limit was requested. */
        data: z.string().optional(),
      }),
    ),
    dead_letter: resolveDeadLetter,
  },
  recovery: {
    ...adminEndpoints,
    history: endpoint(
      'The attempts of a task, or of one job of it, oldest first: those that failed with their verdicts',
      z.object({ task: TaskId, node: NodeId.optional() }),
      z.object({ items: z.array(AttemptView), stuck: z.array(StuckJob) }),
    ),
    stuck: endpoint('Jobs that wait for a person, by task', Page, pageOf(StuckJob)),
    report: endpoint(
      'What a person needs to know of a job that is stuck, or was: Markdown',
      z.object({ task: TaskId, node: NodeId }),
      z.object({ job: StuckJob, stuck: z.boolean(), report: z.string().max(REPORT_MAX) }),
    ),
    classify: endpoint(
      'Which class a failure has, and why: nothing is recorded',
      AssessFailure.pick({ uses: true, exitCode: true, output: true, report: true, rules: true }).extend({
        error: ErrorBody.optional(),
      }),
      z.object({
        class: FailureClass,
        classification: Verdict.shape.classification.unwrap(),
        fingerprint: z.string(),
      }),
    ),
    failure_counts: endpoint(
      'How many attempts failed with which class, by hours or days of UTC; where none did, nothing is listed',
      CountClasses,
      z.object({
        /** Counted time: whole buckets, so it may extend beyond the requested time. */
        from: z.int(),
        to: z.int(),
        bucket: FailureBucket,
        items: z.array(FailureCount),
      }),
    ),
    circuits: endpoint(
      'The circuits of outside targets; one that is closed was open before',
      Page.extend({ state: CircuitState.optional() }),
      pageOf(CircuitView),
    ),
    circuit: endpoint('Open the circuit of a target, or close it', SetCircuit, CircuitView),
    dead_letter: resolveDeadLetter,
  },
} as const satisfies Record<
  ServiceName,
  Record<string, { description: string; request: z.ZodType; response: z.ZodType }>
>;

export type Api = typeof api;
export type ApiRequest<S extends ServiceName, E extends keyof Api[S]> = Api[S][E] extends {
  request: infer R extends z.ZodType;
}
  ? z.input<R>
  : never;
export type ApiResponse<S extends ServiceName, E extends keyof Api[S]> = Api[S][E] extends {
  response: infer R extends z.ZodType;
}
  ? z.output<R>
  : never;
