import { Readable } from 'node:stream';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { artifactUriOf, type StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import { programBucket } from '@holdpoint/contracts/bus/streams';
import { createObjectStore } from '@holdpoint/runtime/bus/object-store';
import type { NatsConnection } from '@nats-io/transport-node';
import type { WorkPort } from '../activation/session/port.ts';

const unavailable = (cause: unknown): HoldpointError =>
  new HoldpointError('RUNTIME_UNAVAILABLE', 'the artifact store is unavailable', { cause });

/** Artifacts of programs on the bus, addressed by the SHA-256 of their content. */
export const artifactsOver = (connection: NatsConnection): Pick<WorkPort, 'keep' | 'fetch'> => {
  const objects = createObjectStore(connection, programBucket);
  return {
    keep: async (content, { name, mediaType, task, node, attempt }): Promise<StoredArtifact> => {
      const sha256 = sha256Of(content);
      const about = { name, mediaType, task, node, attempt: String(attempt) };
      try {
        // Stores existing content again, because retention counts from the latest event that names it.
        const stored = await objects.put(sha256, about, Readable.from([Buffer.from(content)]));
        if (stored.sha256 !== sha256)
          throw new Error(`the store returned ${stored.sha256} instead of ${sha256}`);
      } catch (error) {
        throw unavailable(error);
      }
      return { uri: artifactUriOf(sha256), sha256, bytes: content.length, mediaType, name };
    },
    fetch: async ({ sha256, uri }) => {
      const pieces: Uint8Array[] = [];
      try {
        for await (const piece of objects.read(sha256)) pieces.push(piece);
      } catch (error) {
        throw unavailable(error);
      }
      const content = Buffer.concat(pieces);
      if (sha256Of(content) === sha256) return content;
      throw new HoldpointError('EXECUTOR_UNKNOWN_ARTIFACT', `${uri} no longer exists`);
    },
  };
};
