import { z } from 'zod';
import { Digest } from '../effect/canonical-effect.ts';
import { StoredArtifact } from '../effect/stored-artifact.ts';
import { ErrorBody } from '../values/errors.ts';
import { TaskId } from '../values/ids.ts';
import { Json, JsonObject } from '../values/json.ts';
import { Audience } from '../workflow/audience.ts';
import { ReviewText } from '../workflow/review.ts';
import { CapabilityLabel, EffectClass, SideEffectKind, WAIT_MAX_MS } from '../workflow/side-effect.ts';
import { Outcome, Pool } from '../workflow/workflow.ts';

/** Maximum bytes of one recorded entry, and of all entries of a visit. */
export const ENTRY_MAX_BYTES = 64 * 1_024;
export const ENTRIES_MAX_BYTES = 256 * 1_024;
export const ENTRIES_MAX = 1_000;

export const EntryKey = z.string().min(1).max(256);

/** An effect as a phase requests it. */
export const ProgramEffect = z.object({
  kind: SideEffectKind,
  uses: CapabilityLabel,
  args: JsonObject,
  target: z.string().min(1).max(512),
  idempotencyKey: z.string().min(1).max(200),
  /** Title for approvers; default: derived from the effect. */
  title: z.string().min(1).max(500).optional(),
  /** Required for custom capabilities. */
  effectClass: EffectClass.optional(),
  /** Only for custom and remote capabilities with a preview: `<uses>.preview` runs before the request. */
  previews: z.literal(true).optional(),
  audience: Audience.optional(),
  approvalTimeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional(),
  pool: Pool.optional(),
  probe: z.string().max(65_536).optional(),
  compensate: z.string().max(65_536).optional(),
  rollbackHint: z.string().max(10_000).optional(),
});
export type ProgramEffect = z.infer<typeof ProgramEffect>;

/** Final outcome of an effect. `blocked`: not approved. */
export const EffectEnd = z.object({
  outcome: Outcome,
  outputs: JsonObject.optional(),
  error: ErrorBody.optional(),
});
export type EffectEnd = z.infer<typeof EffectEnd>;

/** A recorded entry of a phase. A repeated phase receives it instead of executing it again. */
export const Entry = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('step'), key: EntryKey, output: Json }),
  /** End of the sleep, by the database's clock. */
  z.object({ kind: z.literal('sleep'), key: EntryKey, until: z.int(), over: z.literal(true).optional() }),
  z.object({ kind: z.literal('artifact'), key: EntryKey, artifact: StoredArtifact }),
  z.object({ kind: z.literal('review'), key: EntryKey, review: ReviewText }),
  z.object({
    kind: z.literal('effect'),
    key: EntryKey,
    digest: Digest,
    /** The task that executes it: gated, approved and recorded. */
    task: TaskId,
    ended: EffectEnd.optional(),
  }),
]);
export type Entry = z.infer<typeof Entry>;

/** An entry that a phase records. For a known key, the recorded entry is returned. */
export const WorkRecord = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('step'), key: EntryKey, output: Json }),
  z.object({ kind: z.literal('sleep'), key: EntryKey, ms: z.int().min(0).max(WAIT_MAX_MS) }),
  z.object({ kind: z.literal('artifact'), key: EntryKey, artifact: StoredArtifact }),
  z.object({ kind: z.literal('review'), key: EntryKey, review: ReviewText }),
  z.object({ kind: z.literal('effect'), effect: ProgramEffect }),
  /** State after `onRetry`, for this attempt. */
  z.object({ kind: z.literal('retry_state'), state: JsonObject }),
]);
export type WorkRecord = z.infer<typeof WorkRecord>;
