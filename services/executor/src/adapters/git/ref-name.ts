import { errorBody } from '@holdpoint/contracts/values/errors';
import { CleanFailure } from '../../ports/capability.ts';

/** Longer names do not fit into a file name together with their folders. */
const NAME_MAX = 240;

// The rules of git-check-ref-format(1), and no leading dash: it would be read as an option.
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
  // `refs/heads/refs/heads/x` is allowed, but always a mistake.
  !name.startsWith('refs/');

/** The full ref name of a branch: git cannot misread it. */
export const branchRef = (name: string): string => {
  if (isBranchName(name)) return `refs/heads/${name}`;
  throw new CleanFailure(
    errorBody(
      'EXECUTOR_INVALID_ARGUMENTS',
      `${JSON.stringify(name.slice(0, NAME_MAX))} is not a valid branch name: see git check-ref-format, and omit refs/ and a leading dash`,
    ),
  );
};

export const isCommitId = (text: string): boolean => /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
