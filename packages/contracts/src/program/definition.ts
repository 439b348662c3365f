import { z } from 'zod';
import { Digest } from '../effect/canonical-effect.ts';
import { NodeId } from '../values/ids.ts';
import { digestOf } from '../values/json.ts';
import { InputKind } from '../workflow/input.ts';
import { OnError, Outcome } from '../workflow/workflow.ts';

/** Reaction to a failed phase. `recover` is missing: recovery cannot know the work of the code. */
export const ProgramOnError = OnError.extend({ strategy: OnError.shape.strategy.exclude(['recover']) });
export type ProgramOnError = z.infer<typeof ProgramOnError>;

/** Possible next phases; empty when the code decides. */
const Next = z.array(NodeId).max(100).optional();

/** The declared part of a phase; its behavior is code in the worker. */
export const ProgramPhase = z.discriminatedUnion('type', [
  z.object({ type: z.literal('agent'), id: NodeId, next: Next, onError: ProgramOnError.optional() }),
  z.object({
    type: z.literal('human'),
    id: NodeId,
    input: InputKind,
    next: Next,
    onError: ProgramOnError.optional(),
  }),
  z.object({ type: z.literal('effect'), id: NodeId, next: Next, onError: ProgramOnError.optional() }),
  z.object({ type: z.literal('terminal'), id: NodeId, outcome: Outcome.extract(['succeeded', 'failed']) }),
]);
export type ProgramPhase = z.infer<typeof ProgramPhase>;

/** The declared part of a TypeScript workflow, for the orchestrator. */
export const ProgramDefinition = z.object({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'letters, digits, dots, - and _, at most 100'),
  version: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'letters, digits, dots, - and _, at most 64'),
  /** SHA-256 of the declared shape: data and schemas, and of each function only that there is one. */
  code: Digest,
  initial: NodeId,
  phases: z.array(ProgramPhase).min(1).max(100),
  /** Number of phases between checkpoints. */
  snapshotEvery: z.int().min(1).max(10_000).optional(),
});
export type ProgramDefinition = z.infer<typeof ProgramDefinition>;

/** Permanent name of a workflow version, used in its work subject: 40 hex digits. */
export const ProgramHash = z.string().regex(/^[0-9a-f]{40}$/, '40 lower-case hex digits');
export const programHash = (definition: ProgramDefinition): string => digestOf(definition).slice(0, 40);

/** A registered version. Epoch milliseconds. */
export const ProgramView = z.object({
  id: z.string(),
  version: z.string(),
  hash: ProgramHash,
  phases: z.array(NodeId),
  registeredAt: z.int(),
});
export type ProgramView = z.infer<typeof ProgramView>;
