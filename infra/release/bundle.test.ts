import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { starterOf } from './bundle.ts';

/** Runs a starter as the named release of Node.js. Its bundle has an import that no release can load. */
const startWith = (node: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-starter-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'bundle.mjs'), "import { fromTomorrow } from 'node:module';\n");
  const version = `Object.defineProperty(process, 'versions', { value: { node: '${node}' } });\n`;
  writeFileSync(join(folder, 'starter.mjs'), `${version}${starterOf('./bundle.mjs')}`);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'starter.mjs')], {
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test.each(['18.20.8', '20.20.2', '22.17.1'])(
  'a program of the packages refuses Node.js %s in one line, before it loads its bundle',
  (node) => {
    expect(startWith(node)).toEqual({
      status: 1,
      stdout: '',
      stderr: `error CLI_NODE_VERSION: this is Node.js ${node}: install Node.js 22.18 or later\n`,
    });
  },
);

test.each(['22.18.0', '23.0.0', '24.21.0'])(
  'a program of the packages loads its bundle on Node.js %s',
  (node) => {
    expect(startWith(node).stderr).toContain('fromTomorrow');
  },
);
