import { listSpecs } from '@holdpoint/workflows/files/spec-folder';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import type { Batch } from '../run/outcome.ts';
import type { Input, Inputs } from './inputs.ts';
import type { FlowPlace } from './location.ts';
import { type LoadedFlow, type Prepared, type PreparedRun, prepareRun } from './prepare.ts';

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
const givenNames = ({ template }: LoadedFlow, { positional, named, set }: Inputs): readonly string[] => {
  const { cli } = template;
  const flags = new Map(Object.entries(cli.named).map(([flag, param]) => [flag.replaceAll('-', '_'), param]));
  const parameter = (name: string): string => flags.get(name) ?? name;
  return [
    ...named.map(([name]) => parameter(name)),
    ...set.map(([name]) => name),
    ...positional.flatMap((_, i) => cli.positional[i] ?? []),
  ];
};

const batchProblems = (flow: LoadedFlow, inputs: Inputs): readonly Problem[] => {
  const given = givenNames(flow, inputs);
  const twice = FROM_SPEC.filter((name) => given.includes(name));
  return [
    ...twice.map((name) => refuse(name, 'a value', 'none: --spec-dir sets it for each run')),
    ...(flow.template.params.has('spec_file')
      ? []
      : [refuse('params', 'no parameter spec_file', 'a workflow with spec_file, for --spec-dir')]),
  ];
};

/** One run per specification. Prepares all of them or none. */
const prepareSpecs = (place: FlowPlace, flow: LoadedFlow, inputs: Inputs, dir: string): Prepared<Runs> => {
  const refused = batchProblems(flow, inputs);
  const { specs, problems } = listSpecs(place.root, dir);
  if (refused.length + problems.length > 0) return { problems: [...refused, ...problems] };
  const prepared = specs.map(({ file, slug, branch }) => {
    const own: readonly Input[] = [
      ['spec_file', file],
      ['slug', slug],
      ['branch', branch],
    ];
    const set = [...inputs.set, ...own.filter(([name]) => flow.template.params.has(name))];
    return { file, ...prepareRun(place, flow, { ...inputs, set }) };
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
  place: FlowPlace,
  flow: LoadedFlow,
  inputs: Inputs,
  { specDir, repeat }: { readonly specDir?: string | undefined; readonly repeat?: number | undefined },
): Prepared<Runs> => {
  if (specDir !== undefined) return prepareSpecs(place, flow, inputs, specDir);
  const { value, problems } = prepareRun(place, flow, inputs);
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
