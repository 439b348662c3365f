import { DEFAULT_CONFIG, type WorkflowConfig } from '@holdpoint/workflows/config/config';
import { readConfigFile } from '@holdpoint/workflows/files/config-file';
import { WorkflowFileError } from '@holdpoint/workflows/files/file-error';
import { openRepository } from '@holdpoint/workflows/files/repository';
import { problemText } from '@holdpoint/workflows/problems/problem';
import type { Session } from '../kit/session.ts';

/** The root of the repository that contains a directory, if any. */
export const rootAbove = (directory: string): string | undefined => {
  try {
    return openRepository(directory).root;
  } catch (error) {
    // Jobs can be listed from any directory.
    if (error instanceof WorkflowFileError && error.code === 'WORKFLOW_NO_REPOSITORY') return undefined;
    throw error;
  }
};

/** A setting without effect matters to the commands that compile a workflow. */
const IGNORED = 'WORKFLOW_CONFIG_IGNORED';

/** The configuration of the current repository. Problems in it are warnings here. */
export const readConfig = ({
  knownDirectory,
  warnOnce,
}: Pick<Session, 'knownDirectory' | 'warnOnce'>): WorkflowConfig => {
  const directory = knownDirectory();
  const root = directory === undefined ? undefined : rootAbove(directory);
  if (root === undefined) return DEFAULT_CONFIG;
  const { config, problems } = readConfigFile(root);
  for (const problem of problems) if (problem.code !== IGNORED) warnOnce(problemText(problem));
  return config ?? DEFAULT_CONFIG;
};

/** Display settings of the current repository. */
export const readDisplay = (
  session: Pick<Session, 'knownDirectory' | 'warnOnce'>,
): WorkflowConfig['display'] => readConfig(session).display;
