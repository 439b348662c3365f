import { artifactUriOf, type StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { StepResult } from '@holdpoint/contracts/task/step';
import { describe, expect, test } from 'vitest';
import {
  cut,
  fits,
  fitting,
  fittingError,
  OUTPUTS_MAX_BYTES,
  RESULT_MAX_BYTES,
  withLog,
} from './fit-outputs.ts';

const STAGE = 'cap.agent.invoke';
const OTHER = 'cap.http.request';
const sha256 = 'a'.repeat(64);
const artifact: StoredArtifact = {
  uri: artifactUriOf(sha256),
  sha256,
  bytes: 1,
  mediaType: 'application/json',
  name: 'build.1.run.outputs.json',
};
const bytesOf = (value: JsonObject): number => Buffer.byteLength(JSON.stringify(value));

describe('large outputs', () => {
  test('outputs up to a quarter of a message stay in the message', () => {
    expect([fits(OTHER, OUTPUTS_MAX_BYTES), fits(OTHER, OUTPUTS_MAX_BYTES + 1)]).toEqual([true, false]);
    expect([fits(STAGE, RESULT_MAX_BYTES), fits(STAGE, RESULT_MAX_BYTES + 1)]).toEqual([true, false]);
  });

  test('outputs that are too large name the artifact and keep their small fields', () => {
    const outputs = { status: 200, body: 'ü'.repeat(OUTPUTS_MAX_BYTES), headers: { a: 'b' } };
    expect(fitting(OTHER, outputs, artifact)).toEqual({
      status: 200,
      headers: { a: 'b' },
      truncated: true,
      artifact,
    });
  });

  test('outputs of thousands of small fields are shortened, and say so when the artifact could not be kept', () => {
    const many = Object.fromEntries(
      Array.from({ length: 9_000 }, (_, i) => [`f${String(i)}`, 'x'.repeat(99)]),
    );
    const fitted = fitting(OTHER, many, undefined);
    expect(bytesOf(fitted)).toBeLessThan(32_768);
    expect(fitted).toMatchObject({ f0: 'x'.repeat(99), truncated: true });
    expect(fitted).not.toHaveProperty('artifact');
  });

  test('outputs name the log of their start unless they have their own', () => {
    expect(withLog({ a: 1 }, artifact)).toEqual({ a: 1, log: artifact });
    expect(withLog({ log: 'mine' }, artifact)).toEqual({ log: 'mine' });
    expect(withLog({ a: 1 }, undefined)).toEqual({ a: 1 });
  });
});

describe('large results of a stage', () => {
  const text = (kib: number): JsonObject => ({ text: 'x'.repeat(kib * 1_024) });

  test('a result loses its largest parts first, and no more than necessary', () => {
    const result = { outcome: 'succeeded', exitCode: 0, payloads: { large: text(500), small: text(100) } };
    const fitted = fitting(STAGE, result, artifact);
    expect(fitted).toEqual({
      ...result,
      payloads: { large: { truncated: true, artifact }, small: text(100) },
    });
  });

  test('a shortened result is still a valid result', () => {
    const payloads = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, i) => [`custom:text:${String(i)}`, { text: 'y'.repeat(30) }]),
    );
    const result = { outcome: 'failed', outputs: text(600), payloads, hint: 'h'.repeat(60_000) };
    const fitted = fitting(STAGE, result, artifact);
    expect(StepResult.safeParse(fitted).success).toBe(true);
    expect(bytesOf(fitted)).toBeLessThanOrEqual(RESULT_MAX_BYTES);
    expect(fitted).toMatchObject({ outcome: 'failed', outputs: { truncated: true, artifact } });
  });
});

test('an error with a long message is cut', () => {
  const { message, details } = fittingError({
    code: 'EXECUTOR_TARGET_REFUSED',
    message: 'no '.repeat(10_000),
    details: { body: 'z'.repeat(100_000) },
  });
  expect(message.length).toBeLessThan(8_200);
  expect(details).toBeUndefined();
  expect(cut('short')).toBe('short');
});
