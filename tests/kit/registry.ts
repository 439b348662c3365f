import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '@holdpoint/infra/local/folders';
import { choosePorts } from '@holdpoint/infra/local/ports';
import { Hopeless, untilTrue } from './until.ts';

const run = promisify(execFile);

const VERDACCIO = '6.8.0';
/** The cache outlives a test: 300 packages would slow the installation of the workspace for all. */
const TOOL = join(root, '.holdpoint', 'data', 'tools', `verdaccio-${VERDACCIO}`);
const PROGRAM = join(TOOL, 'node_modules', 'verdaccio', 'bin', 'verdaccio');

const install = async (): Promise<void> => {
  if (existsSync(join(TOOL, 'installed'))) return;
  mkdirSync(TOOL, { recursive: true });
  // It asks for a tag of node-fetch that not every mirror has.
  const manifest = { private: true, overrides: { 'node-fetch': '2.7.0' } };
  writeFileSync(join(TOOL, 'package.json'), JSON.stringify(manifest));
  await run('npm', ['install', '--no-audit', '--no-fund', `verdaccio@${VERDACCIO}`], { cwd: TOOL });
  writeFileSync(join(TOOL, 'installed'), '');
};

const configOf = (uplink: string): string => `storage: ./storage
uplinks:
  upstream:
    url: ${uplink}
    cache: true
    timeout: 2m
    max_fails: 20
    fail_timeout: 1s
packages:
  '@holdpoint/*': { access: $all, publish: $all }
  'holdpoint': { access: $all, publish: $all }
  '**': { access: $all, proxy: upstream }
log: { type: stdout, format: json, level: warn }
`;

export type Registry = {
  readonly url: string;
  /** For `npm` and `npx`: this registry, and a cache of its own. */
  readonly env: NodeJS.ProcessEnv;
  readonly stop: () => Promise<void>;
};

/** A registry on this machine that holds the tarballs, and passes all other names on. Its data is in `folder`. */
export const startRegistry = async (folder: string, tarballs: readonly string[]): Promise<Registry> => {
  await install();
  mkdirSync(folder, { recursive: true });
  const { stdout: uplink } = await run('npm', ['config', 'get', 'registry']);
  const config = join(folder, 'config.yaml');
  writeFileSync(config, configOf(uplink.trim()));
  const { nats: port } = await choosePorts();
  const url = `http://127.0.0.1:${String(port)}/`;
  const child = spawn(process.execPath, [PROGRAM, '--config', config, '--listen', url], { cwd: folder });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => (printed += String(text)));
  const ended = once(child, 'close');
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  // Publishing asks for a token, and the registry takes any.
  const settings = join(folder, 'npmrc');
  writeFileSync(settings, `registry=${url}\n//127.0.0.1:${String(port)}/:_authToken=anybody\n`);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name))),
    npm_config_userconfig: settings,
    npm_config_cache: join(folder, 'cache'),
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_update_notifier: 'false',
  };
  try {
    await untilTrue('the registry answers', async () => {
      if (child.exitCode !== null) throw new Hopeless(printed);
      return (await fetch(`${url}-/ping`)).ok;
    });
    // Provenance needs the identity of a build service.
    for (const tarball of tarballs)
      await run('npm', ['publish', '--provenance=false', '--access=public', tarball], { cwd: folder, env });
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, env, stop };
};
