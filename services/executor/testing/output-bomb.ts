import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const path = (file: string): string => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)));

const program = (script: string): string =>
  `import { runCommand, scriptArgv } from ${path('../src/adapters/process/run-command.ts')};
   import { createMatcher } from ${path('../src/adapters/secrets/matcher.ts')};
   import { hideStream } from ${path('../src/adapters/secrets/hide-stream.ts')};
   let longest = 0;
   const result = await runCommand({
     argv: scriptArgv(${JSON.stringify(script)}),
     cwd: '/',
     env: { PATH: process.env.PATH },
     hidden: () => hideStream(createMatcher(['one-secret-of-this-start', 'b25lLXNlY3JldC1vZg'])),
     onLine: (_stream, line) => { longest = Math.max(longest, line.length); },
   });
   const { exitCode, truncated, stdout } = result;
   // In KiB, and of this process alone.
   const peakMib = process.resourceUsage().maxRSS / 1024;
   console.log(JSON.stringify({ exitCode, truncated, kept: stdout.length, longest, peakMib }));`;

export type Survived = {
  readonly exitCode: number;
  readonly truncated: boolean;
  readonly kept: number;
  readonly longest: number;
  readonly peakMib: number;
};

/** Runs a script in a separate executor process; returns the kept output and the peak memory. */
export const survive = async (script: string): Promise<Survived> => {
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', program(script)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  await once(child, 'close');
  return JSON.parse(text) as Survived;
};
