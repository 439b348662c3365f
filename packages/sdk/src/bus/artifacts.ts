import { randomUUID } from 'node:crypto';
import { artifactUriOf, type StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import { CHUNK_MAX_BYTES, CHUNKS_MAX } from '@holdpoint/contracts/program/value';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { WorkPort } from '../activation/session/port.ts';
import type { AskService } from './ask-service.ts';

/** Artifacts of programs at the orchestrator, addressed by the SHA-256 of their content. */
export const artifactsOver = (ask: AskService): Pick<WorkPort, 'keep' | 'fetch'> => ({
  keep: async (content, { name, mediaType }): Promise<StoredArtifact> => {
    const sha256 = sha256Of(content);
    const parts = Math.max(1, Math.ceil(content.length / CHUNK_MAX_BYTES));
    if (parts > CHUNKS_MAX)
      throw new HoldpointError(
        'CONTRACT_PAYLOAD_TOO_LARGE',
        `the artifact has ${String(content.length)} bytes, at most ${String(CHUNKS_MAX * CHUNK_MAX_BYTES)} are kept`,
      );
    const upload = randomUUID();
    // Stores existing content again, because retention counts from the latest event that names it.
    for (let part = 0; part < parts; part += 1) {
      const chunk = content.subarray(part * CHUNK_MAX_BYTES, (part + 1) * CHUNK_MAX_BYTES);
      await ask('orchestrator', 'value_put', {
        upload,
        sha256,
        part,
        parts,
        content: Buffer.from(chunk).toString('base64'),
      });
    }
    return { uri: artifactUriOf(sha256), sha256, bytes: content.length, mediaType, name };
  },
  fetch: async ({ sha256, uri }) => {
    const chunks: Uint8Array[] = [];
    for (let [part, parts] = [0, 1]; part < parts; part += 1) {
      const chunk = await ask('orchestrator', 'value_get', { sha256, part });
      parts = chunk.parts;
      chunks.push(Buffer.from(chunk.content, 'base64'));
    }
    const content = Buffer.concat(chunks);
    if (sha256Of(content) === sha256) return content;
    throw new HoldpointError('EXECUTOR_UNKNOWN_ARTIFACT', `${uri} no longer exists`);
  },
});
