import { copyFileSync, cpSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '@holdpoint/infra/local/folders';
import { packPythonInto } from '@holdpoint/infra/release/pack';
import { environment } from '../../kit/python.ts';

const SOURCE = join(root, 'packages', 'python');
export type Installed = {
  /** Python of the virtual environment that holds the built wheel. */
  readonly python: string;
  readonly files: readonly string[];
  /** A copy of the tests and the settings of the tools, away from the sources. */
  readonly copy: string;
};

/** Builds wheel and sdist, and installs the wheel with the tools of its tests into an empty environment. */
export const installBuilt = async (python: string, home: string): Promise<Installed> => {
  const copy = join(home, 'package');
  const isSource = (path: string): boolean => !/__pycache__|_cache$|\.venv|dist$/.test(path);
  cpSync(SOURCE, copy, { recursive: true, filter: isSource });
  const dist = join(home, 'dist');
  const built = packPythonInto(dist, python);
  if ('reason' in built) throw new Error(built.reason);
  const files = built.files.map((file) => basename(file));
  const wheel = files.find((file) => file.endsWith('.whl')) ?? '';
  const installed = await environment(python, join(home, 'user'), [`${join(dist, wheel)}[dev]`]);
  const vectors = join(home, 'vectors');
  mkdirSync(vectors);
  copyFileSync(
    join(root, 'packages', 'contracts', 'vectors', 'remote-effects.json'),
    join(vectors, 'remote-effects.json'),
  );
  return { python: installed, files, copy };
};
