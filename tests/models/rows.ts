import { expect } from 'vitest';
import { examine, HOLDS, type Model, type Verdict } from './examine.ts';

/** A model and its expected verdict. */
export type Row<World> = {
  readonly name: string;
  readonly model: Model<World>;
  readonly verdict: string;
  /** With fewer worlds than this, a step has become impossible. */
  readonly worldsKnown?: number;
};

export const holding = <World>(name: string, model: Model<World>, worldsKnown: number): Row<World> => ({
  name,
  model,
  verdict: HOLDS,
  worldsKnown,
});
/** A mutant may cause several faults; only this one counts, so that its way is printed. */
export const caught = <World>(name: string, model: Model<World>, verdict: string): Row<World> => ({
  name: `mutant: ${name}`,
  model: { ...model, wrong: (world) => model.wrong(world).filter((fault) => fault === verdict) },
  verdict,
});

/** Examines rows and prints a line for each. */
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
