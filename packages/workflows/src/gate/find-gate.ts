import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { nearestName } from '../problems/problem.ts';
import { shown, readFailure, type Report } from '../problems/report.ts';
import { parseGate } from './parse.ts';
import { KIND_INPUT } from './problems.ts';

/** The gate of effects that name none. */
export const DEFAULT_GATE = 'approval_recovery_v2';

export type FoundGate = {
  readonly gate: Gate;
  /** Shipped with Holdpoint, not from the repository. */
  readonly shipped: boolean;
};

/** Looks up a gate by name, or explains why there is none. Problems of its file are reported once. */
export type FindGate = (name: string) => FoundGate | { readonly why: string; readonly nearest?: string };

/** The text of a gate and its file. */
export type GateSource = { readonly file: string; readonly text: string; readonly shipped: boolean };

/** Reads a gate by name: the repository's own, or else the shipped one. */
export type ReadGate = (name: string) => GateSource | undefined;

const NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/;

/** An unreadable file is an error, even if a shipped gate has the same name. */
const sourceOf = (name: string, read: ReadGate, report: Report): GateSource | 'unread' | undefined => {
  try {
    return read(name);
  } catch (error) {
    const expected = 'a readable gate';
    report.error({ ...readFailure(error), path: '', expected, file: `${name}.yaml` });
    return 'unread';
  }
};

const look = (name: string, read: ReadGate, report: Report): ReturnType<FindGate> => {
  if (!NAME.test(name)) return { why: `${shown(name)}, which is not a valid gate name` };
  const source = sourceOf(name, read, report);
  if (source === 'unread') return { why: `${shown(name)}, an unreadable file` };
  if (source === undefined) {
    const nearest = nearestName(name, [DEFAULT_GATE]);
    return { why: shown(name), ...(nearest !== undefined && { nearest }) };
  }
  const gate = parseGate(source.text, source.file, report);
  if (gate === undefined) return { why: `${shown(name)}, which has errors (${source.file})` };
  if (gate.id === name) return { gate, shipped: source.shipped };
  report.error({
    code: 'WORKFLOW_GATE_ID',
    path: 'id',
    found: shown(gate.id),
    expected: `${name}, like its file name`,
    file: source.file,
  });
  return { why: `${shown(name)}, whose id differs (${source.file})` };
};

/** Looks up each gate once. */
export const gateFinder = (read: ReadGate, report: Report): FindGate => {
  const known = new Map<string, ReturnType<FindGate>>();
  return (name) => {
    const found = known.get(name) ?? look(name, read, report);
    known.set(name, found);
    return found;
  };
};

/** Fills the input `side_effect_kind` of a gate, if it has one. */
export const forKind = (gate: Gate, kind: SideEffectKind): Gate =>
  Object.hasOwn(gate.inputs, KIND_INPUT) ? { ...gate, given: { ...gate.given, [KIND_INPUT]: kind } } : gate;
