import { DEFAULT_CONFIG, type WorkflowConfig } from '@holdpoint/workflows/config/config';
import { readConfigFile } from '@holdpoint/workflows/files/config-file';
import { WorkflowFileError } from '@holdpoint/workflows/files/file-error';
import { openRepository } from '@holdpoint/workflows/files/repository';
import { problemText } from '@holdpoint/workflows/problems/problem';
import type { Session } from '../kit/session.ts';

/** The top of the repository above a folder, if there is one. */
export const rootAbove = (directory: string): string | undefined => {
  try {
    return openRepository(directory).root;
  } catch (error) {
    // Jobs can be looked at from anywhere.
    if (error instanceof WorkflowFileError && error.code === 'WORKFLOW_NO_REPOSITORY') return undefined;
    throw error;
  }
};

/** What the repository in which the user stands says. What is wrong there stops nobody from looking at jobs. */
export const readConfig = ({ place, warn }: Pick<Session, 'place' | 'warn'>): WorkflowConfig => {
  const directory = place();
  const root = directory === undefined ? undefined : rootAbove(directory);
  if (root === undefined) return DEFAULT_CONFIG;
  const { config, problems } = readConfigFile(root);
  for (const problem of problems) warn(problemText(problem));
  return config ?? DEFAULT_CONFIG;
};

/** How lists are shown, as that repository has it. */
export const readDisplay = (session: Pick<Session, 'place' | 'warn'>): WorkflowConfig['display'] =>
  readConfig(session).display;
