import { ApprovalPolicy, Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { GateContext, GateInput, Suggestion } from '@holdpoint/contracts/workflow/gate';
import { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { z } from 'zod';
import { AnyJson, Scalar, table } from '../reading/table.ts';

const Text = z.string();

const optional = <Schema extends z.ZodType>(names: readonly string[], schema: Schema) =>
  table(Object.fromEntries(names.map((name) => [name, schema.optional()])));

/** Old gates name context by the tools that once loaded it; these names still work. */
const TOOLS: ReadonlyMap<string, GateContext> = new Map(
  GateContext.options.flatMap((name) => [
    [name, name] as const,
    [`${name}_get`, name] as const,
    [`task_get_${name}`, name] as const,
  ]),
);
const Context = z.enum([...TOOLS.keys()]);
export const contextOf = (name: string): readonly GateContext[] => {
  const context = TOOLS.get(name);
  return context === undefined ? [] : [context];
};

const RawSuggestion = table({
  emit: Suggestion.shape.emit,
  phase: Suggestion.shape.phase,
  to: Text.optional(),
});
export type RawSuggestion = z.infer<typeof RawSuggestion>;

const RawInput = table({
  type: GateInput.shape.type,
  required: z.boolean().optional(),
  default: AnyJson.optional(),
  values: z.array(Text).min(1).optional(),
  description: Text.optional(),
});

const Audience = z.array(Text).min(1);

const Checkpoint = {
  checkpoint: Text.min(1),
  note: Text.optional(),
  payload: z.record(z.string(), AnyJson).optional(),
} as const;
export type RawCheckpoint = z.infer<z.ZodObject<typeof Checkpoint>>;

const Request = table({
  title: Text.optional(),
  audience: Audience.optional(),
  body: Text.optional(),
  on_open: z.array(table({ task_record_checkpoint: table(Checkpoint) })).optional(),
  timeout: optional(['default', ...SideEffectKind.options], Scalar).optional(),
  remind: z.array(Scalar).optional(),
  hand_on: z.array(table({ after: Scalar, audience: Audience })).optional(),
});

const Policy = table({
  quorum: ApprovalPolicy.shape.quorum,
  four_eyes: z.boolean().optional(),
  veto: z.boolean().optional(),
  on_expiry: ApprovalPolicy.shape.onExpiry,
  rules: z.boolean().optional(),
});

/** A gate template as written, after shorthands are expanded. */
export const GateFile = table({
  id: Text,
  version: Text,
  purpose: Text.optional(),
  inputs: z
    .record(z.string().regex(/^[a-z_][a-z0-9_]{0,63}$/, 'lower-case letters, digits and _'), RawInput)
    .optional(),
  load_context: z.array(Context).optional(),
  approval_request: Request.optional(),
  allowed_decisions: z.array(Verb).min(1).optional(),
  policy: Policy.optional(),
  on_decision: optional([...Verb.options, 'expire'], RawSuggestion).optional(),
  resume_policy: z.enum(['branches', 'decision']).optional(),
  resume_branches: z
    .array(
      table({
        when: Text,
        ...RawSuggestion.shape,
        checkpoints: z.array(table(Checkpoint)).optional(),
      }),
    )
    .optional(),
  recovery: table({
    on_worker_crash: RawSuggestion.optional(),
    on_duplicate_side_effect_attempt: RawSuggestion.optional(),
  }).optional(),
  constraints: z.array(table({ when: Text, message: Text })).optional(),
});
export type GateFile = z.infer<typeof GateFile>;

type Table = Record<string, unknown>;

const isTable = (value: unknown): value is Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const each = (holder: unknown, change: (value: unknown) => unknown): void => {
  if (isTable(holder)) for (const [key, value] of Object.entries(holder)) holder[key] = change(value);
};

/** Expands a word into a table with one key. */
const asTable =
  (key: string) =>
  (value: unknown): unknown =>
    typeof value === 'string' ? { [key]: value } : value;

const asList = (holder: unknown, key: string): void => {
  if (isTable(holder) && typeof holder[key] === 'string') holder[key] = [holder[key]];
};

/** Expands shorthands such as `approve: resume_executor`, `timeout: 5m` and `audience: operators`. */
export const expandShorthands = (data: unknown): void => {
  if (!isTable(data)) return;
  each(data['inputs'], asTable('type'));
  each(data['on_decision'], asTable('emit'));
  each(data['recovery'], asTable('emit'));
  const request = data['approval_request'];
  if (!isTable(request)) return;
  asList(request, 'audience');
  const { timeout, hand_on: handOn } = request;
  if (typeof timeout === 'string' || typeof timeout === 'number') request['timeout'] = { default: timeout };
  if (Array.isArray(handOn)) for (const step of handOn) asList(step, 'audience');
};
