/** Git said no. What it said is for people; nothing is decided by its words. */
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

/** It was told to end, because the step was called off or took too long. */
export class GitStopped extends Error {
  override readonly name = 'GitStopped';
}
