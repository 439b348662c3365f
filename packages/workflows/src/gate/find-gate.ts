import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { nearestName } from '../problems/problem.ts';
import { shown, readFailure, type Report } from '../problems/report.ts';
import { parseGate } from './parse.ts';
import { KIND_INPUT } from './problems.ts';

/** How every effect is gated that names no gate. */
export const DEFAULT_GATE = 'approval_recovery_v2';

export type FoundGate = {
  readonly gate: Gate;
  /** As it came with Holdpoint, and not from a repository. */
  readonly shipped: boolean;
};

/** A gate by its name, or why there is none. Whatever is wrong with its file is in the report, once. */
export type FindGate = (name: string) => FoundGate | { readonly why: string; readonly nearest?: string };

/** The text of a gate, and where it comes from. */
export type GateSource = { readonly file: string; readonly text: string; readonly shipped: boolean };

/** Reads a gate by its name: that of a repository, else the one that comes with Holdpoint. */
export type ReadGate = (name: string) => GateSource | undefined;

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** A file that cannot be read is not passed over. */
const sourceOf = (name: string, read: ReadGate, report: Report): GateSource | 'unread' | undefined => {
  try {
    return read(name);
  } catch (error) {
    const expected = 'a gate that can be read';
    report.error({ ...readFailure(error), path: '', expected, file: `${name}.yaml` });
    return 'unread';
  }
};

const look = (name: string, read: ReadGate, report: Report): ReturnType<FindGate> => {
  if (!NAME.test(name)) return { why: `${shown(name)}, which can be no name of a gate` };
  const source = sourceOf(name, read, report);
  if (source === 'unread') return { why: `${shown(name)}, whose file cannot be read` };
  if (source === undefined) {
    const nearest = nearestName(name, [DEFAULT_GATE]);
    return { why: shown(name), ...(nearest !== undefined && { nearest }) };
  }
  const gate = parseGate(source.text, source.file, report);
  if (gate === undefined) return { why: `${shown(name)}, with which something is wrong (${source.file})` };
  if (gate.id === name) return { gate, shipped: source.shipped };
  report.error({
    code: 'WORKFLOW_GATE_ID',
    path: 'id',
    found: shown(gate.id),
    expected: `${name}, as its file is called`,
    file: source.file,
  });
  return { why: `${shown(name)}, whose id is another (${source.file})` };
};

/** Looks gates up, each once. */
export const gateFinder = (read: ReadGate, report: Report): FindGate => {
  const known = new Map<string, ReturnType<FindGate>>();
  return (name) => {
    const found = known.get(name) ?? look(name, read, report);
    known.set(name, found);
    return found;
  };
};

/** A gate for effects of one kind: an input of that name is given it. */
export const forKind = (gate: Gate, kind: SideEffectKind): Gate =>
  Object.hasOwn(gate.inputs, KIND_INPUT) ? { ...gate, given: { ...gate.given, [KIND_INPUT]: kind } } : gate;
