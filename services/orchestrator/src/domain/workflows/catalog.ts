import type { SubmitTask } from '@holdpoint/contracts/task';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow';
import { sample } from './sample.ts';

/** A workflow that ships with Holdpoint: makes the definition, with every argument resolved, for one submission. */
export type BuiltInWorkflow = {
  readonly id: string;
  readonly version: number;
  readonly define: (submission: SubmitTask) => WorkflowDefinition;
};

const builtIn: readonly BuiltInWorkflow[] = [sample];

export const workflowNames = (): readonly string[] =>
  builtIn.map(({ id, version }) => `${id}@${String(version)}`);

/** Finds `id` (its latest version) or `id@version`. */
export const findWorkflow = (reference: string): BuiltInWorkflow | undefined => {
  const candidates = builtIn.filter(({ id, version }) =>
    [id, `${id}@${String(version)}`].includes(reference),
  );
  return candidates.toSorted((a, b) => b.version - a.version)[0];
};
