import { isAbsolute } from 'node:path';
import type { WorkflowConfig } from '../config/config.ts';

/**
 * The folders outside of the repository that templates may come from: the configured one, else the usual one of whoever
 * asks. A relative name would mean another folder in every place, so it allows nothing.
 */
export const globalFolders = (
  { globalWorkflows: { enabled, dir } }: WorkflowConfig,
  usual?: string,
): readonly string[] => {
  const folder = dir === '' ? usual : dir;
  return enabled && folder !== undefined && isAbsolute(folder) ? [folder] : [];
};
