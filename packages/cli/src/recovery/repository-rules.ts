import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { readRecoveryFile } from '@holdpoint/workflows/files/recovery-file';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import { rootAbove } from '../job/repository-config.ts';
import type { Session } from '../kit/session.ts';

/** Recovery rules of the current repository; undefined without a repository. */
export const rulesHere = ({
  knownDirectory,
}: Pick<Session, 'knownDirectory'>): {
  readonly rules?: RecoveryRules;
  readonly problems: readonly Problem[];
} => {
  const directory = knownDirectory();
  const root = directory === undefined ? undefined : rootAbove(directory);
  return root === undefined ? { problems: [] } : readRecoveryFile(root);
};
