/** An empty part, `.` or `..`. */
const UNPLAIN = /(?:^|\/)\.{0,2}(?:\/|$)/;

/** Resolves `.` and `..` as the executor does, so that one place has one name. */
export const plainPath = (path: string): string => {
  if (!UNPLAIN.test(path)) return path;
  const way: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..' && way.length > 0 && way.at(-1) !== '..') way.pop();
    else if (part !== '' && part !== '.') way.push(part);
  }
  return `${path.startsWith('/') ? '/' : ''}${way.join('/')}`;
};
