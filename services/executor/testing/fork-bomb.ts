import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const path = (file: string): string => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)));

/** An unprivileged user: root ignores process limits. */
const NOBODY = 54_321;

const program = (script: string, processes: number): string =>
  `import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
   import { tmpdir } from 'node:os';
   import { join } from 'node:path';
   import { createConfinement } from ${path('../src/adapters/process/create-confinement.ts')};
   import { livingProcesses } from ${path('../src/adapters/process/process-table.ts')};
   import { runCommand, scriptArgv } from ${path('../src/adapters/process/run-command.ts')};
   const env = { PATH: process.env.PATH };
   const state = mkdtempSync(join(tmpdir(), 'holdpoint-bomb-'));
   const ofUser = (pid) => {
     try {
       return statSync('/proc/' + pid).uid === process.getuid() ? readdirSync('/proc/' + pid + '/task').length : 0;
     } catch { return 0; }
   };
   const count = () => readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).reduce((sum, pid) => sum + ofUser(pid), 0);
   // Where there is no user namespace, all that runs for this user counts.
   const before = count();
   const { confinement } = await createConfinement({
     limits: { processes: before + ${String(processes)} }, env, state, network: false, hidden: [], shown: [], writable: [],
   });
   let most = 0;
   const watching = setInterval(() => { most = Math.max(most, count()); }, 50);
   let group;
   const began = async (started) => { group = started; };
   const { timedOut, stderr } = await runCommand({
     argv: scriptArgv(${JSON.stringify(script)}), cwd: '/', env, confinement, timeoutMs: 3000, graceMs: 200, began,
   });
   clearInterval(watching);
   rmSync(state, { recursive: true });
   const left = (await livingProcesses()).filter((entry) => entry.group === group).length;
   console.log(JSON.stringify({ timedOut, stderr, most: most - before, left }));`;

export type Bounded = {
  readonly timedOut: boolean;
  readonly stderr: string;
  /** Processes and threads, beside those that were there before. */
  readonly most: number;
  /** Of the command, when it was over. */
  readonly left: number;
};

/** Runs a fork bomb in a separate executor process, and returns its result. */
export const forkWithin = async (script: string, processes: number): Promise<Bounded> => {
  const child = spawn(
    process.execPath,
    ['--no-warnings', '--input-type=module', '--eval', program(script, processes)],
    {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(process.getuid?.() === 0 && { uid: NOBODY, gid: NOBODY }),
    },
  );
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  await once(child, 'close');
  return JSON.parse(text) as Bounded;
};
