import { listSpecs } from '@holdpoint/workflows/files/spec-folder';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import type { Batch } from '../run/outcome.ts';
import type { Input, Inputs } from './inputs.ts';
import type { WorkflowLocation } from './location.ts';
import { type LoadedWorkflow, type Preparation, type PreparedRun, prepareRun } from './prepare.ts';

export type Item = PreparedRun & { readonly item?: string | undefined };
export type Runs = { readonly items: readonly Item[]; readonly batch?: Batch | undefined };

const refuse = (path: string, found: string, expected: string): Problem => ({
  code: 'WORKFLOW_SPEC_INPUT',
  severity: 'error',
  path,
  found,
  expected,
});

/** Parameters that `--spec-dir` sets for each run. */
const FROM_SPEC = ['spec_file', 'slug', 'branch'] as const;

/** Parameters that the command line sets. */
const givenNames = ({ template }: LoadedWorkflow, { positional, named, set }: Inputs): readonly string[] => {
  const { cli } = template;
  const flags = new Map(Object.entries(cli.named).map(([flag, param]) => [flag.replaceAll('-', '_'), param]));
  const parameter = (name: string): string => flags.get(name) ?? name;
  return [
    ...named.map(([name]) => parameter(name)),
    ...set.map(([name]) => name),
    ...positional.flatMap((_, i) => cli.positional[i] ?? []),
  ];
};

const batchProblems = (workflow: LoadedWorkflow, inputs: Inputs): readonly Problem[] => {
  const given = givenNames(workflow, inputs);
  const twice = FROM_SPEC.filter((name) => given.includes(name));
  return [
    ...twice.map((name) => refuse(name, 'a value', 'none: --spec-dir sets it for each run')),
    ...(workflow.template.params.has('spec_file')
      ? []
      : [refuse('params', 'no parameter spec_file', 'a workflow with spec_file, for --spec-dir')]),
  ];
};

/** One run per specification. Prepares all of them or none. */
const prepareSpecs = (
  location: WorkflowLocation,
  workflow: LoadedWorkflow,
  inputs: Inputs,
  dir: string,
): Preparation<Runs> => {
  const refused = batchProblems(workflow, inputs);
  const { specs, problems } = listSpecs(location.root, dir);
  if (refused.length + problems.length > 0) return { problems: [...refused, ...problems] };
  const prepared = specs.map(({ file, slug, branch }) => {
    const own: readonly Input[] = [
      ['spec_file', file],
      ['slug', slug],
      ['branch', branch],
    ];
    const set = [...inputs.set, ...own.filter(([name]) => workflow.template.params.has(name))];
    return { file, ...prepareRun(location, workflow, { ...inputs, set }) };
  });
  const found = prepared.flatMap(({ file, problems: own }) =>
    own.map((problem): Problem => ({ ...problem, path: `${file}: ${problem.path}` })),
  );
  const items = prepared.flatMap(({ file, value }) =>
    value === undefined ? [] : [{ ...value, item: file }],
  );
  if (items.length < specs.length) return { problems: found };
  return { value: { items, batch: { batch_dir: dir, spec_count: specs.length } }, problems: found };
};

export const prepareRuns = (
  location: WorkflowLocation,
  workflow: LoadedWorkflow,
  inputs: Inputs,
  { specDir, repeat }: { readonly specDir?: string | undefined; readonly repeat?: number | undefined },
): Preparation<Runs> => {
  if (specDir !== undefined) return prepareSpecs(location, workflow, inputs, specDir);
  const { value, problems } = prepareRun(location, workflow, inputs);
  if (value === undefined) return { problems };
  const count = repeat ?? 1;
  return {
    value: {
      items: Array.from({ length: count }, () => value),
      batch: count === 1 ? undefined : { repeat: count },
    },
    problems,
  };
};
