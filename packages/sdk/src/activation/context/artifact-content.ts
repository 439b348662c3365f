import type { Json } from '@holdpoint/contracts/values/json';
import type { ArtifactOptions } from '../../definition/context.ts';
import { toJson } from './json-value.ts';

/** The bytes and media type of an artifact. Throws `PROGRAM_OUTPUT_INVALID` for values that are not JSON. */
export const artifactContent = (
  content: string | Uint8Array | Json,
  { mediaType }: ArtifactOptions = {},
): { readonly bytes: Uint8Array; readonly mediaType: string } => {
  if (typeof content === 'string')
    return { bytes: Buffer.from(content), mediaType: mediaType ?? 'text/plain; charset=utf-8' };
  if (content instanceof Uint8Array)
    return { bytes: content, mediaType: mediaType ?? 'application/octet-stream' };
  const json = toJson(content, { code: 'PROGRAM_OUTPUT_INVALID', what: 'artifact' });
  return { bytes: Buffer.from(JSON.stringify(json)), mediaType: mediaType ?? 'application/json' };
};
