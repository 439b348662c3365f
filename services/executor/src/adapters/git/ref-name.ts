import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';

/** Longer names do not fit into a file name, with the folders around it. */
const NAME_MAX = 240;

// The rules of git-check-ref-format(1), and no dash in front: what looks like an option is never a name.
const FORBIDDEN: readonly RegExp[] = [
  /^$/,
  /^[-/]/,
  // oxlint-disable-next-line no-control-regex -- they are what is forbidden
  /[\u0000-\u0020\u007F~^:?*[\\]/,
  /\.\.|@\{|\/\/|\/\.|^\./,
  /(\.lock|\.|\/)$/,
  /\.lock\//,
  /^(@|HEAD)$/,
];

export const isBranchName = (name: string): boolean =>
  Buffer.byteLength(name) <= NAME_MAX &&
  name.isWellFormed() &&
  !FORBIDDEN.some((pattern) => pattern.test(name)) &&
  // `refs/heads/refs/heads/x` is allowed, and never what anybody means.
  !name.startsWith('refs/');

/** The full name of a branch, which git takes for nothing else. */
export const branchRef = (name: string): string => {
  if (isBranchName(name)) return `refs/heads/${name}`;
  throw new CleanFailure(
    errorBody(
      'EXECUTOR_INVALID_ARGUMENTS',
      `${JSON.stringify(name.slice(0, NAME_MAX))} is no name for a branch: expected one that git check-ref-format accepts, without refs/ or a dash in front`,
    ),
  );
};

export const isCommitId = (text: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
