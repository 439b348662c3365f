import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Where a start leaves the path of its `running.json`, for whoever stands in a folder of their own; undefined where the
 * environment names no home. A relative path would be another file in every folder.
 */
export const pointerFile = ({ XDG_STATE_HOME: state, HOME: home }: Environment): string | undefined => {
  if (state !== undefined && isAbsolute(state)) return join(state, 'holdpoint', 'running');
  return home !== undefined && isAbsolute(home)
    ? join(home, '.local', 'state', 'holdpoint', 'running')
    : undefined;
};
