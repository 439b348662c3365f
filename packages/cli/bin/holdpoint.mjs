#!/usr/bin/env node
// Plain JavaScript for any Node.js that can read a module: hands over to the Node.js 24 that was installed with the workspace
// when the one that runs this is older. A link to this file may stand on the PATH.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

const NODE_MIN = 24;
const INTERRUPTS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
const root = pathOf('../../../');
const main = pathOf('../../../infra/release/holdpoint.ts');
const ownNode = pathOf('../../../node_modules/node/bin/node');

const fail = (line) => {
  process.stderr.write(`error CLI_NOT_INSTALLED: ${line}\n`);
  process.exit(1);
};

const handOver = () => {
  const child = spawn(ownNode, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  // Ctrl-C reaches both processes, other signals maybe only this one: forward them to the command.
  for (const signal of INTERRUPTS) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => fail(`Node.js ${NODE_MIN} could not be started: ${error.message}`));
  child.once('close', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
};

if (!existsSync(pathOf('../node_modules')))
  fail(`install Holdpoint first: run \`npm run holdpoint\` once in ${root}`);
else if (Number(process.versions.node.split('.')[0]) >= NODE_MIN)
  await import('../../../infra/release/holdpoint.ts');
else if (existsSync(ownNode)) handOver();
else
  fail(
    `Node.js ${NODE_MIN} is needed, this is ${process.version}: run \`npm run holdpoint\` once in ${root}`,
  );
