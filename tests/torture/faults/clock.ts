import { z } from 'zod';
import { defineFault } from './fault.ts';

/** A placeholder: the report states that clocks are not moved. */
export const clockJump = defineFault({
  name: 'clock-jump',
  group: 'clock',
  params: z.object({}),
  draw: () => ({}),
  whyNot: () => 'moving the clock of a process needs libfaketime',
  takes: () => [],
  inject: () => Promise.reject(new Error('clocks cannot be changed')),
});
