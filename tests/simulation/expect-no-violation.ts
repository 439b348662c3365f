import { expect } from 'vitest';
import type { Campaign } from './campaign.ts';
import { describeFailure } from './report.ts';
import type { Settings } from './simulate.ts';

/** Fails with the shrunk trace of the first violation. */
export const expectNoViolation = async (
  campaign: Campaign,
  settings: Pick<Settings, 'tasks' | 'bug'> & Partial<Pick<Settings, 'form' | 'held' | 'upgrade'>>,
): Promise<void> => {
  const failure = campaign.failed && (await describeFailure(campaign.failed, settings));
  expect(failure).toBeUndefined();
};
