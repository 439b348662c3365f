import type { Gate } from '@holdpoint/contracts/workflow/gate';
import { DEFAULT_GATE, gateFinder, type ReadGate } from '../gate/find-gate.ts';
import { createReport } from '../problems/report.ts';
import type { ReadFile } from './read-inside.ts';
import { shippedGate } from './shipped.ts';

/** The folders with gates; the first one that contains a name wins. */
export const GATE_FOLDERS = ['.holdpoint/gates', '.vizier/gates'] as const;

/** Reads gates of a repository and shipped gates. `read` must confine paths to the repository. */
export const gateReader =
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

/** The shipped default gate. */
export const defaultGate = (): Gate => {
  const found = gateFinder(
    gateReader(() => undefined),
    createReport(),
  )(DEFAULT_GATE);
  if (!('gate' in found)) throw new Error(`the default gate is invalid: ${found.why}`);
  return found.gate;
};
