import assert from 'node:assert/strict';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { compileTemplate, hashOf, loadTemplate } from '@holdpoint/workflows/compiler/compile';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import { drawGraph } from '@holdpoint/workflows/drawing/draw-graph';
import { type Problem, problemText } from '@holdpoint/workflows/problems/problem';
import fc from 'fast-check';
import { jsonTemplateText, SHIPPED, templateText } from '../../hostile/templates.ts';
import { nastyText } from '../../hostile/strings.ts';
import { keepsPrototypesClean } from '../../promises.ts';
import { target } from '../../target.ts';
import { type Text, textOf } from '../../text.ts';

type Input = {
  readonly entry: Text;
  readonly files: Readonly<Record<string, Text>>;
  readonly set: Readonly<Record<string, Text>>;
  readonly positional: readonly Text[];
  readonly agent: boolean;
};

const PARAMETERS = ['slug', 'branch', 'target_branch', 'spec_text', 'cicd_script', 'nobody', '__proto__'];

const inputs = (entry: string, text: fc.Arbitrary<Text>): fc.Arbitrary<Input> =>
  fc.record({
    entry: fc.oneof({ weight: 12, arbitrary: fc.constant<Text>(entry) }, { weight: 1, arbitrary: nastyText }),
    files: fc.record({ [entry]: text, 'other.toml': templateText }),
    set: fc.oneof(
      { weight: 3, arbitrary: fc.constant({ slug: 'weekly', spec_text: 'do it' }) },
      { weight: 2, arbitrary: fc.dictionary(fc.constantFrom(...PARAMETERS), nastyText, { maxKeys: 4 }) },
    ),
    positional: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(nastyText, { maxLength: 3 }) },
    ),
    agent: fc.constantFrom(true, true, true, false),
  });

/** Every problem is one line with a code and a position. */
const checkProblem = (problem: Problem): void => {
  assert.match(problem.code, /^WORKFLOW_[A-Z_]+$/);
  assert.notEqual(problem.found, '');
  assert.notEqual(problem.expected, '');
  assert.match(problemText(problem), /^[^\r\n]+$/);
  // The path may be as long as the file name.
  assert.ok(problemText({ ...problem, file: '' }).replaceAll(problem.file ?? '-', '').length < 10_000);
  for (const place of [problem.line, problem.column]) assert.ok(place === undefined || place >= 1);
  if (problem.code === 'WORKFLOW_SYNTAX' && problem.file?.endsWith('.toml') === true)
    assert.ok(problem.line !== undefined && problem.column !== undefined);
};

const isError = ({ severity }: Problem): boolean => severity === 'error';
const DRAWINGS = ['ascii', 'mermaid', 'dot'] as const;

/** Any files of a repository are a list of problems, or a definition that every service accepts. */
export const templates = target<Input>({
  name: 'templates',
  runs: 150,
  reaches: ['accepted', 'WORKFLOW_SYNTAX', 'WORKFLOW_FILE_TOO_LARGE'],
  cases: { toml: inputs('flow.toml', templateText), json: inputs('flow.json', jsonTemplateText) },
  check: ({ entry, files, set, positional, agent }) => {
    const paths: string[] = [];
    const read = (path: string): string | undefined => {
      paths.push(path);
      const text = Object.hasOwn(files, path) ? files[path] : undefined;
      return text === undefined ? SHIPPED.find((file) => file.path.endsWith(`/${path}`))?.text : textOf(text);
    };
    const loaded = loadTemplate(textOf(entry), read);
    for (const problem of loaded.problems) checkProblem(problem);
    for (const path of paths) assert.doesNotMatch(path, /^\/|(^|\/)\.\.(\/|$)|\\|\0/);
    if (loaded.template === undefined) {
      assert.ok(loaded.problems.some(isError));
      return loaded.problems.find(isError)?.code ?? '';
    }
    const values = Object.fromEntries(Object.entries(set).map(([name, text]) => [name, textOf(text)]));
    const { definition, problems } = compileTemplate(loaded.template, {
      set: values,
      named: {},
      positional: positional.map(textOf),
      agentFor: () => (agent ? ['agent'] : undefined),
    });
    for (const problem of problems) checkProblem(problem);
    keepsPrototypesClean();
    assert.equal(definition === undefined, [...loaded.problems, ...problems].some(isError));
    if (definition === undefined) return [...loaded.problems, ...problems].find(isError)?.code ?? '';
    assert.deepEqual(WorkflowDefinition.parse(JSON.parse(JSON.stringify(definition))), definition);
    assert.deepEqual(definitionProblems(definition).filter(isError), []);
    assert.match(hashOf(definition), /^[0-9a-f]{64}$/);
    for (const format of DRAWINGS) assert.ok(drawGraph(definition, format).length > 0);
    return 'accepted';
  },
});
