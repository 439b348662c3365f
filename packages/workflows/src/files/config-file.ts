import { DEFAULT_CONFIG, readWorkflowConfig, type WorkflowConfig } from '../config/config.ts';
import type { Problem } from '../problems/problem.ts';
import { fileProblem, WorkflowFileError } from './file-error.ts';
import { readInside } from './read-inside.ts';

/** Only the first existing file counts. */
const CONFIG_FILES = ['.holdpoint/config.toml', '.vizier/config.toml', '.vizier/config.json'] as const;

export type ConfigFile = {
  /** Left out when no file exists. */
  readonly file?: string;
  readonly config?: WorkflowConfig;
  readonly problems: readonly Problem[];
};

/** The configuration of a repository, or the defaults when it has none. */
export const readConfigFile = (root: string): ConfigFile => {
  const read = readInside(root);
  for (const file of CONFIG_FILES) {
    try {
      const text = read(file);
      if (text !== undefined) return { file, ...readWorkflowConfig(text, file) };
    } catch (error) {
      if (!(error instanceof WorkflowFileError)) throw error;
      return { file, problems: [fileProblem(error)] };
    }
  }
  return { config: DEFAULT_CONFIG, problems: [] };
};
