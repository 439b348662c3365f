import type { OfferedWorkflow } from '@holdpoint/contracts/workflow/offered-workflow';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { heldEffect } from './held-effect.ts';
import { http } from './http.ts';
import { rollback } from './rollback.ts';
import { sample } from './sample.ts';
import { undo } from './undo.ts';

/** A built-in workflow: makes the definition of one submission, with every argument resolved. */
export type BuiltInWorkflow = {
  readonly id: string;
  readonly version: string;
  readonly define: (submission: SubmitTask) => Defined;
  /** How the console offers it. Left out for a workflow that only services start. */
  readonly offer?: Offer;
};

export type Offer = Pick<OfferedWorkflow, 'title' | 'repository' | 'inputs'>;

/** The definition, or the problems of the submission. */
export type Defined = WorkflowDefinition | { readonly problems: readonly string[] };

export const builtIn: readonly BuiltInWorkflow[] = [sample, http, heldEffect, undo, rollback];

export const workflowNames = (workflows: readonly BuiltInWorkflow[]): readonly string[] =>
  workflows.map(({ id, version }) => `${id}@${version}`);

/** Finds `id` (its latest version) or `id@version`. */
export const findWorkflow = (
  workflows: readonly BuiltInWorkflow[],
  reference: string,
): BuiltInWorkflow | undefined => {
  const candidates = workflows.filter(
    ({ id, version }) => reference === id || reference === `${id}@${version}`,
  );
  return candidates.toSorted((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }))[0];
};

/** The latest version of each workflow that people can start. */
export const offered = (workflows: readonly BuiltInWorkflow[]): readonly OfferedWorkflow[] => {
  const names = new Set(workflows.flatMap(({ id, offer }) => (offer === undefined ? [] : [id])));
  return [...names].flatMap((name) => {
    const found = findWorkflow(workflows, name);
    if (found?.offer === undefined) return [];
    const { id, version, offer } = found;
    return [{ id, version, kind: 'built_in', ...offer }];
  });
};
