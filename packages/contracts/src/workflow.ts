import { z } from 'zod';
import { NodeId } from './ids.ts';
import { Json } from './json.ts';

/** What an effect does to the world; it decides which approval policy applies. */
export const SideEffectKind = z.enum([
  'write_external',
  'deploy',
  'merge',
  'notify',
  'destructive_edit',
  'other',
]);
export type SideEffectKind = z.infer<typeof SideEffectKind>;

/**
 * What the target of an effect gives after an interruption. It belongs to the capability and is part of the approved digest.
 *
 * - `fenced`: compare-and-set or a fencing token; `keyed`: remembers our key; `probeable`: a read tells applied from not;
 * - `idempotent`: repeating is harmless; `opaque`: nothing, so a person is asked.
 */
export const EffectClass = z.enum(['fenced', 'keyed', 'probeable', 'idempotent', 'opaque']);
export type EffectClass = z.infer<typeof EffectClass>;

/** A canonical label such as `cap.file.append` or `control.terminal`. */
export const CapabilityLabel = z
  .string()
  .regex(/^(cap|control)(\.[a-z0-9_]+)+$/, 'a label such as cap.file.append');

/** No wait is longer: added to any time of day, it is still a time that clocks and stores can hold. */
export const WAIT_MAX_MS = 30 * 86_400_000;

/** Declares a node an effect: gated, and carried out once. */
export const EffectDeclaration = z.object({
  kind: SideEffectKind,
  effectClass: EffectClass,
  idempotencyKey: z.string().min(1).max(256),
  target: z.string().min(1).max(512),
  pool: z.string().min(1).max(64),
  /** Groups whose members may decide. */
  audience: z.array(z.string().min(1)).min(1),
  /** How long the request waits for a decision. */
  approvalTimeoutMs: z.int().min(1_000).max(WAIT_MAX_MS),
});
export type EffectDeclaration = z.infer<typeof EffectDeclaration>;

export const NodeDefinition = z.object({
  id: NodeId,
  uses: CapabilityLabel,
  after: z.array(NodeId),
  args: z.record(z.string(), Json),
  effect: EffectDeclaration.optional(),
});
export type NodeDefinition = z.infer<typeof NodeDefinition>;

/** A workflow with everything resolved, as it is stored with the task that runs it. */
export const WorkflowDefinition = z.object({
  id: z.string().min(1),
  version: z.int().min(1),
  nodes: z.array(NodeDefinition).min(1),
});
export type WorkflowDefinition = z.infer<typeof WorkflowDefinition>;
