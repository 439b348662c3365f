import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '@holdpoint/infra/local/run';
import { expect, test } from 'vitest';
import { createRunFolder, removeRunFolder } from './run-folder.ts';

const canMount = process.platform === 'linux' && process.getuid?.() === 0;
if (!canMount)
  process.stderr.write('run-folder: no file system is mounted, because that needs root on Linux\n');

test.skipIf(!canMount)(
  'a run folder is removed with the file systems that a killed run left in it',
  async () => {
    const folder = await createRunFolder();
    const disk = join(folder, 'torture', 'disk');
    await mkdir(disk, { recursive: true });
    await run('mount', ['-t', 'tmpfs', 'tmpfs', disk], { timeoutMs: 10_000 });
    await mkdir(join(disk, 'data'));
    await writeFile(join(disk, 'data', 'left'), 'x');
    await removeRunFolder(folder);
    expect(existsSync(folder)).toBe(false);
  },
);
