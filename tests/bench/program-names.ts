/** What the programs of the bench are called, and how many phases the one has that does nothing. */
export const THREE_PROGRAM = 'bench.three';
export const HOPS_PROGRAM = 'bench.hops';
export const HOPS = 50;
