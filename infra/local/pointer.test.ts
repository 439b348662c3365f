import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { commandOf } from './process/pid.ts';
import { pointHere } from './pointer.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdpoint-pointer-'));
});
afterEach(() => rm(root, { recursive: true }));

const said: string[] = [];
const point = (dataDir: string) => pointHere({ HOME: root }, join(root, dataDir), (line) => said.push(line));
const pointer = () => join(root, '.local/state/holdpoint/running');

describe('the pointer of a start for commands in other folders', () => {
  test('a start writes a pointer for its user only, and removes it at the end', async () => {
    const unpoint = await point('one');
    expect(await readFile(pointer(), 'utf8')).toBe(`${join(root, 'one/running.json')}\n`);
    expect((await stat(pointer())).mode & 0o777).toBe(0o600);
    await unpoint();
    await expect(stat(pointer())).rejects.toThrow('ENOENT');
  });

  test('a start does not replace the pointer of another running start', async () => {
    await mkdir(join(root, 'one'));
    const running = { pid: process.pid, command: await commandOf(process.pid), startedAt: 'now' };
    await writeFile(join(root, 'one/running.json'), JSON.stringify(running));
    await point('one');
    await (
      await point('two')
    )();
    expect(await readFile(pointer(), 'utf8')).toContain('/one/running.json');
    expect(said.at(-1)).toContain(`set HOLDPOINT_RUNNING=${join(root, 'two/running.json')}`);
  });

  test('a start replaces the pointer of an ended start, which then removes nothing', async () => {
    const first = await point('one');
    await point('two');
    await first();
    expect(await readFile(pointer(), 'utf8')).toContain('/two/running.json');
  });

  test('a start continues if it cannot write the pointer', async () => {
    await writeFile(join(root, '.local'), 'a file');
    await (
      await point('one')
    )();
    expect(said.at(-1)).toContain('will not find this start');
  });
});
