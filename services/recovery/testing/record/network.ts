import { bin, type Case, type Cases } from './case.ts';

/** A closed port, and a name that RFC 6761 reserves. */
const CLOSED = 'http://127.0.0.1:1';
const NOWHERE = 'http://registry.invalid';
/** Replaced by the address of a server that answers 503, 404 or nothing, depending on the path. */
export const FAULTY = 'http://127.0.0.1:4873';

const networkCase = (
  name: string,
  run: Case['run'],
  {
    tool,
    files = {},
    env = {},
    failureClass = 'TRANSIENT',
    prepare = [],
  }: {
    readonly tool?: Case['tool'];
    readonly files?: Case['files'];
    readonly env?: Case['env'];
    readonly failureClass?: Case['class'];
    readonly prepare?: Case['prepare'] & {};
  } = {},
): Case => ({
  name,
  tool: tool ?? [run[0], '--version'],
  files,
  env,
  run,
  prepare,
  class: failureClass,
});

const npm = (registry: string): Case['run'] => [
  'npm',
  'install',
  'left-pad',
  '--registry',
  registry,
  '--userconfig',
  '.npmrc',
  '--fetch-retries',
  '0',
  '--no-audit',
  '--fetch-timeout',
  '1000',
  '--cache',
  '.cache',
  '--prefer-online',
];
const npmFiles = { 'package.json': '{ "name": "shop", "version": "1.0.0" }', '.npmrc': '' };
const pip = (index: string): Case['run'] => [
  'python3',
  '-m',
  'pip',
  'install',
  '--isolated',
  '--no-cache-dir',
  '--no-input',
  '--disable-pip-version-check',
  '--index-url',
  `${index}/simple/`,
  '--trusted-host',
  '127.0.0.1',
  '--trusted-host',
  'registry.invalid',
  '--retries',
  '2',
  '--timeout',
  '1',
  'no-such-requests',
];
const PIP = { tool: ['python3', '-m', 'pip', '--version'] as const };

const cargoFiles = (registry: string): Case['files'] => ({
  'Cargo.toml':
    '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nserde = "1"\n',
  'src/lib.rs': '',
  '.cargo/config.toml': `[source.crates-io]\nreplace-with = "mirror"\n\n[source.mirror]\nregistry = "sparse+${registry}/"\n\n[net]\nretry = 1\n`,
});
const cargoGit = (url: string): Case['files'] => ({
  'Cargo.toml': `[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\ncart = { git = "${url}/cart.git" }\n`,
  'src/lib.rs': '',
  '.cargo/config.toml': '[net]\nretry = 1\n',
});
const goFiles = {
  'go.mod': 'module example.com/shop\n\ngo 1.22\n\nrequire github.com/nobody/cart v1.2.3\n',
  'main.go': 'package main\n\nimport "github.com/nobody/cart"\n\nfunc main() { cart.Run() }\n',
};
const goEnv = (proxy: string): Case['env'] => ({
  GOPROXY: proxy,
  GOFLAGS: '-mod=mod',
  GONOSUMDB: '*',
  GONOSUMCHECK: '1',
  GOTOOLCHAIN: 'local',
  GOSUMDB: 'off',
});
const GO = { tool: ['go', 'version'] as const, files: goFiles };

const network: readonly Case[] = [
  networkCase('npm-refused', npm(CLOSED), { files: npmFiles }),
  networkCase('npm-unresolved', npm(NOWHERE), { files: npmFiles }),
  networkCase('npm-503', npm(`${FAULTY}/503`), { files: npmFiles }),
  networkCase('npm-timeout', npm(`${FAULTY}/silent`), { files: npmFiles }),
  networkCase('npm-reset', npm(`${FAULTY}/reset`), { files: npmFiles }),
  networkCase('npm-404', npm(`${FAULTY}/404`), { files: npmFiles, failureClass: 'BROKEN_BUILD' }),
  networkCase('pip-refused', pip(CLOSED), PIP),
  networkCase('pip-unresolved', pip(NOWHERE), PIP),
  networkCase('pip-timeout', pip(`${FAULTY}/silent`), PIP),
  networkCase('pip-404', pip(`${FAULTY}/404`), { ...PIP, failureClass: 'BROKEN_BUILD' }),
  networkCase('cargo-refused', ['cargo', 'build'], { files: cargoFiles(CLOSED) }),
  networkCase('cargo-unresolved', ['cargo', 'build'], { files: cargoFiles(NOWHERE) }),
  networkCase('cargo-503', ['cargo', 'build'], { files: cargoFiles(`${FAULTY}/503`) }),
  networkCase('cargo-git-refused', ['cargo', 'build'], { files: cargoGit(CLOSED) }),
  networkCase('cargo-404', ['cargo', 'build'], {
    files: cargoFiles(`${FAULTY}/index`),
    failureClass: 'BROKEN_BUILD',
  }),
  networkCase('go-refused', ['go', 'build', './...'], { ...GO, env: goEnv(CLOSED) }),
  networkCase('go-unresolved', ['go', 'build', './...'], { ...GO, env: goEnv(NOWHERE) }),
  networkCase('go-503', ['go', 'mod', 'download'], { ...GO, env: goEnv(`${FAULTY}/503`) }),
  networkCase('go-404', ['go', 'build', './...'], {
    ...GO,
    env: goEnv(`${FAULTY}/404`),
    failureClass: 'BROKEN_BUILD',
  }),
  networkCase('git-unresolved', ['git', 'clone', '-q', 'https://git.invalid/shop.git']),
  networkCase('git-refused', ['git', 'clone', `${CLOSED}/shop.git`]),
  networkCase('git-503', ['git', 'clone', `${FAULTY}/503/shop.git`]),
  networkCase('git-ssh-unresolved', ['git', 'clone', 'ssh://git@git.invalid/shop.git']),
  networkCase('curl-unresolved', ['curl', '-sSf', `${NOWHERE}/v1/status`]),
  networkCase('curl-refused', ['curl', '-sSf', `${CLOSED}/v1/status`]),
  networkCase('curl-timeout', ['curl', '-sSf', '-m', '1', `${FAULTY}/silent`]),
  networkCase('curl-503', ['curl', '-sSf', `${FAULTY}/503`]),
  networkCase('curl-reset', ['curl', '-sSf', `${FAULTY}/reset`]),
  networkCase('curl-404', ['curl', '-sSf', `${FAULTY}/404`], { failureClass: 'UNKNOWN' }),
  networkCase('wget-unresolved', ['wget', '--tries=1', `${NOWHERE}/shop.tar.gz`]),
  networkCase('node-fetch', ['node', 'main.mjs'], {
    files: {
      'main.mjs': `const answer = await fetch('${NOWHERE}/v1/status');\nconsole.log(answer.status);\n`,
    },
  }),
  networkCase('node-http-refused', ['node', 'main.mjs'], {
    files: {
      'main.mjs': `import { get } from 'node:http';\nget('${CLOSED}/', (answer) => answer.pipe(process.stdout));\n`,
    },
  }),
  networkCase('python-urllib-refused', ['python3', 'main.py'], {
    files: {
      'main.py': `import urllib.request\n\nprint(urllib.request.urlopen("${CLOSED}/v1/status").read())\n`,
    },
  }),
  networkCase('python-unresolved', ['python3', 'main.py'], {
    files: { 'main.py': 'import socket\n\nsocket.create_connection(("db.invalid", 5432))\n' },
  }),
  networkCase('python-timeout', ['python3', 'main.py'], {
    files: { 'main.py': `import urllib.request\n\nurllib.request.urlopen("${FAULTY}/silent", timeout=1)\n` },
  }),
  networkCase('go-program-refused', ['go', 'run', 'main.go'], {
    tool: ['go', 'version'],
    env: { GOTOOLCHAIN: 'local' },
    files: {
      'main.go': `package main\n\nimport (\n\t"log"\n\t"net/http"\n)\n\nfunc main() {\n\tif _, err := http.Get("${CLOSED}/v1"); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n`,
    },
  }),
];

const shell: readonly Case[] = [
  networkCase('command-not-found', ['sh', '-c', 'no-such-linter --strict src'], {
    tool: ['true'],
    failureClass: 'BROKEN_BUILD',
  }),
  networkCase('npm-script-tool-missing', ['npm', 'test', '--userconfig', '.npmrc'], {
    files: {
      'package.json': '{ "name": "shop", "version": "1.0.0", "scripts": { "test": "no-such-runner run" } }',
      '.npmrc': '',
    },
    failureClass: 'BROKEN_BUILD',
  }),
  networkCase('npm-missing-script', ['npm', 'run', 'build', '--userconfig', '.npmrc'], {
    files: npmFiles,
    failureClass: 'BROKEN_BUILD',
  }),
  networkCase('npm-script-type-error', ['npm', 'run', 'build', '--userconfig', '.npmrc'], {
    files: {
      'package.json': '{ "name": "shop", "version": "1.0.0", "scripts": { "build": "tsc -p ." } }',
      '.npmrc': '',
      'tsconfig.json': '{ "compilerOptions": { "strict": true, "noEmit": true, "types": [] } }',
      'index.ts': `export const port: number = '80';\n`,
    },
    failureClass: 'BROKEN_BUILD',
  }),
  networkCase('npm-script-tests', ['npm', 'test', '--userconfig', '.npmrc'], {
    files: {
      'package.json':
        '{ "name": "shop", "version": "1.0.0", "scripts": { "test": "vitest run --no-color --configLoader native" } }',
      '.npmrc': '',
      'port.test.ts': `import { expect, test } from 'vitest';\ntest('the port', () => expect(80).toBe(8080));\n`,
    },
    failureClass: 'VERIFICATION_FAILED',
  }),
  networkCase('disk-full', ['sh', '-c', 'cat /etc/hostname > /dev/full'], {
    tool: ['true'],
    failureClass: 'UNKNOWN',
  }),
  networkCase('killed', ['sh', '-c', 'echo "step 1 of 3"; kill -9 $$'], {
    tool: ['true'],
    failureClass: 'TRANSIENT',
  }),
  networkCase('timeout', ['timeout', '1', 'sh', '-c', 'echo waiting; sleep 10'], { failureClass: 'UNKNOWN' }),
  networkCase('says-nothing', ['sh', '-c', 'exit 3'], { tool: ['true'], failureClass: 'UNKNOWN' }),
  networkCase(
    'tests-then-types',
    ['sh', '-c', `${bin('tsc')} -p . ; ${bin('vitest')} run --no-color --configLoader native`],
    {
      tool: [bin('vitest'), '--version'],
      files: {
        'package.json': '{ "type": "module" }',
        'tsconfig.json':
          '{ "compilerOptions": { "strict": true, "noEmit": true, "types": [], "module": "nodenext" } }',
        'index.ts': `export const port: number = '80';\n`,
        'port.test.js': `import { expect, test } from 'vitest';\ntest('the port', () => expect(80).toBe(8080));\n`,
      },
      failureClass: 'BROKEN_BUILD',
    },
  ),
];

export const NETWORK: Cases = { network, shell };
