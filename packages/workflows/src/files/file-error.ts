import type { Problem } from '../problems/problem.ts';

/** The expected state for each code. */
const EXPECTED = {
  WORKFLOW_NO_REPOSITORY: 'a folder inside a git repository',
  WORKFLOW_PATH_REFUSED: 'a path inside the repository, symbolic links resolved',
  WORKFLOW_NOT_A_FILE: 'a regular file',
  WORKFLOW_FILE_TOO_LARGE: 'at most 1 MiB',
  WORKFLOW_FILE_NOT_TEXT: 'text in UTF-8',
  WORKFLOW_FILE_UNREADABLE: 'a readable file or folder',
  WORKFLOW_FILE_UNWRITABLE: 'a writable location',
} as const;

export type FileErrorCode = keyof typeof EXPECTED;

/** A path that is refused or a file that cannot be read. The code is stable; the message is not. */
export class WorkflowFileError extends Error {
  override readonly name = 'WorkflowFileError';
  readonly code: FileErrorCode;
  /** As the caller wrote it. */
  readonly file: string;
  readonly found: string;

  constructor(code: FileErrorCode, file: string, found: string, options?: ErrorOptions) {
    super(`${file}: found ${found}; expected ${EXPECTED[code]}`, options);
    this.code = code;
    this.file = file;
    this.found = found;
  }
}

export const fileProblem = ({ code, file, found }: WorkflowFileError, path = ''): Problem => ({
  code,
  severity: 'error',
  path,
  found,
  expected: EXPECTED[code],
  file,
});

/** The operating system's error code, such as `ENOENT`. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
