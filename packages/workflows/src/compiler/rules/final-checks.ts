import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { definitionProblems } from '../../definition/definition-problems.ts';
import type { Problem } from '../../problems/problem.ts';
import { shown, type Report } from '../../problems/report.ts';
import { fieldPath, valueAt } from '../../reading/shape.ts';
import type { Template } from '../../template/template.ts';

/** The template's names for fields of a definition. */
const WRITTEN: Readonly<Record<string, string>> = {
  forEach: 'for_each',
  timeoutMs: 'timeout',
  gatePolicy: 'gates',
  script: 'gates',
  fixScript: 'args.auto_resolve_command',
  onError: 'on_error',
  maxRetries: 'max_retries',
  delayMs: 'delay_ms',
  idempotencyKey: 'idempotency_key',
  rollbackHint: 'rollback_hint',
  typeId: 'custom.type_id',
};

const NODE_PATH = /^nodes\[([^\]]*)\]/;

/** Translates a path of the definition into one of the template. */
const writtenPath = (path: string): string => {
  const node = NODE_PATH.exec(path)?.[0] ?? '';
  const [, first = '', ...rest] = path.slice(node.length).split('.');
  if (node === '' || first === '') return path;
  const parts = [first, ...rest].map((part, depth) => {
    if (first === 'effect' && part === 'kind') return 'side_effect_kind';
    // The author chooses the names of arguments.
    return first === 'args' && depth > 0 ? part : Object.hasOwn(WRITTEN, part) ? WRITTEN[part] : part;
  });
  return [node, ...parts].join('.');
};

/** Limits of the contract that no earlier rule checks, such as the length of a text. */
const shapeProblems = (definition: WorkflowDefinition): readonly Problem[] =>
  (WorkflowDefinition.safeParse(definition).error?.issues ?? []).map((issue) => ({
    code: 'WORKFLOW_VALUE_INVALID',
    severity: 'error',
    path: fieldPath(definition, issue.path),
    found: shown(valueAt(definition, issue.path)),
    expected: issue.message,
  }));

/** Checks the finished definition and reports problems at their place in the template, each once. */
export const finalChecks = (definition: WorkflowDefinition, template: Template, report: Report): void => {
  const files = new Map(template.nodes.map(({ id, file }) => [id, file]));
  const errors = report.problems.filter(({ severity }) => severity === 'error');
  const places = new Set(errors.map(({ path }) => path));
  const said = new Set(errors.map(({ code, path }) => `${code} ${path}`));
  const add = (
    { severity, path: found, nearest, ...problem }: Problem,
    again: (path: string) => boolean,
  ): void => {
    const path = writtenPath(found);
    if (again(path)) return;
    const file = files.get(NODE_PATH.exec(path)?.[1] ?? '') ?? template.file;
    report[severity]({ ...problem, path, file, ...(nearest !== undefined && { nearest }) });
  };
  for (const problem of shapeProblems(definition)) add(problem, (path) => places.has(path));
  for (const problem of definitionProblems(definition)) {
    add(problem, (path) => {
      const sameField = /\.(?:uses|effect)$/.test(path) && places.has(path);
      return sameField || said.has(`${problem.code} ${path}`);
    });
  }
};
