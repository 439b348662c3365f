import type { Bug } from './bug.ts';
import { BUS_BUGS } from './bugs-bus.ts';
import { DECISION_BUGS } from './bugs-decisions.ts';
import { EFFECT_BUGS } from './bugs-effects.ts';
import { ENGINE_BUGS } from './bugs-engine.ts';
import { GRAPH_BUGS } from './bugs-graph.ts';
import { PROGRAM_BUGS } from './bugs-programs.ts';
import { RECOVERY_BUGS } from './bugs-recovery.ts';
import { STORE_BUGS } from './bugs-store.ts';

/** Bugs that somebody might well write one day, each with the tests that have to notice. */
export const BUGS: readonly Bug[] = [
  ...ENGINE_BUGS,
  ...BUS_BUGS,
  ...STORE_BUGS,
  ...DECISION_BUGS,
  ...GRAPH_BUGS,
  ...EFFECT_BUGS,
  ...RECOVERY_BUGS,
  ...PROGRAM_BUGS,
];
