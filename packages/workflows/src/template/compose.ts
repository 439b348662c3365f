import { edgesOfLinks } from './links.ts';
import { shown, type Report } from '../problems/report.ts';
import type { TemplateFile } from './schema.ts';
import { digestOf } from '@holdpoint/contracts/values/json';
import { prefixed, prefixOf, type Stage } from './stage.ts';
import type { TemplateContract, TemplateNode } from './template.ts';

/** The limit of a definition. */
const NODES_MAX = 20_000;

export type Import = { readonly name: string; readonly stage: Stage };

const mergeParams = (
  into: Map<string, string>,
  from: Iterable<readonly [string, string]>,
  file: string,
  report: Report,
): void => {
  for (const [name, value] of from) {
    const before = into.get(name);
    if (before !== undefined && before !== value) {
      report.error({
        code: 'WORKFLOW_PARAM_CONFLICT',
        path: `params.${name}`,
        found: `the defaults ${shown(before)} and ${shown(value)}`,
        expected: 'one default for all stages',
        file,
      });
    } else into.set(name, value);
  }
};

const sameContract = (one: TemplateContract, other: TemplateContract): boolean =>
  (one.version ?? '') === (other.version ?? '') &&
  digestOf(one.schema ?? null) === digestOf(other.schema ?? null);

const mergeContracts = (
  into: Map<string, TemplateContract>,
  from: Iterable<TemplateContract>,
  file: string,
  report: Report,
): void => {
  for (const contract of from) {
    const before = into.get(contract.id);
    if (before !== undefined && !sameContract(before, contract)) {
      report.error({
        code: 'WORKFLOW_CONTRACT_CONFLICT',
        path: contract.path,
        found: `${shown(contract.id)} in two versions or with two schemas`,
        expected: 'one contract for all stages',
        file,
      });
    } else if (before === undefined) into.set(contract.id, contract);
  }
};

/** The nodes of each import by its name. */
const stagesOf = (imports: readonly Import[], file: string, report: Report) => {
  const stages = new Map<string, readonly TemplateNode[]>();
  const prefixes = new Set<string>();
  let total = 0;
  for (const { name, stage } of imports) {
    const prefix = prefixOf(name);
    if (prefix === '' || prefixes.has(prefix)) {
      const found = shown(name);
      const expected = 'names that differ in letters, digits, - or _';
      report.error({ code: 'WORKFLOW_IMPORT_NAME', path: 'imports', found, expected, file });
      continue;
    }
    prefixes.add(prefix);
    total += stage.nodes.length;
    stages.set(name, total > NODES_MAX ? [] : prefixed(stage.nodes, prefix, file, report));
  }
  return { stages, total };
};

const ownNodes = (file: TemplateFile, path: string): readonly TemplateNode[] => {
  const scope = new Set(Object.keys(file.params ?? {}));
  return (file.nodes ?? []).map((node) => ({ ...node, file: path, scope }));
};

const linked = (nodes: readonly TemplateNode[], edges: ReadonlyMap<string, readonly string[]>) =>
  nodes.map((node) => {
    const more = edges.get(node.id);
    if (more === undefined) return node;
    const names = new Set([...(node.after ?? []).map(({ node_id }) => node_id), ...more]);
    return { ...node, after: [...names].map((node_id) => ({ node_id })) };
  });

/** Composes a file and its imported stages into one stage. */
export const compose = (
  file: TemplateFile,
  path: string,
  imports: readonly Import[],
  report: Report,
): Stage => {
  const params = new Map<string, string>();
  const contracts = new Map<string, TemplateContract>();
  for (const { stage } of imports) {
    mergeParams(params, stage.params, path, report);
    mergeContracts(contracts, stage.contracts.values(), path, report);
  }
  mergeParams(
    params,
    Object.entries(file.params ?? {}).map(([name, value]) => [name, String(value)]),
    path,
    report,
  );
  const own = (file.artifact_contracts ?? []).map((contract, index) => {
    return { ...contract, file: path, path: `artifact_contracts[${String(index)}]` };
  });
  mergeContracts(contracts, own, path, report);
  const { stages, total } = stagesOf(imports, path, report);
  const count = total + (file.nodes ?? []).length;
  if (count > NODES_MAX) {
    const expected = `at most ${String(NODES_MAX)}`;
    report.error({
      code: 'WORKFLOW_NODES_MANY',
      path: 'nodes',
      found: `${String(count)} nodes`,
      expected,
      file: path,
    });
  }
  const edges = edgesOfLinks(file.links ?? [], stages, path, report);
  const nodes = [...linked([...stages.values()].flat(), edges), ...ownNodes(file, path)];
  return { file, params, contracts, nodes: count > NODES_MAX ? [] : nodes };
};
