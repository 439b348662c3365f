/** Seeds that once showed a bug. Every test run repeats them. */
export const REGRESSIONS: readonly {
  readonly seed: number;
  readonly tasks: number;
  readonly found: string;
}[] = [
  {
    seed: 11,
    tasks: 20,
    found: 'the refusal of a forged order counted as the refusal of the real one',
  },
  {
    seed: 20_060,
    tasks: 40,
    found: 'the answer about an effect in doubt went to an earlier attempt',
  },
  {
    seed: 316_277_779,
    tasks: 40,
    found: 'an artifact was lost after another task replaced and withdrew it',
  },
  {
    seed: 336_806_650,
    tasks: 40,
    found: 'the bus lost an outcome that was published once, and its approval never requested it again',
  },
  {
    seed: 1_021,
    tasks: 40,
    found: 'a program requested a cancelled effect again, and it happened twice',
  },
  {
    seed: 382_754_512,
    tasks: 40,
    found: 'a cancellation of a task that was never submitted was resent without end',
  },
];
