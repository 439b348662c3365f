import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_CONFIG, readWorkflowConfig, type WorkflowConfig } from '../config/config.ts';
import type { Problem } from '../problems/problem.ts';
import { fileProblem, WorkflowFileError } from './file-error.ts';
import { readInside } from './read-inside.ts';

export const OWN_CONFIG = '.holdpoint/config.toml';

/** Read when there is no configuration of Holdpoint's own. */
const OTHER_CONFIGS = ['.vizier/config.toml', '.vizier/config.json'] as const;

/** Only the first existing file counts. */
const CONFIG_FILES = [OWN_CONFIG, ...OTHER_CONFIGS] as const;

/** The configuration that counts as long as there is none of Holdpoint's own. */
export const otherConfig = (root: string): string | undefined =>
  OTHER_CONFIGS.find((file) => existsSync(join(root, file)));

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
