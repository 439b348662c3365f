import { z } from 'zod';

/** How long objects are kept, and how many bytes of them: beyond that the oldest are removed. */
export type StoreLimits = { readonly keepDays: number; readonly maxBytes: number };

const MIB = 1024 * 1024;

/** Full logs and large outputs, named by the SHA-256 of their content. They expire with the events that name them. */
export const ARTIFACT_LIMITS: StoreLimits = { keepDays: 7, maxBytes: 2_048 * MIB };

/** Large values of TypeScript workflows, named by the SHA-256 of their content. */
export const VALUE_LIMITS: StoreLimits = { keepDays: 30, maxBytes: 1_024 * MIB };

/** Maximum bytes of a chunk: in Base64 it fits into a message. */
export const CHUNK_MAX_BYTES = 512 * 1_024;
/** Maximum chunks of a value: 256 MiB. */
export const CHUNKS_MAX = 512;

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, '64 lower-case hex digits');
const Content = z
  .string()
  .max(Math.ceil(CHUNK_MAX_BYTES / 3) * 4)
  .regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'Base64');

/** One chunk of a large value. The last one completes the value, if the digest of all chunks is its name. */
export const PutValue = z
  .object({
    /** The same in all chunks of one upload. */
    upload: z.uuid(),
    sha256: Sha256,
    part: z.int().min(0),
    parts: z.int().min(1).max(CHUNKS_MAX),
    content: Content,
  })
  .refine(({ part, parts }) => part < parts, 'part: below parts');
export const ValueStored = z.object({ complete: z.boolean() });

export const GetValue = z.object({
  sha256: Sha256,
  part: z
    .int()
    .min(0)
    .max(CHUNKS_MAX - 1),
});
export const ValueChunk = z.object({ parts: z.int().min(1), content: Content });
