import type { Problem } from '../problems/problem.ts';

/** What can be wrong with a path or with what it leads to, and what was expected instead. */
const EXPECTED = {
  WORKFLOW_NO_REPOSITORY: 'a folder inside a git repository',
  WORKFLOW_PATH_REFUSED: 'a path inside the repository, symbolic links resolved',
  WORKFLOW_NOT_A_FILE: 'a regular file',
  WORKFLOW_FILE_TOO_LARGE: 'at most 1 MiB',
  WORKFLOW_FILE_NOT_TEXT: 'text in UTF-8',
  WORKFLOW_FILE_UNREADABLE: 'a file or a folder that can be read',
  WORKFLOW_FILE_UNWRITABLE: 'a place that can be written to',
} as const;

export type FileErrorCode = keyof typeof EXPECTED;

/** A path that is not followed, or a file that is not read. Its code is a promise, its text is not. */
export class WorkflowFileError extends Error {
  override readonly name = 'WorkflowFileError';
  readonly code: FileErrorCode;
  /** As it was asked for. */
  readonly file: string;
  readonly found: string;

  constructor(code: FileErrorCode, file: string, found: string, options?: ErrorOptions) {
    super(`${file}: found ${found}; expected ${EXPECTED[code]}`, options);
    this.code = code;
    this.file = file;
    this.found = found;
  }
}

/** The same, for a list of problems. */
export const fileProblem = ({ code, file, found }: WorkflowFileError, path = ''): Problem => ({
  code,
  severity: 'error',
  path,
  found,
  expected: EXPECTED[code],
  file,
});

/** What the operating system calls an error, such as `ENOENT`. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
