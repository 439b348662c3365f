import { resolve } from 'node:path';
import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { DEFAULT_CONFIG, type WorkflowConfig } from '@holdpoint/workflows/config/config';
import { readConfigFile } from '@holdpoint/workflows/files/config-file';
import { globalFolders } from '@holdpoint/workflows/files/global-folder';
import { readRecoveryFile } from '@holdpoint/workflows/files/recovery-file';
import { readInside, type ReadFile } from '@holdpoint/workflows/files/read-inside';
import { openRepository } from '@holdpoint/workflows/files/repository';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import type { Session } from '../kit/session.ts';

/** A repository with its configuration and file access. */
export type WorkflowLocation = {
  readonly root: string;
  /** Base of relative paths on the command line. */
  readonly from: string;
  readonly config: WorkflowConfig;
  readonly alsoUnder: readonly string[];
  readonly read: ReadFile;
  /** The repository's recovery rules. */
  readonly recovery?: RecoveryRules | undefined;
  /** Problems in the configuration and the recovery rules. */
  readonly problems: readonly Problem[];
};

/** The repository that contains the current or the named directory. */
export const openLocation = (
  { directory, globalWorkflows }: Pick<Session, 'directory' | 'globalWorkflows'>,
  named: string | undefined,
): WorkflowLocation => {
  const from = resolve(directory(), named ?? '.');
  const { root } = openRepository(from);
  const { config = DEFAULT_CONFIG, problems } = readConfigFile(root);
  const alsoUnder = globalFolders(config, globalWorkflows);
  const failures = readRecoveryFile(root);
  return {
    root,
    from,
    config,
    alsoUnder,
    read: readInside(root),
    ...(failures.rules !== undefined && { recovery: failures.rules }),
    problems: [...problems, ...failures.problems],
  };
};
