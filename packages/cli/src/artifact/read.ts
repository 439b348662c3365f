import { createHash } from 'node:crypto';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import {
  ARTIFACT_RANGE_MAX_BYTES,
  type ArtifactUri,
  sha256In,
} from '@holdpoint/contracts/effect/stored-artifact';
import type { Client } from '../bus/client.ts';

/** The executor may fetch the whole artifact before it returns the first part. */
const PART_TIMEOUT_MS = 60_000;

/** Streams an artifact part by part. Throws at the end if the digest does not match. */
export const readArtifact = async (
  client: Pick<Client, 'call'>,
  uri: ArtifactUri,
  onPart: (bytes: Buffer) => void,
): Promise<void> => {
  const hash = createHash('sha256');
  const limit = ARTIFACT_RANGE_MAX_BYTES;
  for (let offset = 0; ;) {
    const request = { uri, offset, limit };
    const { artifact, data = '' } = await client.call('executor', 'artifact', request, {
      timeoutMs: PART_TIMEOUT_MS,
    });
    const part = Buffer.from(data, 'base64');
    hash.update(part);
    if (part.length > 0) onPart(part);
    offset += part.length;
    if (part.length < limit || offset >= artifact.bytes) break;
  }
  if (hash.digest('hex') !== sha256In(uri))
    throw new HoldpointError(
      'EXECUTOR_UNKNOWN_ARTIFACT',
      `content does not match ${uri}: the digest differs`,
    );
};
