import assert from 'node:assert/strict';
import { ERRORS, type ErrorBody, HoldpointError, toErrorBody } from '@holdpoint/contracts/values/errors';
import { canonicalJson } from '@holdpoint/contracts/values/json';

/** Stands for a secret: it must not appear in outputs. */
export const CANARY = 'hpt_canary0123456789';

/** The size limit of errors, which go to callers, logs and dead letters. */
const ERROR_MAX = 32_768;

/** An error has a stable code and a bounded size. */
export const keepsErrorSmall = (error: ErrorBody): void => {
  assert.ok(Object.keys(ERRORS).includes(error.code));
  assert.ok(Buffer.byteLength(JSON.stringify(error)) < ERROR_MAX);
};

/** The error of a refusal: a code and no input values. Other errors are thrown again. */
export const refusalOf = (error: unknown): ErrorBody => {
  if (!(error instanceof HoldpointError)) throw error;
  const body = toErrorBody(error);
  keepsErrorSmall(body);
  assert.ok(!JSON.stringify(body).includes(CANARY));
  return body;
};

/** A value after a round trip through storage. */
export const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

/** No NUL and no half surrogate in any text or name: PostgreSQL and RFC 8785 forbid both. */
export const isStorable = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner));
};

/** The nesting depth. Unbounded depth would overflow the stack here too. */
export const levelsOf = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : 1 + Object.values(value).reduce((most: number, inner) => Math.max(most, levelsOf(inner)), 0);

/** Equal values, ignoring the order of keys, with -0 equal to 0. */
export const sameJson = (one: unknown, other: unknown): boolean =>
  canonicalJson(stored(one)) === canonicalJson(stored(other));

/** No input has changed an inherited property. */
export const keepsPrototypesClean = (): void => {
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
};
