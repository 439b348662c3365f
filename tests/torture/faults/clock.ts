import { z } from 'zod';
import { defineFault } from './fault.ts';

/** Named, so that nobody takes a run for one that has moved clocks. */
export const clockJump = defineFault({
  name: 'clock-jump',
  group: 'clock',
  params: z.object({}),
  draw: () => ({}),
  whyNot: () => 'moving the clock of one process needs libfaketime, which is not used here',
  takes: () => [],
  inject: () => Promise.reject(new Error('clocks cannot be moved')),
});
