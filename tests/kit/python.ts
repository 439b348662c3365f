import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

const OLDEST_MINOR = 10;
const NAMES = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10'];

type Found = { readonly python?: string; readonly reason: string };

/** A Python that can run the package, or why there is none. */
export const findPython = async (names: readonly string[] = NAMES): Promise<Found> => {
  const problems: string[] = [];
  for (const python of names)
    try {
      const { stdout } = await run(python, [
        '-c',
        'import ensurepip, sys, venv; print(*sys.version_info[:2])',
      ]);
      const [major = 0, minor = 0] = stdout.trim().split(' ').map(Number);
      if (major === 3 && minor >= OLDEST_MINOR) return { python, reason: '' };
      problems.push(`${python} is ${stdout.trim().replace(' ', '.')}`);
    } catch {
      problems.push(`${python} is missing or has no venv`);
    }
  return { reason: problems.join(', ') };
};

/** The oldest one. */
export const findOldestPython = (): Promise<Found> => findPython(NAMES.toReversed());

/** The Python of a new virtual environment with these packages. */
export const environment = async (
  python: string,
  folder: string,
  packages: readonly string[],
): Promise<string> => {
  await run(python, ['-m', 'venv', folder]);
  const own = join(folder, 'bin', 'python');
  const quick = ['--quiet', '--disable-pip-version-check', '--retries=1'];
  await run(own, ['-m', 'pip', 'install', ...quick, ...packages]);
  return own;
};
