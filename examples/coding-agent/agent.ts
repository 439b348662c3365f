/** The interface of a coding agent. Put yours here: a command, or a model behind an API. */
export type Agent = {
  /**
   * Change it together with these functions, to get a new version of the workflow: a hash cannot see their
   * code.
   */
  readonly version: string;
  readonly plan: (goal: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Returns a patch. `remarks` are requests of reviewers, `hints` the results of earlier attempts. */
  readonly code: (task: CodingTask, signal: AbortSignal) => Promise<string>;
  /** Returns the problems of the patch, or an empty text. */
  readonly check: (patch: string, signal: AbortSignal) => Promise<string | undefined>;
};

export type CodingTask = {
  readonly goal: string;
  readonly plan: readonly string[];
  readonly remarks: readonly string[];
  readonly hints: readonly string[];
};

/** A stand-in for an agent, without network. Its first patch fails the checks. */
export const standIn: Agent = {
  version: 'stand-in-1',
  plan: (goal) => Promise.resolve([`Find where ${goal} belongs`, 'Write it', 'Test it']),
  code: ({ goal, remarks, hints }) =>
    Promise.resolve(
      [
        `+ // ${goal}`,
        ...remarks.map((remark) => `+ // as asked: ${remark}`),
        ...(hints.length > 0 ? ['+ test(goal)'] : []),
      ].join('\n'),
    ),
  check: (patch) => Promise.resolve(patch.includes('test(') ? undefined : 'there is no test'),
};
