/** What a coding agent has to be able to do. Put yours in its place: a program, or a model behind an API. */
export type Agent = {
  /** A change of it is another version of the workflow: no hash can see what is behind these functions. */
  readonly version: string;
  readonly plan: (goal: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Gives a patch. `remarks` is what reviewers want changed, `hints` what became of earlier attempts. */
  readonly code: (task: CodingTask, signal: AbortSignal) => Promise<string>;
  /** Nothing when all is well, or what is wrong with the patch. */
  readonly check: (patch: string, signal: AbortSignal) => Promise<string | undefined>;
};

export type CodingTask = {
  readonly goal: string;
  readonly plan: readonly string[];
  readonly remarks: readonly string[];
  readonly hints: readonly string[];
};

/** Stands in for an agent, without any network. Its first patch does not pass the checks. */
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
