import { DEFAULT_CONFIG, readWorkflowConfig, type WorkflowConfig } from '../config/config.ts';
import type { Problem } from '../problems/problem.ts';
import { fileProblem, WorkflowFileError } from './file-error.ts';
import { readInside } from './read-inside.ts';

/** The first that is there counts, alone. */
const CONFIG_FILES = ['.holdpoint/config.toml', '.vizier/config.toml', '.vizier/config.json'] as const;

export type ConfigFile = {
  /** Undefined where there is none, and the defaults hold. */
  readonly file?: string;
  readonly config?: WorkflowConfig;
  readonly problems: readonly Problem[];
};

/** What is configured in a repository; without a file for it, the defaults. */
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
