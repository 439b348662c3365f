import type { RulesResult } from '../recovery/read-rules.ts';
import { readRecoveryRules } from '../recovery/read-rules.ts';
import { fileProblem, WorkflowFileError } from './file-error.ts';
import { readInside } from './read-inside.ts';

export const RECOVERY_FILE = '.holdpoint/recovery.toml';

/** The recovery rules of a repository; without a file, none, and the defaults apply. */
export const readRecoveryFile = (root: string): RulesResult => {
  try {
    const text = readInside(root)(RECOVERY_FILE);
    return text === undefined ? { problems: [] } : readRecoveryRules(text, RECOVERY_FILE);
  } catch (error) {
    if (!(error instanceof WorkflowFileError)) throw error;
    return { problems: [fileProblem(error)] };
  }
};
