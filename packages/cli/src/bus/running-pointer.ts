import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * File in which `npm start` stores the path of its `running.json`, to find it from any directory; undefined without a
 * home directory. Relative paths are rejected: they would depend on the directory.
 */
export const pointerFile = ({ XDG_STATE_HOME: state, HOME: home }: Environment): string | undefined => {
  if (state !== undefined && isAbsolute(state)) return join(state, 'holdpoint', 'running');
  return home !== undefined && isAbsolute(home)
    ? join(home, '.local', 'state', 'holdpoint', 'running')
    : undefined;
};
