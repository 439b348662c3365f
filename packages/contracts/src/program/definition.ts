import { z } from 'zod';
import { Digest } from '../effect/canonical-effect.ts';
import { NodeId } from '../values/ids.ts';
import { digestOf } from '../values/json.ts';
import { InputKind } from '../workflow/input.ts';
import { OnError, Outcome } from '../workflow/workflow.ts';

/** What a failed phase of a program leads to. There is no `recover`: what its code has done is known to nobody but its code. */
export const ProgramOnError = OnError.extend({ strategy: OnError.shape.strategy.exclude(['recover']) });
export type ProgramOnError = z.infer<typeof ProgramOnError>;

/** Where a phase may lead; nothing where its code says so. */
const Next = z.array(NodeId).max(100).optional();

/** A phase as it is registered: all of it that is data. What it does is code, in the worker of whoever wrote it. */
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

/** A workflow whose phases are functions: what of it the orchestrator has to know. */
export const ProgramDefinition = z.object({
  id: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, 'letters, digits, dots, - and _, at most 100'),
  version: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'letters, digits, dots, - and _, at most 64'),
  /** SHA-256 of what its author wrote, its code included: what runs is what it was started with. */
  code: Digest,
  initial: NodeId,
  phases: z.array(ProgramPhase).min(1).max(100),
  /** A checkpoint each time that so many phases have ended. */
  snapshotEvery: z.int().min(1).max(10_000).optional(),
});
export type ProgramDefinition = z.infer<typeof ProgramDefinition>;

/** What names a version of a program for ever, and stands in the subject of its work: 40 hexadecimal digits. */
export const ProgramHash = z.string().regex(/^[0-9a-f]{40}$/, '40 lower-case hex digits');
export const programHash = (definition: ProgramDefinition): string => digestOf(definition).slice(0, 40);

/** A version that is registered. Epoch milliseconds. */
export const ProgramView = z.object({
  id: z.string(),
  version: z.string(),
  hash: ProgramHash,
  phases: z.array(NodeId),
  registeredAt: z.int(),
});
export type ProgramView = z.infer<typeof ProgramView>;
