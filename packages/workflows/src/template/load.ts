import type { Problem } from '../problems/problem.ts';
import { compose, type Import } from './compose.ts';
import { parseTemplate } from './parse.ts';
import { folderOf, repositoryPath } from './paths.ts';
import { createReport, hasErrors, shown, readFailure, type Report } from '../problems/report.ts';
import type { TemplateFile } from './schema.ts';
import { importable, type Stage } from './stage.ts';
import type { Template } from './template.ts';

/** Returns the text of a file by its path in the repository, or undefined. */
export type ReadFile = (path: string) => string | undefined;

/** Limit over all files of one template; far above real use. */
const IMPORTS_MAX = 200;

type Loading = {
  readonly read: ReadFile;
  readonly report: Report;
  /** Each file is read and composed once, however often it is imported. */
  readonly stages: Map<string, Stage | undefined>;
  imports: number;
};

const readText = (
  path: string,
  importer: string | undefined,
  { read, report }: Loading,
): string | undefined => {
  let problem = { code: 'WORKFLOW_FILE_MISSING', found: 'no such file' };
  try {
    const text = read(path);
    if (text !== undefined) return text;
  } catch (error) {
    problem = readFailure(error);
  }
  const expected = importer === undefined ? 'a template file' : `the file that ${importer} imports`;
  report.error({ ...problem, path: '', expected, file: path });
  return undefined;
};

const FORMATS = /\.(toml|json)$/;

const readTemplate = (
  path: string,
  importer: string | undefined,
  loading: Loading,
): TemplateFile | undefined => {
  if (FORMATS.test(path)) {
    const text = readText(path, importer, loading);
    return text === undefined ? undefined : parseTemplate(text, path, loading.report);
  }
  loading.report.error({
    code: 'WORKFLOW_FILE_FORMAT',
    path: '',
    found: shown(path),
    expected: 'a file that ends in .toml or .json',
    file: path,
  });
  return undefined;
};

/** The files on the import path, outermost first. */
type Chain = readonly string[];

const importOf = (
  { name, path }: { readonly name: string; readonly path: string },
  field: string,
  chain: Chain,
  loading: Loading,
): Import | undefined => {
  const importer = chain.at(-1) ?? '';
  const refuse = (code: string, found: string, expected: string): undefined => {
    loading.report.error({ code, path: field, found, expected, file: importer });
  };
  loading.imports += 1;
  if (loading.imports > IMPORTS_MAX) {
    if (loading.imports > IMPORTS_MAX + 1) return undefined;
    return refuse('WORKFLOW_IMPORTS_MANY', 'more imports', `at most ${String(IMPORTS_MAX)} in one template`);
  }
  const at = repositoryPath(folderOf(importer), path);
  if ('refused' in at)
    return refuse('WORKFLOW_FILE_PATH', `${at.refused} (${shown(path)})`, 'a file of the repository');
  if (chain.includes(at.path))
    return refuse('WORKFLOW_IMPORT_CYCLE', [...chain, at.path].join(' -> '), 'imports without a cycle');
  const stage = stageAt(at.path, chain, loading);
  return stage === undefined ? undefined : { name, stage };
};

const stageOf = (path: string, before: Chain, loading: Loading): Stage | undefined => {
  const file = readTemplate(path, before.at(-1), loading);
  if (file === undefined) return undefined;
  const chain = [...before, path];
  const wanted = file.imports ?? [];
  const imports = wanted
    .map((one, index) => importOf(one, `imports[${String(index)}].path`, chain, loading))
    .filter((one) => one !== undefined);
  // An incomplete template cannot be judged.
  return imports.length < wanted.length ? undefined : compose(file, path, imports, loading.report);
};

const stageAt = (path: string, chain: Chain, loading: Loading): Stage | undefined => {
  if (!loading.stages.has(path)) {
    const stage = stageOf(path, chain, loading);
    loading.stages.set(path, stage === undefined ? undefined : importable(stage, path, loading.report));
  }
  return loading.stages.get(path);
};

const templateOf = (
  { file, params, contracts, nodes }: Stage,
  path: string,
  problems: readonly Problem[],
): Template => ({
  sound: !hasErrors(problems),
  file: path,
  id: file.id,
  version: file.version,
  params,
  cli: { positional: file.cli?.positional ?? [], named: file.cli?.named ?? {} },
  policy: file.policy ?? {},
  contracts: [...contracts.values()],
  nodes,
});

/**
 * Loads a template with its imports. Returns it as soon as all files parse, so that later checks can report
 * further problems; with any error it never becomes a definition.
 */
export const loadTemplate = (
  entry: string,
  read: ReadFile,
): { readonly template?: Template; readonly problems: readonly Problem[] } => {
  const report = createReport();
  const at = repositoryPath('', entry);
  if ('refused' in at) {
    const found = `${at.refused} (${shown(entry)})`;
    report.error({ code: 'WORKFLOW_FILE_PATH', path: '', found, expected: 'a file of the repository' });
    return { problems: report.problems };
  }
  const stage = stageOf(at.path, [], { read, report, stages: new Map(), imports: 0 });
  if (stage === undefined) return { problems: report.problems };
  if (stage.nodes.length === 0) {
    if (!hasErrors(report.problems))
      report.error({
        code: 'WORKFLOW_EMPTY',
        path: 'nodes',
        found: 'no nodes',
        expected: 'a node',
        file: at.path,
      });
    return { problems: report.problems };
  }
  return { template: templateOf(stage, at.path, report.problems), problems: report.problems };
};
