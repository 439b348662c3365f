import { z } from 'zod';
import { EffectId, NodeId, TaskId } from '../values/ids.ts';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, '64 lower-case hex digits');

/** The name of an artifact is its content: `artifact://` and the SHA-256 in hexadecimal. */
export const ArtifactUri = z
  .string()
  .regex(/^artifact:\/\/[0-9a-f]{64}$/, 'artifact:// and 64 lower-case hex digits');
export type ArtifactUri = z.infer<typeof ArtifactUri>;

/** What was too large for a message, or is a whole log: bytes that are kept beside the facts, for a week at the most. */
export const StoredArtifact = z.object({
  uri: ArtifactUri,
  sha256: Sha256,
  bytes: z.int().min(0),
  mediaType: z.string().min(1).max(100),
  /** What a file with it would be called. */
  name: z.string().min(1).max(200),
});
export type StoredArtifact = z.infer<typeof StoredArtifact>;

export const artifactUriOf = (sha256: string): ArtifactUri => `artifact://${sha256}`;

export const sha256In = (uri: ArtifactUri): string => uri.slice('artifact://'.length);

/** An artifact, and which start of which step made it. Times are epoch milliseconds. */
export const ArtifactView = StoredArtifact.extend({
  task: TaskId,
  node: NodeId,
  attempt: z.int().min(1),
  /** Which part of the attempt: `run`, `before.0`, `run.3` (an item). */
  step: z.string().min(1).max(64),
  effect: EffectId,
  epoch: z.int().min(1),
  createdAt: z.int(),
  /** When the store confirmed it. Until then only the executor that made it has it. */
  storedAt: z.int().optional(),
});
export type ArtifactView = z.infer<typeof ArtifactView>;

/** Of an artifact, that much in one answer. In base64 it is a third more, and has to fit into a message. */
export const ARTIFACT_RANGE_MAX_BYTES = 512 * 1_024;
