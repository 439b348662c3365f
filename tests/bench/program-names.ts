/** Names of the bench programs, and the number of phases of the idle one. */
export const THREE_PROGRAM = 'bench.three';
export const HOPS_PROGRAM = 'bench.hops';
export const HOPS = 50;
