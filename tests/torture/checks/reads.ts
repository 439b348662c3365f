import type { Operation } from '../history.ts';
import { type Check, type Finding, takeNotes } from './check.ts';

type Seen = { readonly invoked: number; readonly returned: number; readonly version: number };

const versionOf = ({ value }: Operation): number | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && typeof value['version'] === 'number'
    ? value['version']
    : undefined;

/** Every answer with a version of the task. */
const seenBy = (operations: readonly Operation[]): readonly Seen[] => {
  const invoked = new Map(operations.filter(({ type }) => type === 'invoke').map(({ call, t }) => [call, t]));
  return operations.flatMap((operation) => {
    const version =
      operation.type === 'ok' && operation.op.startsWith('orchestrator.') ? versionOf(operation) : undefined;
    const from = invoked.get(operation.call);
    return version === undefined || from === undefined
      ? []
      : [{ invoked: from, returned: operation.t, version }];
  });
};

type TaskOperations = { readonly id: string; readonly operations: readonly Operation[] };

const neverBack = ({ id, operations }: TaskOperations): Finding => {
  const { expect, finding } = takeNotes(id);
  const seen = seenBy(operations);
  for (const one of seen) {
    const before = seen.filter(({ returned }) => returned < one.invoked);
    const newest = Math.max(0, ...before.map(({ version }) => version));
    expect(
      one.version >= newest,
      () => `version ${String(one.version)} was shown after version ${String(newest)}`,
    );
  }
  return finding();
};

export const reads: Check = {
  id: 'K2',
  promise: 'a read never shows an older version than an earlier read',
  ofTask: neverBack,
  ofProgram: neverBack,
};
