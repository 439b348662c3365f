import assert from 'node:assert/strict';
import { ERRORS, type ErrorBody, HoldpointError, toErrorBody } from '@holdpoint/contracts/values/errors';
import { canonicalJson } from '@holdpoint/contracts/values/json';

/** Stands for a secret: it may go in, and must not come out where strangers look. */
export const CANARY = 'hpt_canary0123456789';

/** More than this of an error helps nobody. It goes to callers, into logs and into dead letters. */
const ERROR_MAX = 32_768;

/** An error as callers and dead letters show it: a stable code, of bounded size. */
export const keepsErrorSmall = (error: ErrorBody): void => {
  assert.ok(Object.keys(ERRORS).includes(error.code));
  assert.ok(Buffer.byteLength(JSON.stringify(error)) < ERROR_MAX);
};

/** Whoever cannot read a message says so with a code, and repeats none of its values; anything else is thrown on. */
export const refusalOf = (error: unknown): ErrorBody => {
  if (!(error instanceof HoldpointError)) throw error;
  const body = toErrorBody(error);
  keepsErrorSmall(body);
  assert.ok(!JSON.stringify(body).includes(CANARY));
  return body;
};

/** A value as it comes back from whoever stores it. */
export const stored = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

/** Neither NUL nor half of a character, in no text and in no name: PostgreSQL and RFC 8785 take neither. */
export const isStorable = (value: unknown): boolean => {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.entries(value).every(([key, inner]) => isStorable(key) && isStorable(inner));
};

/** How deep a value is nested: one that nobody has bounded would exhaust the stack of whoever walks it, here as well. */
export const levelsOf = (value: unknown): number =>
  typeof value !== 'object' || value === null
    ? 0
    : 1 + Object.values(value).reduce((most: number, inner) => Math.max(most, levelsOf(inner)), 0);

/** The same value, whatever the order of its keys, and with -0 as the 0 that it is stored as. */
export const sameJson = (one: unknown, other: unknown): boolean =>
  canonicalJson(stored(one)) === canonicalJson(stored(other));

/** Nothing that came in has reached what every object inherits. */
export const keepsPrototypesClean = (): void => {
  assert.deepEqual(Object.keys(Object.prototype), []);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
};
