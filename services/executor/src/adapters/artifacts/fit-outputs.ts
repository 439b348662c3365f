import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';

/** Larger outputs become an artifact. A message can carry four times as much, and several outputs. */
export const OUTPUTS_MAX_BYTES = 256 * 1_024;
/** The same for stage results: other nodes work with their payloads. */
export const RESULT_MAX_BYTES = 512 * 1_024;

/** Fields up to this size stay in a shortened object. */
const FIELD_MAX_BYTES = 1_024;
const FIELDS_MAX_BYTES = 16 * 1_024;
const MESSAGE_MAX = 8_192;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

const isStage = (uses: string): boolean => CAPABILITIES[uses]?.stage === true;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const smallFields = (value: JsonObject): JsonObject => {
  const small: Record<string, Json> = {};
  let room = FIELDS_MAX_BYTES;
  for (const [name, field] of Object.entries(value)) {
    const bytes = bytesOf(field) + Buffer.byteLength(name);
    if (bytes > FIELD_MAX_BYTES || bytes > room) continue;
    small[name] = field;
    room -= bytes;
  }
  return small;
};

/** Replaces an object that is too large. Without an artifact there was no room to keep it. */
const shortened = (value: JsonObject, artifact: StoredArtifact | undefined): JsonObject => ({
  ...smallFields(value),
  truncated: true,
  ...(artifact !== undefined && { artifact }),
});

export const fits = (uses: string, bytes: number): boolean =>
  bytes <= (isStage(uses) ? RESULT_MAX_BYTES : OUTPUTS_MAX_BYTES);

/** The parts of a result that may be large, largest first. */
const partsOf = (result: JsonObject): readonly (readonly [string, string | undefined, number])[] => {
  const { outputs, payloads } = result;
  const named = isObject(payloads) ? Object.entries(payloads) : [];
  return [
    ['outputs', undefined, bytesOf(outputs ?? {})] as const,
    ...named.map(([name, payload]) => ['payloads', name, bytesOf(payload)] as const),
  ].toSorted((a, b) => b[2] - a[2]);
};

/** Replacing a smaller part would save nothing. */
const PART_MIN_BYTES = FIELDS_MAX_BYTES + 2 * FIELD_MAX_BYTES;

const fittingResult = (result: JsonObject, artifact: StoredArtifact | undefined): JsonObject => {
  const { outputs, payloads, ...rest } = result;
  const fitting: Record<string, Json> = isObject(payloads) ? { ...payloads } : {};
  let kept = outputs;
  let left = bytesOf(result) - RESULT_MAX_BYTES;
  for (const [part, name, bytes] of partsOf(result)) {
    if (left <= 0 || bytes < PART_MIN_BYTES) break;
    const whole = part === 'outputs' ? outputs : fitting[name ?? ''];
    const short = isObject(whole) ? shortened(whole, artifact) : { truncated: true };
    if (part === 'outputs') kept = short;
    else fitting[name ?? ''] = short;
    left -= bytes - bytesOf(short);
  }
  return {
    ...rest,
    ...(kept !== undefined && { outputs: kept }),
    // Left over when a result has thousands of small payloads.
    ...(payloads !== undefined && left <= 0 && { payloads: fitting }),
  };
};

/** Shortens outputs until they fit into a message; `artifact` holds the whole. */
export const fitting = (
  uses: string,
  outputs: JsonObject,
  artifact: StoredArtifact | undefined,
): JsonObject => (isStage(uses) ? fittingResult(outputs, artifact) : shortened(outputs, artifact));

/** Adds the log of the start, unless the outputs name one. */
export const withLog = (outputs: JsonObject, log: StoredArtifact | undefined): JsonObject =>
  log === undefined || Object.hasOwn(outputs, 'log') ? outputs : { ...outputs, log };

export const cut = (text: string): string =>
  text.length <= MESSAGE_MAX ? text : `${text.slice(0, MESSAGE_MAX).toWellFormed()}…`;

/** Shortens an error until it fits into a message. */
export const fittingError = ({ code, message, details }: ErrorBody): ErrorBody => ({
  code,
  message: cut(message),
  ...(details !== undefined && bytesOf(details) <= FIELDS_MAX_BYTES && { details }),
});
