import { z } from 'zod';
import { defineFault } from './fault.ts';

/** A placeholder: the report states that clocks are not moved. */
export const clockJump = defineFault({
  name: 'clock-jump',
  group: 'clock',
  params: z.object({}),
  draw: () => ({}),
  whyNot: () => 'moving the clock of one process needs libfaketime, which is not used here',
  takes: () => [],
  inject: () => Promise.reject(new Error('clocks cannot be moved')),
});
