import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { beginWork } from '../../../testing/interrupted-work.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { commandEnv } from './command-env.ts';
import { processEntry } from './process-table.ts';
import { runCommand, scriptArgv } from './run-command.ts';
import { createProcessRecords, type WorkOf } from './process-records.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
/** What a test has started and not ended. */
const killing: (() => Promise<void>)[] = [];
beforeEach(async () => {
  scratch = await scratchFolder();
});
afterEach(async () => {
  await createProcessRecords(scratch.path).endAll();
  for (const kill of killing.splice(0)) await kill();
  await scratch.remove();
});

const work: WorkOf = { effectId: 'e-1', repository: '/r', task: 't-1', node: 'agent', attempt: 1 };
const pidIn = (file: string): number => Number(readFileSync(join(scratch.path, file), 'utf8'));
const lives = async (pid: number): Promise<boolean> => (await processEntry(pid))?.gone === false;
const written = (file: string): Promise<number> =>
  vi.waitFor(
    () => {
      const pid = pidIn(file);
      if (!(pid > 0)) throw new Error(`${file} is not written yet`);
      return pid;
    },
    { timeout: 30_000 },
  );
const recorded = (): readonly string[] => readdirSync(join(scratch.path, 'work'));

/** A command that outlives its killed executor. */
const interrupted = async (of: WorkOf, script: string, file = 'pid'): Promise<number> => {
  const executor = beginWork(scratch.path, of, scratch.path, script);
  killing.push(executor.kill);
  const pid = await written(file);
  await executor.kill();
  expect(await lives(pid)).toBe(true);
  return pid;
};

describe('leftovers of a killed executor', () => {
  test('processes of an effect end before the same effect begins again', async () => {
    const pid = await interrupted(work, 'sleep 300 & echo $! > child; echo $$ > pid; wait');
    const child = pidIn('child');
    expect(recorded()).toHaveLength(1);
    expect(await createProcessRecords(scratch.path).endLeftovers(work)).toBeGreaterThan(0);
    expect(await lives(pid)).toBe(false);
    expect(await lives(child)).toBe(false);
    expect(recorded()).toEqual([]);
  });

  test('the rest of a group ends although its first process has ended', async () => {
    await interrupted(work, 'trap "" HUP; sleep 300 & echo $! > pid; wait');
    const pid = pidIn('pid');
    const group = (await processEntry(pid))?.group ?? 0;
    process.kill(group, 'SIGKILL');
    await vi.waitFor(async () => expect(await lives(group)).toBe(false), { timeout: 30_000 });
    await createProcessRecords(scratch.path).endLeftovers(work);
    expect(await lives(pid)).toBe(false);
  });

  test('processes that left the group end as well', async () => {
    const pid = await interrupted(work, "setsid sh -c 'echo $$ > pid; exec sleep 300' & wait");
    await createProcessRecords(scratch.path).endLeftovers(work);
    expect(await lives(pid)).toBe(false);
  });

  test('processes of an earlier attempt at the same node of the same repository end as well', async () => {
    const pid = await interrupted(work, 'echo $$ > pid; sleep 300');
    const records = createProcessRecords(scratch.path);
    const later = { ...work, effectId: 'e-2', attempt: 2 };
    expect(await records.endLeftovers({ ...later, node: 'other' })).toBe(0);
    expect(await records.endLeftovers({ ...later, task: 't-2' })).toBe(0);
    expect(await records.endLeftovers({ ...later, repository: '/other' })).toBe(0);
    expect(await lives(pid)).toBe(true);
    expect(await records.endLeftovers(later)).toBe(1);
    expect(await lives(pid)).toBe(false);
  });

  test('the next executor ends all leftovers when it starts', async () => {
    const one = await interrupted(work, 'echo $$ > one; sleep 300', 'one');
    const two = await interrupted({ ...work, effectId: 'e-2', node: 'b' }, 'echo $$ > two; sleep 300', 'two');
    await createProcessRecords(scratch.path).endAll();
    expect([await lives(one), await lives(two)]).toEqual([false, false]);
    expect(recorded()).toEqual([]);
  });

  test('processes of a living neighbour are left alone, and end once it is gone', async () => {
    const beside = beginWork(scratch.path, work, scratch.path, 'echo $$ > pid; sleep 300');
    killing.push(beside.kill);
    const pid = await written('pid');
    expect(await createProcessRecords(scratch.path).endAll()).toBe(0);
    expect(await lives(pid)).toBe(true);
    expect(recorded()).toHaveLength(1);
    await beside.kill();
    await createProcessRecords(scratch.path).endAll();
    expect(await lives(pid)).toBe(false);
  });

  test('processes that left their group are left alone while their executor lives', async () => {
    const beside = beginWork(scratch.path, work, scratch.path, 'setsid sleep 300 & echo $! > away; wait');
    killing.push(beside.kill);
    const pid = await written('away');
    expect(await createProcessRecords(scratch.path).endAll()).toBe(0);
    expect(await lives(pid)).toBe(true);
    await beside.kill();
    await createProcessRecords(scratch.path).endAll();
    expect(await lives(pid)).toBe(false);
  });

  test('an executor with another state folder ends none of them', async () => {
    const pid = await interrupted(work, 'echo $$ > pid; sleep 300');
    const elsewhere = join(scratch.path, 'elsewhere');
    mkdirSync(elsewhere);
    expect(await createProcessRecords(elsewhere).endLeftovers(work)).toBe(0);
    expect(await createProcessRecords(elsewhere).endAll()).toBe(0);
    expect(await lives(pid)).toBe(true);
  });
});

describe('process records', () => {
  test('a reused process number is not killed', async () => {
    const pid = await interrupted(work, 'echo $$ > pid; sleep 300');
    const [name = ''] = recorded();
    const path = join(scratch.path, 'work', name);
    const record = readFileSync(path, 'utf8');
    const stranger = { ...work, effectId: 'e-9', node: 'stranger' };
    const of = (change: object): string => {
      const parsed = JSON.parse(record) as { group: object };
      return JSON.stringify({ ...parsed, ...stranger, group: { ...parsed.group, ...change } });
    };
    for (const change of [{ start: '1' }, { boot: 'another start of the machine' }]) {
      writeFileSync(join(scratch.path, 'work', 'e-9.1.json'), of(change));
      expect(await createProcessRecords(scratch.path).endLeftovers(stranger)).toBe(0);
      expect(await lives(pid)).toBe(true);
    }
  });

  test('a command for another item of the same node is left alone', async () => {
    const records = createProcessRecords(scratch.path);
    const running = runCommand({
      argv: scriptArgv('echo $$ > pid; until [ -e end ]; do sleep 0.02; done'),
      cwd: scratch.path,
      env: { ...commandEnv({ PATH: process.env['PATH'] }), ...records.markOf(work) },
      began: (group) => records.began(work, group),
    });
    const pid = await written('pid');
    expect(await records.endLeftovers({ ...work, effectId: 'e-2' })).toBe(0);
    expect(await lives(pid)).toBe(true);
    writeFileSync(join(scratch.path, 'end'), '');
    expect(await running).toMatchObject({ exitCode: 0 });
    await records.ended(work, pid);
    expect(recorded()).toEqual([]);
  });
});
