import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const LOCK = fileURLToPath(new URL('../src/adapters/files/file-lock.ts', import.meta.url));

const program = (path: string): string =>
  `import { openLock } from ${JSON.stringify(LOCK)};
   if (!openLock(${JSON.stringify(path)}).tryAcquire()) process.exit(1);
   process.stdout.write('held');
   setInterval(() => undefined, 1_000);`;

/** Another process that holds the lock of a file until it is ended. */
export const holdLock = async (
  path: string,
): Promise<{ readonly process: ChildProcess; readonly kill: () => Promise<void> }> => {
  const holder = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program(path)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'exit');
  const held = await Promise.race([once(holder.stdout, 'data').then(() => true), ended.then(() => false)]);
  if (!held) throw new Error('the lock could not be taken');
  return {
    process: holder,
    kill: async () => {
      holder.kill('SIGKILL');
      await ended;
    },
  };
};
