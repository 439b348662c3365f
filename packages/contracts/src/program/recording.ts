import { z } from 'zod';
import { Digest } from '../effect/canonical-effect.ts';
import { StoredArtifact } from '../effect/stored-artifact.ts';
import { ErrorBody } from '../values/errors.ts';
import { TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { Audience } from '../workflow/audience.ts';
import { CapabilityLabel, EffectClass, SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { Outcome, Pool } from '../workflow/workflow.ts';

/** Bytes of one thing that a phase has recorded, and of all of them together. */
export const ENTRY_MAX_BYTES = 64 * 1_024;
export const ENTRIES_MAX_BYTES = 256 * 1_024;
export const ENTRIES_MAX = 1_000;

export const EntryKey = z.string().min(1).max(256);

/** A side effect as a phase asks for it. */
export const ProgramEffect = z.object({
  kind: SideEffectKind,
  uses: CapabilityLabel,
  args: JsonObject,
  target: z.string().min(1).max(512),
  idempotencyKey: z.string().min(1).max(200),
  /** For people; without one, from what it does. */
  title: z.string().min(1).max(500).optional(),
  /** Of a capability of the operator's own, which nobody else knows. */
  effectClass: EffectClass.optional(),
  audience: Audience.optional(),
  approvalTimeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  pool: Pool.optional(),
  probe: z.string().max(65_536).optional(),
  compensate: z.string().max(65_536).optional(),
  rollbackHint: z.string().max(10_000).optional(),
});
export type ProgramEffect = z.infer<typeof ProgramEffect>;

/** What an effect has come to. `blocked`: it was not approved. */
export const EffectEnd = z.object({
  outcome: Outcome,
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});
export type EffectEnd = z.infer<typeof EffectEnd>;

/** What a phase has recorded: whoever runs it again is given the same, and nothing of it happens twice. */
export const Entry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('step'), key: EntryKey, output: Json }),
  /** Until when, by the database's clock. */
  z.object({ kind: z.literal('sleep'), key: EntryKey, until: z.int(), over: z.literal(true).optional() }),
  z.object({ kind: z.literal('artifact'), key: EntryKey, artifact: StoredArtifact }),
  z.object({
    kind: z.literal('effect'),
    key: EntryKey,
    digest: Digest,
    /** The task that carries it out: gated, approved and recorded like any other. */
    task: TaskId,
    ended: EffectEnd.optional(),
  }),
]);
export type Entry = z.infer<typeof Entry>;

/** What a phase asks to have recorded. Under a key that is known, what is known is answered. */
export const WorkRecord = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('step'), key: EntryKey, output: Json }),
  z.object({ kind: z.literal('sleep'), key: EntryKey, ms: z.int().min(0).max(WAIT_MAX_MS) }),
  z.object({ kind: z.literal('artifact'), key: EntryKey, artifact: StoredArtifact }),
  z.object({ kind: z.literal('effect'), effect: ProgramEffect }),
  /** What `onRetry` has made of the state, for this attempt. */
  z.object({ kind: z.literal('retry_state'), state: JsonObject }),
]);
export type WorkRecord = z.infer<typeof WorkRecord>;
