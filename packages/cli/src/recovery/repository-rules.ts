import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { readRecoveryFile } from '@holdpoint/workflows/files/recovery-file';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import { rootAbove } from '../job/repository-config.ts';
import type { Session } from '../kit/session.ts';

/** What the repository in which the user stands says of its failures; nothing where there is no repository. */
export const rulesHere = ({
  place,
}: Pick<Session, 'place'>): { readonly rules?: RecoveryRules; readonly problems: readonly Problem[] } => {
  const directory = place();
  const root = directory === undefined ? undefined : rootAbove(directory);
  return root === undefined ? { problems: [] } : readRecoveryFile(root);
};
