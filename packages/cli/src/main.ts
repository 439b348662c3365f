#!/usr/bin/env node
import { createClient } from './client.ts';
import { runProgram } from './program.ts';
import { readSettings } from './settings.ts';

// Whoever reads the output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

process.exitCode = await runProgram(process.argv.slice(2), {
  connect: async () => createClient(readSettings(process.env, process.cwd())),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  now: () => Date.now(),
});
