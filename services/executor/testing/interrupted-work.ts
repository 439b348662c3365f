import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Confinement } from '../src/adapters/process/confinement.ts';
import type { WorkOf } from '../src/adapters/process/process-records.ts';

const pathOf = (file: string): string => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)));

const program = (
  stateDir: string,
  work: WorkOf,
  cwd: string,
  script: string,
  confinement: Confinement | undefined,
): string =>
  `import { createProcessRecords } from ${pathOf('../src/adapters/process/process-records.ts')};
   import { runCommand, scriptArgv } from ${pathOf('../src/adapters/process/run-command.ts')};
   const work = ${JSON.stringify(work)};
   const records = createProcessRecords(${JSON.stringify(stateDir)});
   await runCommand({
     argv: scriptArgv(${JSON.stringify(script)}),
     cwd: ${JSON.stringify(cwd)},
     env: { PATH: process.env.PATH, ...records.markOf(work) },
     confinement: ${JSON.stringify(confinement) ?? 'undefined'},
     access: { write: [${JSON.stringify(cwd)}] },
     began: (group) => records.began(work, group),
   });`;

/** A second executor with a running command, to be killed. */
export const beginWork = (
  stateDir: string,
  work: WorkOf,
  cwd: string,
  script: string,
  confinement?: Confinement,
) => {
  const executor: ChildProcess = spawn(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', program(stateDir, work, cwd, script, confinement)],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const ended = once(executor, 'exit');
  return {
    kill: async (): Promise<void> => {
      executor.kill('SIGKILL');
      await ended;
    },
  };
};
