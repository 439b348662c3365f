import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { compileTemplate, loadTemplate, type Template } from '@holdpoint/workflows/compiler/compile';
import { problemText } from '@holdpoint/workflows/problems/problem';
import type { BuiltInWorkflow, Defined } from './catalog.ts';
import { stageInputs, stageTitle } from './stage-inputs.ts';

type TemplateFile = { readonly path: string; readonly text: string };

const FOLDER = '.holdpoint/workflows/';
const ENDING = '.toml';
/** An example to copy into a repository; `sample` is its counterpart here. */
const EXAMPLE = `${FOLDER}hello${ENDING}`;

/** Parameters as on a command line: texts, numbers and booleans only. */
const parametersIn = (inputs: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(inputs).flatMap(([name, value]: [string, Json]) =>
      typeof value === 'object' ? [] : [[name, String(value)] as const],
    ),
  );

/** The agent command: a program and its arguments. */
const commandIn = (agent: Json | undefined): readonly string[] | undefined =>
  Array.isArray(agent) && agent.length > 0 && agent.every((word): word is string => typeof word === 'string')
    ? agent
    : undefined;

/** The goal is the default for the prompt. */
const withGoal = (template: Template, goal: string, given: Record<string, string>): Record<string, string> =>
  template.params.has('spec_text') && given['spec_text'] === undefined && given['spec_file'] === undefined
    ? { ...given, spec_text: goal }
    : given;

const wrongTypes = ({ agent, ...inputs }: JsonObject): readonly string[] => [
  ...Object.entries(inputs).flatMap(([name, value]) =>
    typeof value === 'object' ? [`input ${name}: a text, a number, true or false`] : [],
  ),
  ...(agent !== undefined && commandIn(agent) === undefined ? ['input agent: a list of texts'] : []),
];

const define = (template: Template, { goal, inputs = {} }: SubmitTask): Defined => {
  const wrong = wrongTypes(inputs);
  if (wrong.length > 0) return { problems: wrong };
  const { agent, ...rest } = inputs;
  const command = commandIn(agent);
  const { definition, problems } = compileTemplate(template, {
    set: withGoal(template, goal, parametersIn(rest)),
    named: {},
    positional: [],
    agentFor: () => command,
  });
  const errors = problems.filter(({ severity }) => severity === 'error');
  return definition !== undefined && errors.length === 0 ? definition : { problems: errors.map(problemText) };
};

/**
 * The built-in stage templates, for submissions without a file. Inputs: the parameters of the template, and
 * `agent`, the agent command as a list of strings.
 */
export const stageWorkflows = (files: readonly TemplateFile[]): readonly BuiltInWorkflow[] => {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  return files.flatMap(({ path, text }): readonly BuiltInWorkflow[] => {
    if (!path.startsWith(FOLDER) || path === EXAMPLE) return [];
    const id = path.slice(FOLDER.length, -ENDING.length);
    const { template, problems } = loadTemplate(path, (name) => texts.get(name));
    if (template === undefined) throw new Error(`${path}: ${problems.map(problemText).join('; ')}`);
    const title = stageTitle(text);
    const offer = {
      ...(title !== undefined && { title }),
      repository: 'needed',
      inputs: stageInputs(template),
    } as const;
    return [{ id, version: '1', offer, define: (submission) => define(template, submission) }];
  });
};
