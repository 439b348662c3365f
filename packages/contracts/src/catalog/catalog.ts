import { z } from 'zod';
import {
  ApprovalEvent,
  ApprovalStatus,
  ApprovalView,
  CancelApproval,
  DecideApproval,
  Risk,
  RequestApproval,
} from '../approval/approval.ts';
import { AccessTokenView, CreateAccessToken, Scope, TokenEvent } from '../approval/access-token.ts';
import { AuditAnchored, AuditLine } from '../audit/audit.ts';
import { About, AskRetention, Counts, Retention } from '../api/admin.ts';
import { RuleEvent, RuleMatch, RuleSpec, RuleView } from '../approval/standing-rule.ts';
import { KeysNonce, PublishedKeys } from '../approval/signing-keys.ts';
import {
  CircuitState,
  CircuitView,
  CountFailure,
  EnterCircuit,
  ReportCircuit,
  SetCircuit,
} from '../recovery/circuit.ts';
import { AskBoard, BoardEvent, InformTask } from '../task/registry.ts';
import {
  CancelEffect,
  CanonicalEffect,
  Digest,
  DoubtAnswer,
  DoubtCause,
  EffectEvent,
  EffectInDoubt,
  ResolveEffect,
  RunEffect,
} from '../effect/effect.ts';
import { LetterSettled, SettleLetter } from '../bus/dead-letter.ts';
import { ErrorBody } from '../values/errors.ts';
import { AccessTokenId, ApprovalId, EffectId, NodeId, RuleId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { OfferedWorkflow } from '../workflow/offered-workflow.ts';
import { Verb } from '../workflow/approval-policy.ts';
import {
  AssessFailure,
  AttemptView,
  CountClasses,
  FailureBucket,
  FailureClass,
  FailureCount,
  RecordAttempt,
  RecoveryEvent,
  REPORT_MAX,
  SettleJob,
  StuckJob,
  Verdict,
} from '../recovery/recovery.ts';
import {
  ARTIFACT_RANGE_MAX_BYTES,
  ArtifactUri,
  ArtifactView,
  StoredArtifact,
} from '../effect/stored-artifact.ts';
import { ProgramDefinition, ProgramEvent, ProgramView, SayOfWork, WorkAnswer } from '../program/program.ts';
import type { ServiceName } from '../bus/subjects.ts';
import {
  AdmitTask,
  CancelTask,
  CompleteNode,
  PauseTask,
  RecordCheckpoint,
  RecoverTask,
  ResumeTask,
  RetryTask,
  SkipTask,
  SubmitTask,
  TaskEvent,
  TaskPhase,
  TaskView,
  WatchTask,
} from '../task/task.ts';
import { CapabilityLabel, EffectClass, SideEffectKind } from '../workflow/workflow.ts';

/** Every command on the bus, by the service that it is for: `hp.cmd.<aggregate>.<command>`. */
export const commands = {
  orchestrator: {
    submit: SubmitTask,
    cancel: CancelTask,
    pause: PauseTask,
    resume: ResumeTask,
    retry: RetryTask,
    skip: SkipTask,
    done: CompleteNode,
    checkpoint: RecordCheckpoint,
    recover: RecoverTask,
    admit: AdmitTask,
    watch: WatchTask,
    inform: InformTask,
    board: AskBoard,
  },
  approvals: { request: RequestApproval, cancel: CancelApproval },
  executor: { run: RunEffect, cancel: CancelEffect, resolve: ResolveEffect },
  recovery: {
    assess: AssessFailure,
    record: RecordAttempt,
    settle: SettleJob,
    circuit: ReportCircuit,
    count: CountFailure,
    enter: EnterCircuit,
  },
} as const;

/** A command as a typed value: `kind` is its name. */
export type CommandOf<S extends ServiceName> = {
  [C in keyof (typeof commands)[S]]: (typeof commands)[S][C] extends infer Schema extends z.ZodType
    ? { readonly kind: C; readonly payload: z.output<Schema> }
    : never;
}[keyof (typeof commands)[S]];

/** Every fact on the bus, by the service that states it: `hp.evt.<aggregate>.<event>.<id>`. */
export const facts = {
  orchestrator: z.discriminatedUnion('type', [
    ...TaskEvent.options,
    ...BoardEvent.options,
    ...ProgramEvent.options,
  ]),
  approvals: z.discriminatedUnion('type', [
    ...ApprovalEvent.options,
    ...RuleEvent.options,
    ...TokenEvent.options,
    AuditAnchored,
  ]),
  executor: EffectEvent,
  recovery: RecoveryEvent,
} as const;

const Page = z.object({
  limit: z.int().min(1).max(500).default(50),
  /** The `next` of the page before. */
  after: z.string().max(200).optional(),
});
const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next: z.string().optional() });

/** One line of `task list`. */
export const TaskSummary = z.object({
  id: TaskId,
  workflow: z.string(),
  goal: z.string(),
  phase: TaskPhase,
  version: z.int(),
  /** When it was submitted. Epoch milliseconds. */
  createdAt: z.int(),
  requestedBy: z.string().optional(),
});
export type TaskSummary = z.infer<typeof TaskSummary>;

/** Which tasks are listed; all that is said has to hold. */
export const ListTasks = Page.extend({
  phase: TaskPhase.optional(),
  /** `draft`, or `draft@2` for one version of it alone. */
  workflow: z.string().min(1).max(300).optional(),
  requestedBy: z.string().min(1).max(200).optional(),
  /** Submitted then or later, and before; epoch milliseconds. */
  createdAfter: z.int().min(0).optional(),
  createdBefore: z.int().min(0).optional(),
  /** Words in goal, id or workflow; the last may be the beginning of one. */
  search: z.string().max(200).optional(),
});
export type ListTasks = z.infer<typeof ListTasks>;

/** One line of a task's history: the event as it was recorded, with its version and time in epoch milliseconds. */
export const HistoryEntry = z.object({ version: z.int(), at: z.int(), type: z.string(), data: JsonObject });
export type HistoryEntry = z.infer<typeof HistoryEntry>;

/** Which version of which task, and under which id the new one runs. */
const ForkTask = z.object({
  task: TaskId,
  version: z.int().min(1),
  id: TaskId.optional(),
  by: z.string().max(200).optional(),
});
const TaskAck = z.object({ id: TaskId, phase: TaskPhase, version: z.int() });
/** One effect as the ledger has it. */
export const EffectView = z.object({
  id: EffectId,
  task: TaskId,
  node: NodeId,
  state: z.string(),
  epoch: z.int(),
  digest: Digest,
  /** Under whose grant it was ordered last. */
  approval: ApprovalId.optional(),
  idempotencyKey: z.string(),
  starts: z.int(),
  uses: z.string().optional(),
  target: z.string().optional(),
  effectClass: EffectClass.optional(),
  /** Why it is in doubt, refused, cancelled, or known not to have happened. */
  reason: z.string().optional(),
  /** With `in_doubt`: what follows, and what left the doubt. */
  next: EffectInDoubt.shape.next.optional(),
  cause: DoubtCause.optional(),
  /** How many attempts ordered it once there was an outcome. */
  prevented: z.int().optional(),
  /** What a person has said of it last, and who. */
  answer: DoubtAnswer.optional(),
  answeredBy: z.string().optional(),
  /** Why it does not begin although it may: what it talks to fails. */
  waits: z.string().max(1_000).optional(),
});
export type EffectView = z.infer<typeof EffectView>;

const endpoint = <Request extends z.ZodType, Response extends z.ZodType>(
  description: string,
  request: Request,
  response: Response,
) => ({ description, request, response });

/** What an executor can do, by its label. */
export const CapabilityView = z.object({
  uses: CapabilityLabel,
  /** As an effect. */
  effectClass: EffectClass,
  /** It may be ordered without an approval, as work. */
  work: z.boolean(),
  /** The only kind of effect that it may be. */
  kind: SideEffectKind.optional(),
  /** It can show beforehand what it would do, tell afterwards whether it did, and take it back. */
  preview: z.boolean(),
  probe: z.boolean(),
  compensate: z.boolean(),
  /** JSON Schema of its arguments, when one capability was asked for. */
  input: JsonObject.optional(),
});
export type CapabilityView = z.infer<typeof CapabilityView>;

/** What an effect was ordered with and gave, and what would take it back. */
export const EffectOrder = z.object({
  id: EffectId,
  state: z.string(),
  effect: CanonicalEffect,
  /** The executors that it was ordered from. */
  pool: z.string().optional(),
  outputs: JsonObject.optional(),
  compensation: z.object({ uses: CapabilityLabel, effectClass: EffectClass }).optional(),
});
export type EffectOrder = z.infer<typeof EffectOrder>;

const Decided = z.object({
  id: ApprovalId,
  /** `pending` while others have to decide as well. */
  status: ApprovalStatus,
  by: z.string(),
  /** How many approvals it still takes. */
  missing: z.int().optional(),
  /** The rule that was made with it. */
  remembered: RuleId.optional(),
});

/** The same decision on several approvals; with digests, only on what was shown. */
export const DecideMany = z.object({
  items: z
    .array(DecideApproval.pick({ id: true, digest: true }))
    .min(1)
    .max(200),
  decision: Verb,
  comment: DecideApproval.shape.comment,
});
export type DecideMany = z.infer<typeof DecideMany>;

/** Which approvals are listed, and in which order. */
export const ListApprovals = Page.extend({
  status: ApprovalStatus.default('pending'),
  /** Put to any of these; everybody's, when left out. */
  audience: z.array(z.string().min(1).max(200)).max(100).optional(),
  kind: SideEffectKind.optional(),
  risk: Risk.optional(),
  task: TaskId.optional(),
  requester: z.string().max(200).optional(),
  /** Words in title, target, capability or task. */
  search: z.string().max(200).optional(),
  /**
   * `oldest` first, `expiring` first, or by `risk`, the highest first. Of what is decided, the oldest, or with `newest` the
   * newest; that is no order of what waits.
   */
  order: z.enum(['oldest', 'expiring', 'risk', 'newest']).default('oldest'),
});
export type ListApprovals = z.infer<typeof ListApprovals>;

/** An approval with what only a look at others tells. */
export const ApprovalDetail = ApprovalView.extend({
  /** What was asked before by the same node, and what of it is different by now: a unified diff. */
  previous: z
    .object({
      id: ApprovalId,
      status: ApprovalStatus,
      comment: z.string().optional(),
      changes: z.string().max(200_000),
    })
    .optional(),
});
export type ApprovalDetail = z.infer<typeof ApprovalDetail>;

/** What `checkApproval` is asked about. */
export const CheckApproval = z.object({
  kind: SideEffectKind,
  uses: CapabilityLabel,
  target: z.string().min(1).max(2_000),
  args: JsonObject,
  requestedBy: z.string().min(1).max(200),
  workflow: z.string().max(200).optional(),
  audience: z.array(z.string()).min(1).optional(),
});
export type CheckApproval = z.infer<typeof CheckApproval>;

/** What every service answers whoever looks after it; the runtime does it for all of them. */
const care = {
  about: endpoint(
    'What this service is: version, clocks, migrations; of one of its replicas',
    z.object({}),
    About,
  ),
  counts: endpoint('How much is open, and how much has ended within the last hour', z.object({}), Counts),
  retention: endpoint(
    'What is kept, for how long, and how much would go by that or by another number of days',
    AskRetention,
    Retention,
  ),
  retire: endpoint(
    'Remove at once what has ended longer ago than it is kept, as the service does by itself twice a minute',
    z.object({}),
    z.object({ retired: z.int() }),
  ),
} as const;

/** Of the service's own dead letters: each service is asked about those that it could not handle itself. */
const settling = endpoint(
  'Handle a dead letter of this service once more, or drop it',
  SettleLetter,
  LetterSettled,
);

/** The request/reply API on the NATS services framework: `hp.api.<service>.<endpoint>`. */
export const api = {
  orchestrator: {
    ...care,
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
        /** Those with a later version. */
        after: z.int().min(0).optional(),
        /** At the most; a page may end before, once it is large. */
        limit: z.int().min(1).max(1_000).optional(),
      }),
      z.object({
        events: z.array(HistoryEntry),
        /** How many events the task has. */
        version: z.int().optional(),
        /** There are later ones. */
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
    work: endpoint('What a worker says of the phase that it has been given', SayOfWork, WorkAnswer),
    dead_letter: settling,
  },
  approvals: {
    ...care,
    decide: endpoint(
      'Decide on an approval; needs the header `authorization: Bearer <token>`',
      DecideApproval,
      Decided,
    ),
    decide_many: endpoint(
      'Decide on several approvals alike, each on its own; needs the header',
      DecideMany,
      z.object({
        items: z.array(
          z.union([
            z.object({ id: ApprovalId, decided: Decided }),
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
        /** The token is an agent's, that acts for whoever is named. */
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
        /** How many were looked at. */
        looked: z.int(),
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
        /** Only of this approval, rule or token: then it is no unbroken chain. */
        about: z.string().max(64).optional(),
      }),
      z.object({
        items: z.array(AuditLine),
        /** There are more. */
        more: z.boolean(),
      }),
    ),
    keys: endpoint(
      'The public keys of the service, and statements on them by each',
      z.object({ nonce: KeysNonce.optional() }),
      PublishedKeys,
    ),
    dead_letter: settling,
  },
  executor: {
    ...care,
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
        /** From which byte on. */
        offset: z.int().min(0).optional(),
        limit: z.int().min(1).max(ARTIFACT_RANGE_MAX_BYTES).optional(),
      }),
      z.object({
        artifact: StoredArtifact,
        /** Which starts made it: several, when they printed the same. */
        made: z.array(ArtifactView),
        stored: z.boolean(),
        /** In base64; left out unless a limit was asked for. */
        data: z.string().optional(),
      }),
    ),
    dead_letter: settling,
  },
  recovery: {
    ...care,
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
        because: Verdict.shape.because.unwrap(),
        fingerprint: z.string(),
      }),
    ),
    classes: endpoint(
      'How many attempts failed with which class, by hours or days of UTC; where none did, nothing is listed',
      CountClasses,
      z.object({
        /** What was counted: whole buckets, so that it may begin earlier and end later than was asked. */
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
    dead_letter: settling,
  },
} as const satisfies Record<
  ServiceName,
  Record<string, { description: string; request: z.ZodType; response: z.ZodType }>
>;

export type Api = typeof api;
/** What the runtime answers for every service. */
export type CareEndpoint = keyof typeof care;
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
