import { TOKEN } from '@holdpoint/contracts/bus/subjects';
import { shown, type Report } from '../problems/report.ts';
import type { RawArtifact, RawNode, TemplateFile } from './schema.ts';
import type { TemplateContract, TemplateNode } from './template.ts';

/** A file with its imports, before it is imported itself: its ids have no prefix. */
export type Stage = {
  readonly file: TemplateFile;
  readonly nodes: readonly TemplateNode[];
  readonly params: ReadonlyMap<string, string>;
  readonly contracts: ReadonlyMap<string, TemplateContract>;
};

/** The id prefix of an imported stage. */
export const prefixOf = (name: string): string =>
  name
    .replaceAll(/[^A-Za-z0-9_-]/g, '_')
    .replaceAll(/_+/g, '_')
    .replaceAll(/^_|_$/g, '');

/** The key of an output names a node, so it gets the prefix too. Other keys are shared by all stages. */
const artifactIn = (artifact: RawArtifact, rename: (id: string) => string): RawArtifact =>
  artifact.custom?.type_id === 'operation_output'
    ? { custom: { ...artifact.custom, key: rename(artifact.custom.key) } }
    : artifact;

const outcomesIn = <Value>(
  routes: { readonly [outcome in 'succeeded' | 'failed' | 'blocked' | 'cancelled']?: Value | undefined },
  change: (value: Value) => Value,
): { [outcome in 'succeeded' | 'failed' | 'blocked' | 'cancelled']?: Value } => ({
  ...(routes.succeeded !== undefined && { succeeded: change(routes.succeeded) }),
  ...(routes.failed !== undefined && { failed: change(routes.failed) }),
  ...(routes.blocked !== undefined && { blocked: change(routes.blocked) }),
  ...(routes.cancelled !== undefined && { cancelled: change(routes.cancelled) }),
});

const renamed = (node: TemplateNode, stage: string, known: ReadonlySet<string>): TemplateNode => {
  const rename = (id: string): string => (known.has(id) ? `${stage}__${id}` : id);
  const artifacts = (list: RawArtifact[]): RawArtifact[] => list.map((one) => artifactIn(one, rename));
  return {
    ...node,
    id: `${stage}__${node.id}`,
    stage: node.stage === undefined ? stage : `${stage}__${node.stage}`,
    ...(node.after !== undefined && {
      after: node.after.map((edge) => ({ ...edge, node_id: rename(edge.node_id) })),
    }),
    ...(node.on !== undefined && { on: outcomesIn(node.on, (targets) => targets.map(rename)) }),
    ...(node.needs !== undefined && { needs: artifacts(node.needs) }),
    ...(node.produces !== undefined && { produces: outcomesIn(node.produces, artifacts) }),
  };
};

type Refuse = (path: string, target: string) => boolean;

const knownEdges = (node: TemplateNode, refuse: Refuse): TemplateNode => {
  const on = Object.entries(node.on ?? {}).map(([outcome, targets]) => [
    outcome,
    targets?.filter((target, index) => !refuse(`on.${outcome}[${String(index)}]`, target)),
  ]);
  const after = node.after?.filter(
    ({ node_id }, index) => !refuse(`after[${String(index)}].node_id`, node_id),
  );
  return {
    ...node,
    ...(node.on !== undefined && { on: Object.fromEntries(on) as RawNode['on'] }),
    ...(after !== undefined && { after }),
  };
};

/** Removes duplicate nodes and unknown edges. Reports them here once, for all importers. */
const soundNodes = (
  nodes: readonly TemplateNode[],
  path: string,
  report: Report,
): readonly TemplateNode[] => {
  const known = new Set<string>();
  const first = nodes.filter(({ id }) => {
    const again = known.has(id);
    known.add(id);
    if (!again) return true;
    const expected = 'unique ids';
    report.error({
      code: 'WORKFLOW_STAGE_NODE_TWICE',
      path: `nodes[${id}].id`,
      found: shown(id),
      expected,
      file: path,
    });
    return false;
  });
  return first.map((node) =>
    knownEdges(node, (field, target) => {
      if (known.has(target)) return false;
      report.error({
        code: 'WORKFLOW_STAGE_NODE_UNKNOWN',
        path: `nodes[${node.id}].${field}`,
        found: shown(target),
        expected: 'the id of a node of this stage',
        meant: [target, known],
        file: path,
      });
      return true;
    }),
  );
};

/** Checks the nodes of a stage for import. */
export const importable = (stage: Stage, path: string, report: Report): Stage => {
  if (stage.nodes.length > 0) return { ...stage, nodes: soundNodes(stage.nodes, path, report) };
  report.error({
    code: 'WORKFLOW_STAGE_EMPTY',
    path: 'nodes',
    found: 'no nodes',
    expected: 'a node',
    file: path,
  });
  return stage;
};

/** The nodes of a stage with the prefix of an import. */
export const prefixed = (
  nodes: readonly TemplateNode[],
  prefix: string,
  file: string,
  report: Report,
): readonly TemplateNode[] => {
  const known = new Set(nodes.map(({ id }) => id));
  return nodes.map((node) => {
    const named = renamed(node, prefix, known);
    if (!TOKEN.test(named.id)) {
      report.error({
        code: 'WORKFLOW_NODE_ID_LONG',
        path: `nodes[${named.id}].id`,
        found: `${String(named.id.length)} characters with the names of its imports`,
        expected: 'at most 64',
        file,
      });
    }
    return named;
  });
};
