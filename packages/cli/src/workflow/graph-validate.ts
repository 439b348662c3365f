import type { Command } from 'commander';
import { drawGraph, DRAWING_FORMATS, type DrawingFormat } from '@holdpoint/workflows/drawing/draw-graph';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import { oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import { validationJson, validationLines } from './check-text.ts';
import { collectPair, type Input } from './inputs.ts';
import { openLocation } from './location.ts';
import { isGateFile, validateGate } from './gates.ts';
import { loadWorkflow, type LoadedWorkflow, prepareForValidation, type PreparedRun } from './prepare.ts';
import { reportProblems } from './problems.ts';
import type { Session } from '../kit/session.ts';

type Options = { readonly set?: readonly Input[]; readonly repository?: string };

type Look = {
  readonly workflow?: LoadedWorkflow;
  readonly value?: PreparedRun;
  readonly problems: readonly Problem[];
};

const load = (
  session: Session,
  name: string,
  positional: readonly string[],
  { set = [], repository }: Options,
): Look => {
  const location = openLocation(session, repository);
  const { value: workflow, problems } = loadWorkflow(location, name);
  if (workflow === undefined) return { problems };
  const { value, problems: more } = prepareForValidation(location, workflow, { positional, named: [], set });
  return { workflow, ...(value !== undefined && { value }), problems: [...problems, ...more] };
};

const withPlace = (command: Command): Command =>
  command
    .option('--set <name=value>', 'value of a parameter (repeatable)', collectPair)
    .option('-C, --repository <directory>', 'repository to use (default: the current directory)');

const addGraph = (workflow: Command, session: Session): void => {
  const command = workflow
    .command('graph')
    .description('draw the graph of a workflow')
    .argument('<workflow>', 'a file, an alias in the configuration, or <id>@<version>')
    .argument('[inputs...]', 'inputs by position')
    .option('--format <format>', DRAWING_FORMATS.join(', '), oneOf(DRAWING_FORMATS), 'ascii');
  withExample(
    withPlace(command).action(
      (workflow: string, inputs: readonly string[], options: Options & { format: DrawingFormat }) =>
        session.local(() => {
          const { value, problems } = load(session, workflow, inputs, options);
          const stopped = reportProblems(problems, session, false);
          if (stopped !== undefined || value === undefined) return stopped;
          session.lines(drawGraph(value.definition, options.format).replace(/\n$/, '').split('\n'));
          return EXIT.ok;
        }),
    ),
    'workflow graph draft --format mermaid',
  );
};

const addValidate = (workflow: Command, session: Session): void => {
  const command = workflow
    .command('validate')
    .description('check workflows and gates, and list every problem; works offline')
    .argument('<workflows...>', 'workflows (files, aliases, <id>@<version>) and gate files')
    .option('--json', 'print the result as JSON');
  withExample(
    withPlace(command).action((flows: readonly string[], options: Options & { json?: true }) =>
      session.local(() => {
        const json = options.json === true;
        const codes = flows.map((name) => {
          if (isGateFile(name)) return validateGate(session, name, options);
          const { workflow, value, problems } = load(session, name, [], options);
          const stopped = reportProblems(problems, session, json);
          if (stopped !== undefined || value === undefined || workflow === undefined)
            return stopped ?? EXIT.failed;
          const runs = { items: [value] };
          if (json) session.json(validationJson(workflow, runs));
          else session.lines(validationLines(workflow, runs));
          return EXIT.ok;
        });
        return Math.max(...codes);
      }),
    ),
    'workflow validate draft approve merge',
    'workflow validate .holdpoint/workflows/develop.toml .holdpoint/gates/release.yaml --json',
  );
};

export const addGraphAndValidate = (workflow: Command, session: Session): void => {
  addGraph(workflow, session);
  addValidate(workflow, session);
};
