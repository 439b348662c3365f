import { REMOTE_OUTPUTS_MAX_BYTES } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { parseAs, parseJson } from '@holdpoint/runtime/engine/inbound';

/** The largest outputs of a remote effect, and the fields around them. */
export const BODY_MAX_BYTES = REMOTE_OUTPUTS_MAX_BYTES + 16_384;

const tooLarge = (): HoldpointError =>
  new HoldpointError('CONTRACT_PAYLOAD_TOO_LARGE', `the body is larger than ${String(BODY_MAX_BYTES)} bytes`);

/** Stops at the limit, also if `content-length` claims less. */
const bytesOf = async ({ body, headers }: Request): Promise<Uint8Array> => {
  if (Number(headers.get('content-length') ?? 0) > BODY_MAX_BYTES) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > BODY_MAX_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** The JSON object in the body; empty without a body. Throws `CONTRACT_*`. */
export const readBody = async (request: Request): Promise<JsonObject> => {
  const bytes = await bytesOf(request);
  return bytes.byteLength === 0 ? {} : parseAs(JsonObject, parseJson(bytes));
};
