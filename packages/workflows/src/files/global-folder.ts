import { isAbsolute } from 'node:path';
import type { WorkflowConfig } from '../config/config.ts';

/**
 * The folders outside of the repository that may contain templates: the configured one, or else the caller's
 * default. A relative path is ignored, because it would differ in every folder.
 */
export const globalFolders = (
  { globalWorkflows: { enabled, dir } }: WorkflowConfig,
  usual?: string,
): readonly string[] => {
  const folder = dir === '' ? usual : dir;
  return enabled && folder !== undefined && isAbsolute(folder) ? [folder] : [];
};
