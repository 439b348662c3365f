/** Seeds that once showed a bug. Every test run repeats them. */
export const REGRESSIONS: readonly {
  readonly seed: number;
  readonly tasks: number;
  readonly found: string;
}[] = [
  {
    seed: 11,
    tasks: 20,
    found:
      'the refusal of an order that somebody else had changed was taken for the refusal of the order itself',
  },
  {
    seed: 20_060,
    tasks: 40,
    found: 'what a person said of a doubt was told to an attempt before the one that had asked',
  },
  {
    seed: 316_277_779,
    tasks: 40,
    found: 'what one task had made was forgotten once another one had made it anew and taken that back',
  },
  {
    seed: 336_806_650,
    tasks: 40,
    found:
      'what became of an effect, told once and forgotten by the bus, was never asked for by its approval',
  },
  {
    seed: 1_021,
    tasks: 40,
    found:
      'what somebody had called off while it was under way was asked for anew by a program, and happened twice',
  },
];
