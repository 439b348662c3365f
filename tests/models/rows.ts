import { expect } from 'vitest';
import { examine, HOLDS, type Model, type Verdict } from './examine.ts';

/** One line of a table: a model, and what has to come of it. */
export type Row<World> = {
  readonly name: string;
  readonly model: Model<World>;
  readonly verdict: string;
  /** Fewer worlds than this would mean that something which could happen no longer can. */
  readonly worldsKnown?: number;
};

export const holding = <World>(name: string, model: Model<World>, worldsKnown: number): Row<World> => ({
  name,
  model,
  verdict: HOLDS,
  worldsKnown,
});
/** A mutant may break several promises; this one is looked for, so that the way shown is the one to it. */
export const caught = <World>(name: string, model: Model<World>, verdict: string): Row<World> => ({
  name: `mutant: ${name}`,
  model: { ...model, wrong: (world) => model.wrong(world).filter((fault) => fault === verdict) },
  verdict,
});

/** Examines rows, and keeps a line about each for whoever reads the run. */
export const createTable = (title: string) => {
  const lines: string[] = [title];

  const tell = (name: string, { verdict, way, worlds }: Verdict<unknown>, ms: number): void => {
    lines.push(
      `  ${String(worlds.length).padStart(6)} worlds ${ms.toFixed(0).padStart(5)} ms  ${name}: ${verdict}`,
    );
    if (way.length > 0) lines.push(`${' '.repeat(26)}${way.join(' > ')}`);
  };

  return {
    expectRow: <World extends object>({
      name,
      model,
      verdict,
      worldsKnown,
    }: Row<World>): readonly World[] => {
      const begun = performance.now();
      const found = examine(model);
      tell(name, found, performance.now() - begun);
      expect(found.verdict, `${name}, after ${found.way.join(' > ')}`).toBe(verdict);
      if (worldsKnown !== undefined) expect(found.worlds.length).toBeGreaterThanOrEqual(worldsKnown);
      return found.worlds;
    },
    print: (): void => console.log(lines.join('\n')),
  };
};
