import type { ProgramEvidence, RunEvidence, TaskEvidence } from '../evidence/evidence.ts';

/** What a look at some evidence came to. */
export type Finding = { readonly checked: number; readonly violations: readonly string[] };

/** One promise, and how it is seen to be kept. */
export type Check = {
  readonly id: string;
  readonly promise: string;
  /** Task by task, so that a long run need not fit into memory. */
  /** Only tasks with graphs show it, which not every deployment can have. */
  readonly graphs?: true;
  /** Only programs show it, which need workers. */
  readonly programs?: true;
  /** Only pages, and agents beside them, show it: they need a deployment that says where it serves them. */
  readonly pages?: true;
  readonly ofTask?: (task: TaskEvidence) => Finding;
  readonly ofProgram?: (program: ProgramEvidence) => Finding;
  readonly ofRun?: (run: RunEvidence) => Finding;
};

export type Notes = {
  /** Counts one thing that was looked at; when it is not so, says what is. */
  readonly expect: (holds: boolean, otherwise: () => string) => void;
  readonly finding: () => Finding;
};

export const takeNotes = (about = ''): Notes => {
  let checked = 0;
  const violations: string[] = [];
  return {
    expect: (holds, otherwise) => {
      checked += 1;
      if (!holds) violations.push(about === '' ? otherwise() : `${about}: ${otherwise()}`);
    },
    finding: () => ({ checked, violations }),
  };
};
