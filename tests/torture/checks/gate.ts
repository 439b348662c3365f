import type { Check } from './check.ts';
import { replayTask } from './replay.ts';

export const gate: Check = {
  id: 'K5',
  promise: 'no effect starts or reaches the target without an earlier approval of exactly this effect',
  ofTask: (evidence) => replayTask('K5', evidence),
};
