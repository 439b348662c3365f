import { expect, test } from 'vitest';
import { DEFAULT_CONFIG, type WorkflowConfig } from '../config/config.ts';
import { globalFolders } from './global-folder.ts';

const configured = (enabled: boolean, dir: string): WorkflowConfig => ({
  ...DEFAULT_CONFIG,
  globalWorkflows: { enabled, dir },
});

test('the configured global folder counts, else the default one, or none when disabled', () => {
  expect(globalFolders(configured(true, '/shared'), '/usual')).toEqual(['/shared']);
  expect(globalFolders(configured(true, ''), '/usual')).toEqual(['/usual']);
  expect(globalFolders(configured(true, ''))).toEqual([]);
  expect(globalFolders(configured(true, 'relative'), '/usual')).toEqual([]);
  expect(globalFolders(configured(false, '/shared'), '/usual')).toEqual([]);
});
