import { z } from 'zod';
import { Artifact } from './artifact.ts';
import { COST_USD_MAX, TOKENS_MAX } from './attempt.ts';
import { Audience } from './audience.ts';
import { Gate } from './gate.ts';
import { NodeId, TOKEN } from '../values/ids.ts';
import { Json } from '../values/json.ts';
import { RecoveryRules } from './recovery-rules.ts';
import { CapabilityLabel, EffectClass, SideEffectKind, WAIT_MAX_MS } from './side-effect.ts';

export { CapabilityLabel, EffectClass, SideEffectKind, WAIT_MAX_MS } from './side-effect.ts';

const Wait = z.int().min(1_000).max(WAIT_MAX_MS);

/** Executors that take the same orders: its name stands in the subject of an order. */
export const Pool = z.string().regex(TOKEN, 'letters, digits, - and _, at most 64');

/** Declares a node an effect: gated, and carried out once. */
export const EffectDeclaration = z.object({
  kind: SideEffectKind,
  effectClass: EffectClass,
  idempotencyKey: z.string().min(1).max(256),
  target: z.string().min(1).max(512),
  /** It stands in the subject of the order. */
  pool: Pool,
  audience: Audience,
  /** How long the request waits for a decision. */
  approvalTimeoutMs: Wait,
  /** How people are asked, and what follows from what they say; plainly, when left out. */
  gate: Gate.optional(),
  /** Commands for whoever has to find out, or to take it back; shown with the request. */
  probe: z.string().max(65_536).optional(),
  compensate: z.string().max(65_536).optional(),
  rollbackHint: z.string().max(10_000).optional(),
});
export type EffectDeclaration = z.infer<typeof EffectDeclaration>;

/** How an attempt at a node, or a whole run, can end. */
export const Outcome = z.enum(['succeeded', 'failed', 'blocked', 'cancelled']);
export type Outcome = z.infer<typeof Outcome>;

export const Lock = z.object({ key: z.string().min(1).max(512), mode: z.enum(['shared', 'exclusive']) });
export type Lock = z.infer<typeof Lock>;

/** What has to be so in the repository before a node starts. */
export const Precondition = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('clean_worktree') }),
  /** Without a branch: the one of the node's context. */
  z.object({ kind: z.literal('branch_exists'), branch: z.string().max(256).optional() }),
]);
export type Precondition = z.infer<typeof Precondition>;

/** An expression over `inputs`, `nodes`, `outputs`, `item`, `task`. */
const Expression = z.string().min(1).max(2_000);

/** Something that runs around a node: before it, after it when it succeeded, or finally in any case. */
export const Step = z.object({ uses: CapabilityLabel, args: z.record(z.string(), Json) });
export type Step = z.infer<typeof Step>;

/** What follows a failure without a route: the end of the node, another attempt, or a person. */
export const OnError = z.object({
  /** `recover`: recovery decides, from what happened before. */
  strategy: z.enum(['fail', 'retry', 'pause', 'recover']),
  maxRetries: z.int().min(0).max(1_000),
  backoff: z.enum(['fixed', 'exponential']),
  delayMs: z.int().min(0).max(WAIT_MAX_MS),
});
export type OnError = z.infer<typeof OnError>;

/** Each exponential wait is twice the one before, and none is longer than this. */
const BACKOFF_MAX_MS = 3_600_000;

/** How long the next attempt waits when so many retries went before it. */
export const retryDelayMs = (
  { backoff, delayMs }: Pick<OnError, 'backoff' | 'delayMs'>,
  retries: number,
): number => (backoff === 'fixed' ? delayMs : Math.min(delayMs * 2 ** retries, BACKOFF_MAX_MS));

/** The routes out of a node, and its artifacts, by outcome. */
const byOutcome = <Schema extends z.ZodType>(schema: Schema) =>
  z.object({
    succeeded: schema.optional(),
    failed: schema.optional(),
    blocked: schema.optional(),
    cancelled: schema.optional(),
  });

/** One node, with every placeholder resolved. What a template leaves out is left out here as well. */
export const NodeDefinition = z.object({
  id: NodeId,
  /** Its texts are final: no expressions are put in. */
  verbatim: z.literal(true).optional(),
  /** For people only. */
  name: z.string().max(256).optional(),
  /** The import that it came from. */
  stage: z.string().max(64).optional(),
  uses: CapabilityLabel,
  after: z.array(NodeId),
  on: byOutcome(z.array(NodeId)).optional(),
  args: z.record(z.string(), Json),
  needs: z.array(Artifact).optional(),
  produces: byOutcome(z.array(Artifact)).optional(),
  /** Declared, or inferred when none were. */
  locks: z.array(Lock).optional(),
  preconditions: z.array(Precondition).optional(),
  /** A person lets it start. */
  approval: z.object({ audience: Audience, timeoutMs: Wait }).optional(),
  /** What a stop condition or a CI/CD gate runs; a gate without one succeeds, and says so. */
  script: z.string().max(65_536).optional(),
  /** A CI/CD gate: what to run when the script fails, before it is run once more. */
  fixScript: z.string().max(65_536).optional(),
  /** A conflict gate: whether the agent is to resolve the conflict. */
  autoResolve: z.boolean().optional(),
  /** What a failing gate does: ends its node, only says so, or is run again within the budget. */
  gatePolicy: z.enum(['block', 'warn', 'retry']).optional(),
  retry: z
    .object({
      mode: z.enum(['never', 'on_failure', 'until_gate']),
      /** Retries, so one more run than this; without it there are three. */
      budget: z.int().min(0).max(10_000).optional(),
    })
    .optional(),
  /** The command that runs the agent, as it was configured when the task was submitted. */
  agent: z.array(z.string().max(4_096)).min(1).max(256).optional(),
  guard: Expression.optional(),
  before: z.array(Step).max(32).optional(),
  afterwards: z.array(Step).max(32).optional(),
  finally: z.array(Step).max(32).optional(),
  forEach: Expression.optional(),
  parallel: z.int().min(1).max(100).optional(),
  until: Expression.optional(),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  /** Whose executors do all of it, the steps around it among them; the effect's own pool, or the default one, when left out. */
  pool: Pool.optional(),
  effect: EffectDeclaration.optional(),
  onError: OnError.optional(),
});
export type NodeDefinition = z.infer<typeof NodeDefinition>;

/** What a task may use before somebody is asked for more. */
export const Budget = z.object({
  /** Of agents: what they read and what they wrote. */
  tokens: z.int().min(1).max(TOKENS_MAX).optional(),
  costUsd: z.number().positive().max(COST_USD_MAX).optional(),
  /** In which its steps were worked on, not in which they waited. */
  workMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  audience: Audience.optional(),
});
export type Budget = z.infer<typeof Budget>;

/** What is granted when a task has used its budget up: part of what is approved. */
export const BudgetRequest = z.object({
  /** For people: what of which limit is used. */
  used: z.string(),
  /** Which extension it is, from 1: an approval of one is none of the next. */
  extension: z.int().min(1),
  /** As much again as this. */
  more: Budget.omit({ audience: true }),
});
export type BudgetRequest = z.infer<typeof BudgetRequest>;

export const WorkflowPolicy = z.object({
  /** After a failure that nothing follows: nothing else starts, or what does not depend on it goes on. */
  failureMode: z.enum(['block_downstream', 'continue_independent']),
  /** A needed artifact that nobody is making: the node is blocked, or waits for somebody to make it. */
  missingProducer: z.enum(['block', 'wait']),
  budget: Budget.optional(),
});
export type WorkflowPolicy = z.infer<typeof WorkflowPolicy>;

/** A workflow with everything resolved, as it is stored with the task that runs it. */
export const WorkflowDefinition = z.object({
  id: z.string().min(1).max(200),
  version: z.string().min(1).max(64),
  policy: WorkflowPolicy.optional(),
  /** How the repository wants its failures taken. */
  recovery: RecoveryRules.optional(),
  nodes: z.array(NodeDefinition).min(1).max(20_000),
});
export type WorkflowDefinition = z.infer<typeof WorkflowDefinition>;
