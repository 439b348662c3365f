import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { createProgramCatalog } from './program-catalog.ts';

const program: ProgramDefinition = {
  id: 'reply',
  version: '1',
  code: 'a'.repeat(64),
  initial: 'done' as NodeId,
  phases: [{ type: 'terminal', id: 'done' as NodeId, outcome: 'succeeded' }],
};
const row = {
  hash: 'b'.repeat(40),
  id: program.id,
  version: program.version,
  definition: program,
  place: '1',
  registeredAt: '1',
};
/** A table that counts its readings. */
const tableOf = (...rows: readonly unknown[]) => {
  let reads = 0;
  const query = (): Promise<unknown> => {
    reads += 1;
    return Promise.resolve({ rows });
  };
  return { pool: { query } as unknown as Pool, reads: () => reads };
};
const catalog = () => createProgramCatalog({} as Logger);
const submission = (workflow: string) => ({ workflow, goal: 'reply' });

describe('a program name', () => {
  test('a fresh replica finds a program that another replica registered', async () => {
    const { lookUp } = catalog();
    const { pool, reads } = tableOf(row);
    expect(await lookUp(pool, submission('reply'))).toEqual({ ...submission('reply'), program });
    expect(await lookUp(pool, submission('reply@1'))).toMatchObject({ program });
    expect(reads()).toBe(1);
  });

  test('an unknown name leaves the submission unchanged', async () => {
    const { pool } = tableOf(row);
    expect(await catalog().lookUp(pool, submission('nobody'))).toEqual(submission('nobody'));
  });

  test('a submission with its own program needs no lookup', async () => {
    const { pool, reads } = tableOf(row);
    const whole = { ...submission('other'), program };
    expect(await catalog().lookUp(pool, whole)).toEqual(whole);
    expect(reads()).toBe(0);
  });

  test('a bus submission is refused only after a complete reading that started later', async () => {
    const { isCertain, lookUp } = catalog();
    const { pool } = tableOf(row);
    const reading = lookUp(pool, submission('other'));
    // This reading may have passed the row before its commit.
    expect(isCertain(submission('nobody'))).toBe(false);
    await reading;
    expect(isCertain(submission('nobody'))).toBe(false);
    await lookUp(pool, submission('other'));
    expect(isCertain(submission('nobody'))).toBe(true);
    expect(isCertain(submission('reply'))).toBe(true);
    expect(isCertain({ ...submission('whole'), program })).toBe(true);
  });

  test('a repeated unknown name is looked up again', async () => {
    const { isCertain, lookUp } = catalog();
    const { pool } = tableOf(row);
    expect(isCertain(submission('nobody'))).toBe(false);
    await lookUp(pool, submission('other'));
    expect(isCertain(submission('nobody'))).toBe(true);
    expect(isCertain(submission('nobody'))).toBe(false);
  });
});
