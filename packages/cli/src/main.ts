#!/usr/bin/env node
import { readSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { createClient } from './bus/client.ts';
import type { Host } from './host/commands.ts';
import { namedClient } from './bus/named-client.ts';
import { runProgram } from './program.ts';
import { readSettings } from './bus/settings.ts';
import { allowLostOutput } from './kit/sinks.ts';
import { findTerminal } from './kit/terminal.ts';

const INPUT_GAP_MS = 20;

/** The user of a process can have no name. */
const userName = (): string | undefined => {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
};

/** Ctrl-D ends typed input; an empty pipe is polled. */
const readInput = (into: Buffer): number => {
  for (;;) {
    try {
      return readSync(0, into);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, INPUT_GAP_MS);
    }
  }
};

/** Runs the command line of this process; with a host it can also start services. */
export const main = async (host?: Host): Promise<void> => {
  const { npm_lifecycle_event: script, INIT_CWD: before, XDG_CONFIG_HOME: config, HOME: home } = process.env;
  /** `npm run holdpoint` changes to the clone; use the directory of the user instead. */
  const directory = script === 'holdpoint' && before ? before : process.cwd();
  const settings = config || (home ? join(home, '.config') : undefined);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    allowLostOutput(error);
    process.exit(0);
  });
  process.exitCode = await runProgram(process.argv.slice(2), {
    connect: async () =>
      namedClient(await createClient(readSettings(process.env, process.cwd())), userName()),
    out: (text) => void process.stdout.write(text),
    outBytes: (data) => void process.stdout.write(data),
    err: (text) => void process.stderr.write(text),
    in: readInput,
    now: () => Date.now(),
    directory,
    globalWorkflows: settings === undefined ? undefined : join(settings, 'holdpoint', 'workflows'),
    terminal: findTerminal(process.env),
    host,
  });
};

if (import.meta.main) await main();
