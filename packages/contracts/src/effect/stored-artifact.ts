import { z } from 'zod';
import { EffectId, NodeId, TaskId } from '../values/ids.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, '64 lower-case hex digits');

/** Address of an artifact: `artifact://` and the SHA-256 of its content in hex. */
export const ArtifactUri = z
  .string()
  .regex(/^artifact:\/\/[0-9a-f]{64}$/, 'artifact:// and 64 lower-case hex digits');
export type ArtifactUri = z.infer<typeof ArtifactUri>;

/** A large value or a full log, stored outside messages for at most a week. */
export const StoredArtifact = z.object({
  uri: ArtifactUri,
  sha256: Sha256,
  bytes: z.int().min(0),
  mediaType: z.string().min(1).max(100),
  /** Suggested file name. */
  name: z.string().min(1).max(200),
});
export type StoredArtifact = z.infer<typeof StoredArtifact>;

export const artifactUriOf = (sha256: string): ArtifactUri => `artifact://${sha256}`;

export const sha256In = (uri: ArtifactUri): string => uri.slice('artifact://'.length);

/** An artifact and the start that produced it. Times are epoch milliseconds. */
export const ArtifactView = StoredArtifact.extend({
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  /** Part of the attempt: `run`, `before.0`, `run.3` (an item). */
  step: z.string().min(1).max(64),
  effect: EffectId,
  epoch: z.int().min(1),
  createdAt: z.int(),
  /** Time when the store confirmed it. Before that, only the executor has it. */
  storedAt: z.int().optional(),
});
export type ArtifactView = z.infer<typeof ArtifactView>;

/**
 * Maximum bytes of an artifact in one answer. Base64 adds a third, and the answer must fit into a message.
 */
export const ARTIFACT_RANGE_MAX_BYTES = 512 * 1_024;
