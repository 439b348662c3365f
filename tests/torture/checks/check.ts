import type { ProgramEvidence, RunEvidence, TaskEvidence } from '../evidence/evidence.ts';

export type Finding = { readonly checked: number; readonly violations: readonly string[] };

/** One promise and how to check it. */
export type Check = {
  readonly id: string;
  readonly promise: string;
  /** Called for each task, so that a long run fits into memory. */
  /** Needs tasks with graphs, which not every deployment supports. */
  readonly graphs?: true;
  /** Needs programs and their workers. */
  readonly programs?: true;
  /** Needs pages and agents, and a deployment that states where it serves them. */
  readonly pages?: true;
  /** Needs attackers among the faults. */
  readonly attacks?: true;
  readonly ofTask?: (task: TaskEvidence) => Finding;
  readonly ofProgram?: (program: ProgramEvidence) => Finding;
  readonly ofRun?: (run: RunEvidence) => Finding;
};

export type Notes = {
  /** Counts one check. `otherwise` describes the violation. */
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
