import { TOKEN } from '@holdpoint/contracts/bus/subjects';
import { ReviewKind } from '@holdpoint/contracts/workflow/review';
import { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import { z } from 'zod';
import { AnyJson, KNOWN, Scalar, table } from '../reading/table.ts';

const Text = z.string();
const Name = z.string().min(1);
const Scalars = z.record(z.string(), Scalar);

const NodeName = z.string().regex(TOKEN, '1 to 64 letters, digits, - or _');

export const ARTIFACT_FORMS = {
  plan_branch: table({ slug: Text, branch: Text }).optional(),
  plan_doc: table({ slug: Text, branch: Text }).optional(),
  plan_commits: table({ slug: Text, branch: Text }).optional(),
  target_branch: table({ name: Text }).optional(),
  merge_sentinel: table({ slug: Text }).optional(),
  command_patch: table({ job_id: Text }).optional(),
  custom: table({ type_id: Text, key: Text }).optional(),
} as const;

const RawArtifact = table(ARTIFACT_FORMS).refine(
  (forms) => Object.values(forms).filter((form) => form !== undefined).length === 1,
  `exactly ${KNOWN}${Object.keys(ARTIFACT_FORMS).join(', ')}`,
);
export type RawArtifact = z.infer<typeof RawArtifact>;

const byOutcome = <Schema extends z.ZodType>(schema: Schema) =>
  table({
    succeeded: schema.optional(),
    failed: schema.optional(),
    blocked: schema.optional(),
    cancelled: schema.optional(),
  });

const kinds = (...known: readonly string[]) => ({ error: `${KNOWN}${known.join(', ')}` });

const GatePolicy = z.enum(['block', 'warn', 'retry']);
export type GatePolicy = z.infer<typeof GatePolicy>;

const Gate = z.discriminatedUnion(
  'kind',
  [
    table({ kind: z.literal('approval'), required: Scalar.optional(), policy: GatePolicy.optional() }),
    table({ kind: z.literal('script'), script: Text, policy: GatePolicy.optional() }),
    table({
      kind: z.literal('cicd'),
      script: Text,
      auto_resolve: Scalar.optional(),
      policy: GatePolicy.optional(),
    }),
    table({
      kind: z.literal('custom'),
      id: Text,
      policy: GatePolicy.optional(),
      args: Scalars.optional(),
    }),
  ],
  kinds('approval', 'script', 'cicd', 'custom'),
);
export type RawGate = z.infer<typeof Gate>;

const RawPrecondition = z.discriminatedUnion(
  'kind',
  [
    table({ kind: z.literal('pinned_head'), branch: Text.optional() }),
    table({ kind: z.literal('clean_worktree') }),
    table({ kind: z.literal('branch_exists'), branch: Text.optional() }),
    table({ kind: z.literal('custom'), id: Text, args: Scalars.optional() }),
  ],
  kinds('clean_worktree', 'branch_exists', 'custom'),
);
export type RawPrecondition = z.infer<typeof RawPrecondition>;

const RawStep = table({ uses: Text, args: Scalars.optional() });
export type RawStep = z.infer<typeof RawStep>;
const Steps = z.array(RawStep).max(32).optional();

const RawEffect = table({
  side_effect_kind: SideEffectKind,
  /** Only for custom capabilities; all others have a fixed class. */
  class: EffectClass.optional(),
  idempotency_key: Text,
  target: Text,
  rollback_hint: Text.optional(),
  gate: Text.optional(),
  /** Values for the inputs of the gate. */
  inputs: z.record(z.string(), AnyJson).optional(),
  /** Only for remote capabilities with a preview. */
  previews: z.boolean().optional(),
  probe: Text.optional(),
  compensate: Text.optional(),
});
export type RawEffect = z.infer<typeof RawEffect>;

const RawOnError = table({
  strategy: z.enum(['fail', 'retry', 'pause', 'recover']),
  max_retries: Scalar.optional(),
  backoff: z.enum(['fixed', 'exponential']).optional(),
  delay_ms: Scalar.optional(),
});
export type RawOnError = z.infer<typeof RawOnError>;

export const RawNode = table({
  id: NodeName,
  name: Text.optional(),
  kind: z.enum(['builtin', 'agent', 'shell', 'gate', 'custom']).optional(),
  uses: Text,
  args: z.record(z.string(), AnyJson).optional(),
  after: z.array(table({ node_id: Name, policy: z.literal('success').optional() })).optional(),
  on: byOutcome(z.array(Name)).optional(),
  needs: z.array(RawArtifact).optional(),
  produces: byOutcome(z.array(RawArtifact)).optional(),
  locks: z.array(table({ key: Text, mode: z.enum(['shared', 'exclusive']) })).optional(),
  preconditions: z.array(RawPrecondition).optional(),
  gates: z.array(Gate).optional(),
  /** The result of the node is a review of this kind. */
  review: ReviewKind.optional(),
  retry: table({ mode: Text.optional(), budget: Scalar.optional() }).optional(),
  guard: Text.optional(),
  before: Steps,
  afterwards: Steps,
  finally: Steps,
  for_each: Text.optional(),
  parallel: Scalar.optional(),
  until: Text.optional(),
  timeout: Scalar.optional(),
  /** The executor pool for the node and its steps. */
  pool: NodeName.optional(),
  effect: RawEffect.optional(),
  on_error: RawOnError.optional(),
});
export type RawNode = z.infer<typeof RawNode>;

/** A number, or a text that becomes one after placeholders are replaced. */
const Amount = z.custom<string | number>(
  (value) => typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value)),
  'a number, or a text that contains one',
);

const RawBudget = table({
  tokens: Amount.optional(),
  cost_usd: Amount.optional(),
  minutes: Amount.optional(),
  audience: z.union([Text, z.array(Text).min(1).max(50)], 'a name, or a list of names').optional(),
});
export type RawBudget = z.infer<typeof RawBudget>;

const RawPolicy = table({
  failure_mode: z.enum(['block_downstream', 'continue_independent']).optional(),
  resume: table({ key: Text.optional(), reuse_mode: z.enum(['strict', 'compatible']).optional() }).optional(),
  dependencies: table({ missing_producer: z.enum(['block', 'wait']).optional() }).optional(),
  budget: RawBudget.optional(),
});
export type RawPolicy = z.infer<typeof RawPolicy>;

const RawContract = table({ id: Text, version: Text.optional(), schema: AnyJson.optional() });
export type RawContract = z.infer<typeof RawContract>;

/** A template file as written. */
export const TemplateFile = table({
  id: z.string().min(1).max(200),
  version: z.string().min(1).max(64),
  params: Scalars.optional(),
  cli: table({
    positional: z.array(Text).optional(),
    named: z.record(z.string(), Text).optional(),
  }).optional(),
  policy: RawPolicy.optional(),
  artifact_contracts: z.array(RawContract).optional(),
  nodes: z.array(RawNode).optional(),
  imports: z.array(table({ name: Text, path: Text })).optional(),
  links: z.array(table({ from: Text, to: Text })).optional(),
});
export type TemplateFile = z.infer<typeof TemplateFile>;
