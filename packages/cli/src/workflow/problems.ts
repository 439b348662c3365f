import { type Problem, problemText } from '@holdpoint/workflows/problems/problem';
import { EXIT } from '../kit/failure.ts';
import type { Session } from '../kit/session.ts';

const isError = ({ severity }: Problem): boolean => severity === 'error';

/** Reports every problem of a workflow. Resolves to the exit code if the command must stop. */
export const reportProblems = (
  problems: readonly Problem[],
  { lines, json, warn, warnOnce }: Pick<Session, 'lines' | 'json' | 'warn' | 'warnOnce'>,
  asJson: boolean,
): number | undefined => {
  for (const problem of problems) if (!isError(problem)) warnOnce(problemText(problem));
  const errors = problems.filter(isError);
  if (errors.length === 0) return undefined;
  if (asJson) json({ outcome: 'workflow_validation_failed', problems: errors });
  else {
    for (const problem of errors) warn(problemText(problem));
    lines([`workflow validation failed: ${String(errors.length)} problem(s)`]);
  }
  return EXIT.failed;
};
