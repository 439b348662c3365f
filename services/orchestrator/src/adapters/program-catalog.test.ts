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
/** A table that says how often it was read. */
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

describe('a name', () => {
  test('that another replica has registered is found by one that has read nothing so far', async () => {
    const { lookUp } = catalog();
    const { pool, reads } = tableOf(row);
    expect(await lookUp(pool, submission('reply'))).toEqual({ ...submission('reply'), program });
    expect(await lookUp(pool, submission('reply@1'))).toMatchObject({ program });
    expect(reads()).toBe(1);
  });

  test('that nobody has registered stays as it is', async () => {
    const { pool } = tableOf(row);
    expect(await catalog().lookUp(pool, submission('nobody'))).toEqual(submission('nobody'));
  });

  test('is not looked for where a program is brought along', async () => {
    const { pool, reads } = tableOf(row);
    const whole = { ...submission('other'), program };
    expect(await catalog().lookUp(pool, whole)).toEqual(whole);
    expect(reads()).toBe(0);
  });

  test("over the bus is nobody's only once all has been read that was there when it came", async () => {
    const { isCertain, lookUp } = catalog();
    const { pool } = tableOf(row);
    const reading = lookUp(pool, submission('other'));
    // This reading may have passed the place where it was registered meanwhile.
    expect(isCertain(submission('nobody'))).toBe(false);
    await reading;
    expect(isCertain(submission('nobody'))).toBe(false);
    await lookUp(pool, submission('other'));
    expect(isCertain(submission('nobody'))).toBe(true);
    expect(isCertain(submission('reply'))).toBe(true);
    expect(isCertain({ ...submission('whole'), program })).toBe(true);
  });

  test("that was nobody's is looked for anew when it comes again", async () => {
    const { isCertain, lookUp } = catalog();
    const { pool } = tableOf(row);
    expect(isCertain(submission('nobody'))).toBe(false);
    await lookUp(pool, submission('other'));
    expect(isCertain(submission('nobody'))).toBe(true);
    expect(isCertain(submission('nobody'))).toBe(false);
  });
});
