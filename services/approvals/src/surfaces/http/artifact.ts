import { api } from '@holdpoint/contracts/catalog/api';
import { httpApi } from '@holdpoint/contracts/catalog/http-api';
import { ARTIFACT_RANGE_MAX_BYTES, artifactUriOf } from '@holdpoint/contracts/effect/stored-artifact';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Context } from 'hono';
import type { Env } from './api.ts';
import { requestOf } from './request.ts';

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** The first byte and the number of bytes of a range; undefined without one range. Throws `CONTRACT_RANGE_INVALID`. */
export const rangeOf = (
  header: string | undefined,
  bytes: number,
): { readonly from: number; readonly length: number } | undefined => {
  const [, first = '', last = ''] = RANGE.exec(header ?? '') ?? [];
  if (first === '' && last === '') return undefined;
  const from = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1);
  if (from < end) return { from, length: end - from };
  throw new HoldpointError(
    'CONTRACT_RANGE_INVALID',
    `the range is empty: the content has ${String(bytes)} bytes`,
  );
};

/** Answers with the content of an artifact, read part by part as the client takes it. */
export const answerArtifact = async (
  context: Context<Env>,
  ask: (request: object) => Promise<unknown>,
): Promise<Response> => {
  const { sha256 } = await requestOf({ method: 'GET' }, httpApi.artifact_content.request, context);
  const uri = artifactUriOf(sha256);
  const read = async (offset: number, limit: number) =>
    parseAs(api.executor.artifact.response, await ask({ uri, offset, limit }));
  const { artifact } = parseAs(api.executor.artifact.response, await ask({ uri }));
  const { bytes, mediaType } = artifact;
  const etag = `"${sha256}"`;
  context.header('etag', etag);
  context.header('accept-ranges', 'bytes');
  if (context.req.header('if-none-match') === etag) return context.body(null, 304);
  const range = rangeOf(context.req.header('range'), bytes);
  const { from, length } = range ?? { from: 0, length: bytes };
  if (range !== undefined)
    context.header('content-range', `bytes ${String(from)}-${String(from + length - 1)}/${String(bytes)}`);
  context.header('content-type', 'application/octet-stream');
  context.header('holdpoint-media-type', mediaType.replaceAll(/[^\x20-\x7e]/g, ''));
  context.header('content-disposition', 'attachment');
  context.header('content-length', String(length));
  if (context.req.method === 'HEAD') return context.body(null, range === undefined ? 200 : 206);
  let place = from;
  const end = from + length;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (place >= end) {
          controller.close();
          return;
        }
        const { data = '' } = await read(place, Math.min(ARTIFACT_RANGE_MAX_BYTES, end - place));
        const part = Buffer.from(data, 'base64');
        if (part.byteLength === 0) throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the content ended early');
        place += part.byteLength;
        controller.enqueue(new Uint8Array(part));
      },
    },
    { highWaterMark: 0 },
  );
  return context.body(body, range === undefined ? 200 : 206);
};
