import { z } from 'zod';
import { compiled } from '../values/compiled.ts';
import { Artifact } from './artifact.ts';
import { COST_USD_MAX, TOKENS_MAX } from './attempt.ts';
import { Audience, AudienceMember } from './audience.ts';
import { Gate } from './gate.ts';
import { TOKEN } from '../bus/subjects.ts';
import { NodeId } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { RecoveryRules } from './recovery-rules.ts';
import { ReviewKind } from './review.ts';
import { CapabilityLabel, EffectClass, SideEffectKind, WAIT_MAX_MS } from './side-effect.ts';

export { CapabilityLabel, EffectClass, SideEffectKind, WAIT_MAX_MS } from './side-effect.ts';

const Wait = z.int().min(1_000).max(WAIT_MAX_MS);

/** A pool of executors; its name is part of an order's subject. */
export const Pool = z.string().regex(TOKEN, 'letters, digits, - and _, at most 64');

/** Declares a node an effect: gated, and executed once. */
export const EffectDeclaration = z.object({
  kind: SideEffectKind,
  effectClass: EffectClass,
  idempotencyKey: z.string().min(1).max(256),
  target: z.string().min(1).max(512),
  /** Part of the order's subject. */
  pool: Pool,
  /** Empty: the audience of the policy floor, or `operators`. */
  audience: z.array(AudienceMember).max(50),
  /** Timeout of the request. */
  approvalTimeoutMs: Wait,
  /** An expired request ends the node as blocked; by default the job waits for a person. */
  endsOnExpiry: z.literal(true).optional(),
  /** The gate; default: a plain request. */
  gate: Gate.optional(),
  /** Commands that help operators to probe or undo; shown with the request. */
  probe: z.string().max(65_536).optional(),
  compensate: z.string().max(65_536).optional(),
  rollbackHint: z.string().max(10_000).optional(),
  /** The capability of a user previews it: `<uses>.preview` is ordered as work before the request. */
  previews: z.literal(true).optional(),
});
export type EffectDeclaration = z.infer<typeof EffectDeclaration>;

/** Outcome of an attempt, a node or a run. */
export const Outcome = z.enum(['succeeded', 'failed', 'blocked', 'cancelled']);
export type Outcome = z.infer<typeof Outcome>;

export const Lock = z.object({ key: z.string().min(1).max(512), mode: z.enum(['shared', 'exclusive']) });
export type Lock = z.infer<typeof Lock>;

/** Required state of the repository before a node starts. */
export const Precondition = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('clean_worktree') }),
  /** Default: the branch of the node's context. */
  z.object({ kind: z.literal('branch_exists'), branch: z.string().max(256).optional() }),
]);
export type Precondition = z.infer<typeof Precondition>;

/** An expression over `inputs`, `nodes`, `outputs`, `item`, `task`. */
const Expression = z.string().min(1).max(2_000);

/** A step around a node: before it, after success, or finally. */
export const Step = z.object({ uses: CapabilityLabel, args: z.record(z.string(), Json) });
export type Step = z.infer<typeof Step>;

/** Reaction to a failure without a route: fail, retry, or ask an operator. */
export const OnError = z.object({
  /** `recover`: the recovery service decides. */
  strategy: z.enum(['fail', 'retry', 'pause', 'recover']),
  maxRetries: z.int().min(0).max(1_000),
  backoff: z.enum(['fixed', 'exponential']),
  delayMs: z.int().min(0).max(WAIT_MAX_MS),
});
export type OnError = z.infer<typeof OnError>;

/** Exponential delays double up to this maximum. */
const BACKOFF_MAX_MS = 3_600_000;

/** Delay before the next attempt, after this many retries. */
export const retryDelayMs = (
  { backoff, delayMs }: Pick<OnError, 'backoff' | 'delayMs'>,
  retries: number,
): number => (backoff === 'fixed' ? delayMs : Math.min(delayMs * 2 ** retries, BACKOFF_MAX_MS));

/** Routes and artifacts of a node, by outcome. */
const byOutcome = <Schema extends z.ZodType>(schema: Schema) =>
  z.object({
    succeeded: schema.optional(),
    failed: schema.optional(),
    blocked: schema.optional(),
    cancelled: schema.optional(),
  });

/** One node with resolved placeholders; optional fields stay optional. */
export const NodeDefinition = z.object({
  id: NodeId,
  /** Its texts are final: no expressions are evaluated. */
  verbatim: z.literal(true).optional(),
  /** For display only. */
  name: z.string().max(256).optional(),
  /** The import that it came from. */
  stage: z.string().max(64).optional(),
  uses: CapabilityLabel,
  after: z.array(NodeId),
  on: byOutcome(z.array(NodeId)).optional(),
  args: z.record(z.string(), Json),
  needs: z.array(Artifact).optional(),
  produces: byOutcome(z.array(Artifact)).optional(),
  /** Declared or inferred dependencies. */
  locks: z.array(Lock).optional(),
  preconditions: z.array(Precondition).optional(),
  /** A person approves its start. */
  approval: z.object({ audience: Audience, timeoutMs: Wait }).optional(),
  /** Its result is a review of this kind: `passed` when it succeeds, `failed` when it fails. */
  review: ReviewKind.optional(),
  /** Script of a stop condition or CI/CD gate; a gate without one succeeds. */
  script: z.string().max(65_536).optional(),
  /** CI/CD gate: script that runs after a failure, before the gate repeats. */
  fixScript: z.string().max(65_536).optional(),
  /** Conflict gate: whether the agent resolves the conflict. */
  autoResolve: z.boolean().optional(),
  /** Reaction to a failed gate: fail, report only, or repeat within the budget. */
  gatePolicy: z.enum(['block', 'warn', 'retry']).optional(),
  retry: z
    .object({
      mode: z.enum(['never', 'on_failure', 'until_gate']),
      /** Number of repeats; default: three. */
      budget: z.int().min(0).max(10_000).optional(),
    })
    .optional(),
  /** Agent command, as configured at submission. */
  agent: z.array(z.string().max(4_096)).min(1).max(256).optional(),
  guard: Expression.optional(),
  before: z.array(Step).max(32).optional(),
  afterwards: z.array(Step).max(32).optional(),
  finally: z.array(Step).max(32).optional(),
  forEach: Expression.optional(),
  parallel: z.int().min(1).max(100).optional(),
  until: Expression.optional(),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  /** Pool of all its steps; default: the effect's own pool, or the default pool. */
  pool: Pool.optional(),
  effect: EffectDeclaration.optional(),
  onError: OnError.optional(),
});
export type NodeDefinition = z.infer<typeof NodeDefinition>;

/** Limits of a task before an approver is asked for more. */
export const Budget = z.object({
  /** Tokens that agents read and wrote. */
  tokens: z.int().min(1).max(TOKENS_MAX).optional(),
  costUsd: z.number().positive().max(COST_USD_MAX).optional(),
  /** Working time of its steps, without waiting. */
  workMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  audience: Audience.optional(),
});
export type Budget = z.infer<typeof Budget>;

/** The extension of an exhausted budget: part of the approved effect. */
export const BudgetRequest = z.object({
  /** Exceeded limits, for display. */
  used: z.string(),
  /** Number of the extension, from 1: each needs its own approval. */
  extension: z.int().min(1),
  /** Amount that is added. */
  more: Budget.omit({ audience: true }),
});
export type BudgetRequest = z.infer<typeof BudgetRequest>;

export const WorkflowPolicy = z.object({
  /** After a failure without reaction: stop, or continue independent nodes. */
  failureMode: z.enum(['block_downstream', 'continue_independent']),
  /** A needed artifact without a producer: block the node, or wait. */
  missingProducer: z.enum(['block', 'wait']),
  budget: Budget.optional(),
});
export type WorkflowPolicy = z.infer<typeof WorkflowPolicy>;

/** A resolved workflow, as stored with its task. */
export const WorkflowDefinition = compiled(
  z.object({
    id: z.string().min(1).max(200),
    version: z.string().min(1).max(64),
    policy: WorkflowPolicy.optional(),
    /** Recovery settings of the repository. */
    recovery: RecoveryRules.optional(),
    nodes: z.array(NodeDefinition).min(1).max(20_000),
  }),
);
export type WorkflowDefinition = z.infer<typeof WorkflowDefinition>;
