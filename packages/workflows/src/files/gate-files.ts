import { readdirSync } from 'node:fs';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import { DEFAULT_GATE, gateFinder } from '../gate/find-gate.ts';
import { parseGate } from '../gate/parse.ts';
import type { Problem } from '../problems/problem.ts';
import { createReport } from '../problems/report.ts';
import { byBytes } from './byte-order.ts';
import { confine } from './confine.ts';
import { fileProblem, systemCode, WorkflowFileError } from './file-error.ts';
import { GATE_FOLDERS, gateReader } from './gate-source.ts';
import { readInside } from './read-inside.ts';
import { SHIPPED_GATES } from './shipped.ts';

/** A gate that effects in a repository can name. */
export type ListedGate = {
  readonly name: string;
  /** Relative to the repository; undefined for a shipped gate. */
  readonly file?: string;
  /** Undefined when the gate has errors. */
  readonly gate?: Gate;
  readonly problems: readonly Problem[];
  /** Used by effects that name no gate. */
  readonly isDefault: boolean;
};

export type GateFile = {
  readonly text?: string;
  readonly gate?: Gate;
  readonly problems: readonly Problem[];
};

/** Far more gates than one folder needs. */
const FILES_MAX = 500;
const NAME = /^([a-z0-9][a-z0-9_-]{0,63})\.yaml$/;

const namesIn = (root: string, folder: string): readonly string[] => {
  const target = confine(root, folder);
  if (target === undefined) return [];
  try {
    return readdirSync(target.real)
      .flatMap((file) => NAME.exec(file)?.[1] ?? [])
      .sort(byBytes)
      .slice(0, FILES_MAX);
  } catch (cause) {
    throw new WorkflowFileError('WORKFLOW_FILE_UNREADABLE', folder, systemCode(cause) ?? 'an error', {
      cause,
    });
  }
};

/** Lists all gates that effects in a repository can name, with their problems. */
export const listGates = (
  root: string,
): { readonly gates: readonly ListedGate[]; readonly problems: readonly Problem[] } => {
  const files = new Map<string, string>();
  const problems: Problem[] = [];
  for (const folder of GATE_FOLDERS) {
    try {
      for (const name of namesIn(root, folder))
        if (!files.has(name)) files.set(name, `${folder}/${name}.yaml`);
    } catch (error) {
      if (!(error instanceof WorkflowFileError)) throw error;
      problems.push(fileProblem(error));
    }
  }
  const names = [...new Set([...files.keys(), ...SHIPPED_GATES])].sort(byBytes);
  const gates = names.map((name): ListedGate => {
    const file = files.get(name);
    const { gate, problems: own } = findGateOf(root, name);
    return {
      name,
      ...(file !== undefined && { file }),
      ...(gate !== undefined && { gate }),
      problems: own,
      isDefault: name === DEFAULT_GATE,
    };
  });
  return { gates, problems };
};

const problemOf = (found: string, expected: string): Problem => ({
  code: 'WORKFLOW_EFFECT_GATE',
  severity: 'error',
  path: '',
  found,
  expected,
});

/** The gate with this name, as an effect in the repository would get it. */
export const findGateOf = (root: string, name: string): GateFile => {
  const report = createReport();
  const read = gateReader(readInside(root));
  const found = gateFinder(read, report)(name);
  if ('gate' in found) return { text: read(name)?.text ?? '', gate: found.gate, problems: report.problems };
  const nearest = found.nearest === undefined ? {} : { nearest: found.nearest };
  const missing = {
    ...problemOf(found.why, 'a gate in .holdpoint/gates or a shipped gate'),
    ...nearest,
  };
  return { problems: report.problems.length > 0 ? report.problems : [missing] };
};

/** Checks a file as a gate. */
export const checkGateFile = (root: string, path: string): GateFile => {
  try {
    const target = confine(root, path);
    const text = target === undefined ? undefined : readInside(root)(path);
    if (target === undefined || text === undefined)
      return { problems: [problemOf(`${path}: no such file`, 'a gate file')] };
    const report = createReport();
    const gate = parseGate(text, target.file, report);
    return { text, ...(gate !== undefined && { gate }), problems: report.problems };
  } catch (error) {
    if (!(error instanceof WorkflowFileError)) throw error;
    return { problems: [fileProblem(error)] };
  }
};
