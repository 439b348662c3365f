import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../run.ts';

const UPDATE_WITHIN_MS = 120_000;
const FETCH_WITHIN_MS = 120_000;

type Apt = (args: readonly string[], timeoutMs: number) => Promise<string>;

/** The suite after every release, by the origin in its index. Its nats-server runs on older releases without changes. */
const NEWER: Readonly<Record<string, { readonly suite: string; readonly keyring: string }>> = {
  Debian: { suite: 'testing main', keyring: '/usr/share/keyrings/debian-archive-keyring' },
  Ubuntu: { suite: 'devel universe', keyring: '/usr/share/keyrings/ubuntu-archive-keyring' },
};

/** The source of a newer suite, from the mirror of this machine. `targets`: lines of `<origin> <address>`. */
export const newerSource = (
  targets: string,
  isThere: (path: string) => boolean = existsSync,
): string | undefined => {
  for (const line of targets.split('\n')) {
    const [origin = '', uri = ''] = line.trim().split(' ');
    const newer = NEWER[origin];
    // The archive of security updates has no such suite.
    if (newer === undefined || !/^https?:/.test(uri) || uri.includes('security')) continue;
    const keys = ['gpg', 'pgp'].map((ending) => `${newer.keyring}.${ending}`).find(isThere);
    return `deb ${keys === undefined ? '' : `[signed-by=${keys}] `}${uri} ${newer.suite}\n`;
  }
  return undefined;
};

const ownLists = (scratch: string): readonly string[] => [
  `Dir::State::lists=${scratch}/lists`,
  `Dir::Cache=${scratch}/cache`,
  // Descriptions for software centres are larger than the packages.
  'Acquire::Languages=none',
  'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false',
];

const newerSuite = async (apt: Apt, scratch: string): Promise<readonly string[]> => {
  const targets = await apt(
    ['indextargets', '--format', '$(ORIGIN) $(REPO_URI)', 'Created-By: Packages'],
    FETCH_WITHIN_MS,
  );
  const source = newerSource(targets);
  if (source === undefined) throw new Error('no newer suite of this distribution is known');
  await writeFile(join(scratch, 'newer.list'), source);
  return [`Dir::Etc::sourcelist=${scratch}/newer.list`, 'Dir::Etc::sourceparts=-'];
};

/**
 * Fetches the distribution's nats-server and unpacks it to `target`. It is not installed: that would need root, and
 * would start a second server as a system service. apt checks the package's signature.
 */
export const fetchDebianPackage = async (
  target: string,
  from: 'this suite' | 'a newer suite',
  signal?: AbortSignal,
): Promise<void> => {
  await mkdir(dirname(target), { recursive: true });
  const scratch = await mkdtemp(`${target}.`);
  const aptWith =
    (settings: readonly string[]): Apt =>
    (args, timeoutMs) =>
      run(
        'apt-get',
        [
          ...['APT::Sandbox::User=root', 'Acquire::Retries=1', ...settings].flatMap((each) => ['-o', each]),
          ...args,
        ],
        { cwd: scratch, timeoutMs, signal },
      );
  const apt = aptWith([]);
  /** With lists of its own, so that it works without root and on images that ship without lists. */
  const fetchAnew = async (more: readonly string[]): Promise<Apt> => {
    await mkdir(join(scratch, 'lists', 'partial'), { recursive: true });
    await mkdir(join(scratch, 'cache', 'archives', 'partial'), { recursive: true });
    const own = aptWith([...ownLists(scratch), ...more]);
    await own(['update'], UPDATE_WITHIN_MS);
    return own;
  };
  try {
    if (from === 'a newer suite') {
      const source = await newerSuite(apt, scratch).catch(async () =>
        newerSuite(await fetchAnew([]), scratch),
      );
      await (
        await fetchAnew(source)
      )(['download', 'nats-server'], FETCH_WITHIN_MS);
    } else {
      try {
        await apt(['download', 'nats-server'], FETCH_WITHIN_MS);
      } catch {
        await (
          await fetchAnew([])
        )(['download', 'nats-server'], FETCH_WITHIN_MS);
      }
    }
    const archive = (await readdir(scratch)).find((name) => name.endsWith('.deb'));
    if (archive === undefined) throw new Error('apt-get download left no package');
    await run('dpkg-deb', ['-x', archive, 'unpacked'], { cwd: scratch, timeoutMs: 60_000, signal });
    await rename(join(scratch, 'unpacked', 'usr', 'sbin', 'nats-server'), target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};
