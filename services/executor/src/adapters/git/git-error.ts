/** Git failed. Its message is for operators; no code depends on it. */
export class GitError extends Error {
  override readonly name = 'GitError';
  readonly command: string;
  readonly exitCode: number | undefined;

  constructor(command: string, exitCode: number | undefined, said: string) {
    super(`git ${command}: ${said}`);
    this.command = command;
    this.exitCode = exitCode;
  }
}

/** Git was stopped, because the step was cancelled or timed out. */
export class GitStopped extends Error {
  override readonly name = 'GitStopped';
}
