import type { SubmitTask } from '@holdpoint/contracts/task';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow';
import { http } from './http.ts';
import { rollback } from './rollback.ts';
import { sample } from './sample.ts';
import { undo } from './undo.ts';

/** A workflow that ships with Holdpoint: makes the definition, with every argument resolved, for one submission. */
export type BuiltInWorkflow = {
  readonly id: string;
  readonly version: string;
  readonly define: (submission: SubmitTask) => Defined;
};

/** What is to be run, or what is wrong with what was asked for. */
export type Defined = WorkflowDefinition | { readonly problems: readonly string[] };

export const builtIn: readonly BuiltInWorkflow[] = [sample, http, undo, rollback];

export const workflowNames = (workflows: readonly BuiltInWorkflow[]): readonly string[] =>
  workflows.map(({ id, version }) => `${id}@${version}`);

/** Finds `id` (its latest version) or `id@version`. */
export const findWorkflow = (
  workflows: readonly BuiltInWorkflow[],
  reference: string,
): BuiltInWorkflow | undefined => {
  const candidates = workflows.filter(({ id, version }) => [id, `${id}@${version}`].includes(reference));
  return candidates.toSorted((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }))[0];
};
