import type { SubmitTask } from '@holdpoint/contracts/task';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow';
import { http } from './http.ts';
import { sample } from './sample.ts';

/** A workflow that ships with Holdpoint: makes the definition, with every argument resolved, for one submission. */
export type BuiltInWorkflow = {
  readonly id: string;
  readonly version: number;
  readonly define: (submission: SubmitTask) => WorkflowDefinition;
};

export const builtIn: readonly BuiltInWorkflow[] = [sample, http];

export const workflowNames = (workflows: readonly BuiltInWorkflow[]): readonly string[] =>
  workflows.map(({ id, version }) => `${id}@${String(version)}`);

/** Finds `id` (its latest version) or `id@version`. */
export const findWorkflow = (
  workflows: readonly BuiltInWorkflow[],
  reference: string,
): BuiltInWorkflow | undefined => {
  const candidates = workflows.filter(({ id, version }) =>
    [id, `${id}@${String(version)}`].includes(reference),
  );
  return candidates.toSorted((a, b) => b.version - a.version)[0];
};
