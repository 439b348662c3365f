import type { Gate } from '@holdpoint/contracts/workflow/gate';
import { DEFAULT_GATE, gateFinder, type ReadGate } from '../gate/find-gate.ts';
import { createReport } from '../problems/report.ts';
import type { ReadFile } from './read-inside.ts';
import { shippedGate } from './shipped.ts';

/** Where gates stand in a repository; the first folder that has one of a name counts. */
export const GATE_FOLDERS = ['.holdpoint/gates', '.vizier/gates'] as const;

/** The gates that effects of a repository can name. `read` sees to it that nothing outside of it is read. */
export const gatesIn =
  (read: ReadFile): ReadGate =>
  (name) => {
    for (const folder of GATE_FOLDERS) {
      const file = `${folder}/${name}.yaml`;
      const text = read(file);
      if (text !== undefined) return { file, text, shipped: false };
    }
    const text = shippedGate(name);
    return text === undefined ? undefined : { file: `${name}.yaml`, text, shipped: true };
  };

/** The gate that comes with Holdpoint, as it is for effects that leave out theirs. */
export const defaultGate = (): Gate => {
  const found = gateFinder(
    gatesIn(() => undefined),
    createReport(),
  )(DEFAULT_GATE);
  if (!('gate' in found)) throw new Error(`the default gate is none: ${found.why}`);
  return found.gate;
};
