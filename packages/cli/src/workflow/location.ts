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

/** A repository with its configuration, and how its files are read. */
export type FlowPlace = {
  readonly root: string;
  /** Where the paths of the command line start. */
  readonly from: string;
  readonly config: WorkflowConfig;
  readonly alsoUnder: readonly string[];
  readonly read: ReadFile;
  /** How the repository wants its failures taken. */
  readonly recovery?: RecoveryRules | undefined;
  /** What is wrong with the configuration, and with those rules. */
  readonly problems: readonly Problem[];
};

/** The repository above a folder: the one that the user stands in, unless another is named. */
export const openPlace = (
  { directory, globalWorkflows }: Pick<Session, 'directory' | 'globalWorkflows'>,
  named: string | undefined,
): FlowPlace => {
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
