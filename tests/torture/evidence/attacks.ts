import { z } from 'zod';
import type { FaultEntry } from '../history.ts';

/** The attempts of one attack, as its fault notes them: their number, and the names of the accepted ones. */
export const Attack = z.object({ tried: z.int(), accepted: z.array(z.string()) });
export type Attack = z.infer<typeof Attack>;

export const attacksIn = (
  entries: readonly FaultEntry[],
): readonly (Attack & { readonly attacker: string })[] =>
  entries.flatMap(({ nemesis, type, value }) => {
    const { data } = Attack.safeParse(value);
    return type === 'end' && data !== undefined ? [{ ...data, attacker: nemesis }] : [];
  });
