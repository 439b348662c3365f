import { access, constants, mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { OLDEST_SERVER } from '@holdpoint/contracts/bus/server-needs';
import { isSupported, parseServerVersion } from '../../nats/config.ts';
import type { ServerVersion } from '../../nats/config.ts';
import { fetchDebianPackage } from './debian-package.ts';
import { downloadRelease } from './download.ts';
import { buildWithGo } from './go-build.ts';
import { archiveName, dockerImage, natsRelease, releasePlatform } from './nats-release.ts';
import { messageOf, Problem } from '../problem.ts';
import type { Progress } from '../progress.ts';
import { run } from '../run.ts';

export type NatsProgram =
  | {
      readonly kind: 'binary';
      readonly path: string;
      readonly version: ServerVersion;
      readonly origin: string;
    }
  | {
      readonly kind: 'docker';
      readonly image: string;
      readonly version: ServerVersion;
      readonly origin: string;
    };

/** Where to look; everything from outside, so that a test can point it elsewhere. */
export type NatsSearch = {
  readonly path: string;
  readonly cacheDir: string;
  readonly platform: string;
  readonly release?: typeof natsRelease;
  readonly docker?: boolean;
  readonly go?: boolean;
  /** Ends the search. */
  readonly signal?: AbortSignal;
};

const OLDEST = `${OLDEST_SERVER.major}.${OLDEST_SERVER.minor}`;
const PULL_WITHIN_MS = 180_000;

export const natsSearchOf = (env: NodeJS.ProcessEnv): NatsSearch => ({
  path: env['PATH'] ?? '',
  cacheDir: join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'holdpoint'),
  platform: releasePlatform(process.platform, process.arch),
});

const isProgram = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const binary = async (path: string, origin: string): Promise<NatsProgram> => {
  const text = await run(path, ['--version'], { timeoutMs: 10_000 });
  const version = parseServerVersion(text);
  if (!isSupported(version)) throw new Error(`${text.trim()} is older than ${OLDEST}`);
  return { kind: 'binary', path, version, origin: `${text.trim()}, ${origin}` };
};

const fromPath = async ({ path }: NatsSearch): Promise<NatsProgram> => {
  for (const dir of path.split(delimiter).filter((entry) => entry !== '')) {
    const candidate = join(dir, 'nats-server');
    if (await isProgram(candidate)) return binary(candidate, candidate);
  }
  throw new Error('not on PATH');
};

const released = (search: NatsSearch) => {
  const release = search.release ?? natsRelease;
  return {
    release,
    target: join(search.cacheDir, archiveName(release, search.platform).replace(/\.tar\.gz$/, '')),
  };
};

const packaged = (search: NatsSearch) => join(search.cacheDir, 'nats-server-of-the-distribution');

const built = (search: NatsSearch) =>
  join(search.cacheDir, `nats-server-v${(search.release ?? natsRelease).version}-built`);

const cached = async (target: string): Promise<NatsProgram> => {
  if (!(await isProgram(target))) throw new Error(`not in ${target}`);
  return binary(target, target);
};

const download = async (search: NatsSearch): Promise<NatsProgram> => {
  const { release, target } = released(search);
  await downloadRelease(release, search.platform, target, { signal: search.signal });
  return binary(target, 'the official release');
};

const fromDocker = async (search: NatsSearch): Promise<NatsProgram> => {
  const { signal } = search;
  if (search.docker === false) throw new Error('not wanted');
  await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeoutMs: 10_000, signal });
  try {
    await run('docker', ['image', 'inspect', dockerImage], { timeoutMs: 10_000, signal });
  } catch {
    await run('docker', ['pull', '--quiet', dockerImage], { timeoutMs: PULL_WITHIN_MS, signal });
  }
  const text = await run('docker', ['run', '--rm', dockerImage, '--version'], { timeoutMs: 60_000, signal });
  return {
    kind: 'docker',
    image: dockerImage,
    version: parseServerVersion(text),
    origin: `${text.trim()}, Docker image ${dockerImage}`,
  };
};

const withGo = async (search: NatsSearch): Promise<NatsProgram> => {
  if (search.go === false) throw new Error('not wanted');
  await buildWithGo((search.release ?? natsRelease).version, built(search), search.signal);
  return binary(built(search), 'built with Go');
};

const fromDistribution = async (search: NatsSearch, progress: Progress): Promise<NatsProgram> => {
  if (!search.platform.startsWith('linux-')) throw new Error('there is no apt-get on this system');
  const target = packaged(search);
  try {
    await fetchDebianPackage(target, 'this suite', search.signal);
    return await binary(target, "the distribution's package");
  } catch (error) {
    search.signal?.throwIfAborted();
    progress.say(`  nats-server of this suite: ${messageOf(error)}`);
    await fetchDebianPackage(target, 'a newer suite', search.signal);
    return binary(target, 'the package of a newer suite of the distribution');
  }
};

const advice = (search: NatsSearch) =>
  search.platform.startsWith('darwin-')
    ? '`brew install nats-server`'
    : `put nats-server (${OLDEST} or later) on PATH`;

/** Finds or downloads a nats-server. The error lists why each way failed. */
export const findNats = async (search: NatsSearch, progress: Progress): Promise<NatsProgram> => {
  await mkdir(search.cacheDir, { recursive: true });
  const version = (search.release ?? natsRelease).version;
  const ways: readonly (readonly [string, string | undefined, () => Promise<NatsProgram>])[] = [
    ['PATH', undefined, () => fromPath(search)],
    ['cache', undefined, () => cached(released(search).target)],
    ['cache of built programs', undefined, () => cached(built(search))],
    ['cache of packages', undefined, () => cached(packaged(search))],
    ['download', `downloading nats-server ${version}`, () => download(search)],
    ['Docker', `looking for Docker and the image ${dockerImage}`, () => fromDocker(search)],
    ['Go', `building nats-server ${version} with Go`, () => withGo(search)],
    ['apt-get', "fetching the distribution's nats-server", () => fromDistribution(search, progress)],
  ];
  const refusals: string[] = [];
  for (const [name, label, attempt] of ways) {
    try {
      return await (label === undefined ? attempt() : progress.step(label, attempt));
    } catch (error) {
      search.signal?.throwIfAborted();
      if (label === undefined) continue;
      if (name === 'download') refusals.push(`${name}: ${messageOf(error)}`);
      progress.say(`  nats-server by ${name}: ${messageOf(error)}`);
    }
  }
  throw new Problem(
    `there is no nats-server: ${advice(search)}, start Docker, or set HOLDPOINT_NATS_URL to a server (${refusals.join('; ')})`,
  );
};
