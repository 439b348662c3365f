import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute } from 'node:path';
import { ADVANCED, ConfigError } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import { isWithin } from '../files/real-path.ts';
import type { WorkUser } from './confinement.ts';

/** Settings of the processes that work starts. */
export const WorkEnv = z.object({
  HOLDPOINT_WORK: z
    .enum(['confined', 'unconfined', 'off'])
    .default('confined')
    .describe(
      "Processes of steps: `confined` keeps the executor's secrets from them, and refuses such work where the system cannot; `unconfined` keeps nothing from them; `off` refuses all work, so that only effects with a grant run. See [confinement](../operations.md#confinement)",
    ),
  HOLDPOINT_WORK_NETWORK: z
    .enum(['on', 'off'], { error: 'on or off' })
    .default('off')
    .describe('`on`: processes of work use the network, as most agents must. Approved effects always do'),
  HOLDPOINT_WORK_USER: z
    .string()
    .regex(/^[a-z_][a-z0-9_-]{0,31}$/, 'the name of a user of this machine')
    .optional()
    .describe('User that runs the processes of an executor that runs as root. Unset: root without rights')
    .meta(ADVANCED),
  HOLDPOINT_WORK_FOLDERS: z
    .string()
    .default('')
    .describe(
      'Further folders that processes may write, such as the configuration of your agent: absolute paths, separated as in `PATH`',
    )
    .meta(ADVANCED),
  HOLDPOINT_WORK_HIDDEN: z
    .string()
    .default('')
    .describe(
      "Further files and folders that processes cannot see: absolute paths, separated as in `PATH`. The executor's own are always hidden",
    )
    .meta(ADVANCED),
});

export type WorkWanted = 'confined' | 'unconfined' | 'off';

/** What one executor allows to processes. */
export type WorkConfig = {
  readonly wanted: WorkWanted;
  readonly network: boolean;
  readonly user: WorkUser | undefined;
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
};

const pathsOf = (variable: string, text: string): readonly string[] => {
  const paths = text.split(delimiter).filter((path) => path !== '');
  for (const [at, path] of paths.entries())
    if (!isAbsolute(path) || !existsSync(path))
      throw new ConfigError(
        `${variable}: path ${String(at + 1)} of ${String(paths.length)} is not absolute, or does not exist`,
      );
  return paths.map((path) => realpathSync(path));
};

const fieldsOf = (path: string): readonly (readonly string[])[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));

const userOf = (name: string): WorkUser => {
  if (process.geteuid?.() !== 0)
    throw new ConfigError('HOLDPOINT_WORK_USER: only an executor that runs as root can change the user');
  const found = fieldsOf('/etc/passwd').find(([user]) => user === name);
  const [, , uid, gid, , home = '/'] = found ?? [];
  if (uid === undefined || gid === undefined || Number(uid) === 0)
    throw new ConfigError('HOLDPOINT_WORK_USER: no such user on this machine, or it is root');
  const groups = fieldsOf('/etc/group')
    .filter(([, , , members = '']) => members.split(',').includes(name))
    .map(([, , id]) => Number(id));
  return { name, uid: Number(uid), gid: Number(gid), groups: [...new Set([Number(gid), ...groups])], home };
};

/** Throws `ConfigError`. */
export const workConfig = (env: z.infer<typeof WorkEnv>): WorkConfig => {
  const writable = pathsOf('HOLDPOINT_WORK_FOLDERS', env.HOLDPOINT_WORK_FOLDERS);
  const hidden = pathsOf('HOLDPOINT_WORK_HIDDEN', env.HOLDPOINT_WORK_HIDDEN);
  if (hidden.some((path) => writable.some((folder) => isWithin(folder, path))))
    throw new ConfigError('HOLDPOINT_WORK_FOLDERS: a folder contains a hidden one');
  return {
    wanted: env.HOLDPOINT_WORK,
    network: env.HOLDPOINT_WORK_NETWORK === 'on',
    user: env.HOLDPOINT_WORK_USER === undefined ? undefined : userOf(env.HOLDPOINT_WORK_USER),
    writable,
    hidden,
  };
};
