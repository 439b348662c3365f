import type { ProgramEvidence, RunEvidence, TaskEvidence } from '../evidence/evidence.ts';
import type { Check, Finding } from './check.ts';

export type Verdict = {
  readonly id: string;
  readonly promise: string;
  readonly checked: number;
  /** The number of violations, of which the first ones are listed. */
  readonly broken: number;
  readonly violations: readonly string[];
};

const REPORTED_MAX = 20;

/** A check without evidence fails. */
export const held = ({ checked, broken }: Verdict): boolean => checked > 0 && broken === 0;

export const createVerdicts = (checks: readonly Check[]) => {
  const sums = new Map(checks.map(({ id }) => [id, { checked: 0, broken: 0, violations: [] as string[] }]));
  const add = (id: string, finding: Finding | undefined): void => {
    const sum = sums.get(id);
    if (sum === undefined || finding === undefined) return;
    sum.checked += finding.checked;
    sum.broken += finding.violations.length;
    sum.violations.push(...finding.violations.slice(0, Math.max(0, REPORTED_MAX - sum.violations.length)));
  };
  return {
    takeTask: (task: TaskEvidence): void => {
      for (const { id, ofTask } of checks) add(id, ofTask?.(task));
    },
    takeProgram: (program: ProgramEvidence): void => {
      for (const { id, ofProgram } of checks) add(id, ofProgram?.(program));
    },
    takeRun: (run: RunEvidence): void => {
      for (const { id, ofRun } of checks) add(id, ofRun?.(run));
    },
    verdicts: (): readonly Verdict[] =>
      checks.map(({ id, promise }) => ({
        id,
        promise,
        ...(sums.get(id) ?? { checked: 0, broken: 0, violations: [] }),
      })),
  };
};
