import { TaskId } from '@holdpoint/contracts/values/ids';
import { type Command, Option } from 'commander';
import { as, collect, goalText, wholeNumber } from '../kit/arguments.ts';
import { commandPath, withExample } from '../kit/example.ts';
import { prepareRuns } from './batch.ts';
import { validationJson, validationLines } from './check-text.ts';
import { execute } from '../run/execute.ts';
import { inputsHelp } from './inputs-help.ts';
import { collectPair, type Input } from './inputs.ts';
import { openLocation } from './location.ts';
import { loadWorkflow } from './prepare.ts';
import { reportProblems } from './problems.ts';
import { INPUT_FLAG } from './spell.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

const REPEAT_MAX = 1_000;

type Options = {
  readonly set?: readonly Input[];
  readonly inputNamed?: readonly Input[];
  readonly after?: readonly string[];
  readonly requireApproval?: boolean;
  readonly follow?: true;
  readonly check?: true;
  readonly repeat?: number;
  readonly specDir?: string;
  readonly goal?: string;
  readonly criterion?: readonly string[];
  readonly id?: TaskId;
  readonly json?: true;
  readonly repository?: string;
  readonly help?: true;
};

/** Options that conflict with --check, which starts nothing. */
const RUNTIME = ['after', 'requireApproval', 'follow', 'repeat'];

const declare = (parent: Command): Command =>
  parent
    .command('run')
    .description('run a workflow: a file, an alias in the configuration, or <id>@<version>')
    .argument('[workflow]', 'workflow to run')
    .argument('[inputs...]', 'inputs by position; by name as --name value')
    .option('--set <name=value>', 'value of a parameter (repeatable)', collectPair)
    .addOption(new Option(`${INPUT_FLAG} <name=value>`).argParser(collectPair).hideHelp())
    .option(
      '--after <job>',
      'start after <task>/<node>, <task>, or the last jobs of run:<task> (repeatable)',
      collect,
    )
    .option('--require-approval', 'require an approval before the first jobs start')
    .option('--no-require-approval', 'skip the approval that the workflow requires')
    .option(
      '--follow',
      'print output and progress until the run ends; exit code 0, 1 failed or cancelled, 10 blocked or left to a person',
    )
    .addOption(new Option('--check', 'only check whether the workflow could run').conflicts(RUNTIME))
    .option('--repeat <number>', 'number of runs, one after the other', wholeNumber(REPEAT_MAX))
    .addOption(
      new Option(
        '--spec-dir <directory>',
        'run once for each .md file below this directory, one after the other',
      ).conflicts('repeat'),
    )
    .option('--goal <text>', 'goal of the task (default: workflow and inputs)', goalText)
    .option('--criterion <text>', 'acceptance criterion of the task (repeatable)', collect)
    .option('--id <id>', 'task ID; submitting the same ID again returns the same task', as(TaskId))
    .option('--json', 'print the result as JSON')
    .option('-C, --repository <directory>', 'repository to use (default: the current directory)')
    .helpOption(false)
    .option('-h, --help', 'print help; with a workflow, print its inputs');

const approvalOf = ({ requireApproval }: Options): 'required' | 'none' | undefined => {
  if (requireApproval === undefined) return undefined;
  return requireApproval ? 'required' : 'none';
};

/** Commander would silently use the last one. */
const refuseBoth = (words: readonly string[]): void => {
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  if (own.includes('--require-approval') && own.includes('--no-require-approval'))
    throw new UsageError('use either --require-approval or --no-require-approval, not both');
};

const run = (
  session: Session,
  name: string,
  positional: readonly string[],
  options: Options,
): Promise<void> => {
  const json = options.json === true;
  const location = openLocation(session, options.repository);
  const loaded = loadWorkflow(location, name);
  const { value } = loaded;
  if (value === undefined || options.help === true)
    return session.local(() => {
      if (value !== undefined) session.lines(inputsHelp(value));
      return value === undefined ? reportProblems(loaded.problems, session, json) : undefined;
    });
  const inputs = { positional, named: options.inputNamed ?? [], set: options.set ?? [] };
  const prepared = prepareRuns(location, value, inputs, options);
  const stopped = reportProblems([...loaded.problems, ...prepared.problems], session, json);
  const runs = prepared.value;
  if (stopped !== undefined || runs === undefined) return session.local(() => stopped);
  if (options.check === true)
    return session.local(() => {
      if (json) session.json(validationJson(value, runs));
      else session.lines(validationLines(value, runs));
      return undefined;
    });
  const { after = [], goal, id, criterion } = options;
  const follow = options.follow === true;
  const order = {
    location,
    workflow: value,
    runs,
    after,
    approval: approvalOf(options),
    goal,
    criteria: criterion,
    id,
    follow,
    json,
  };
  return session.use((client) => execute(client, order, session));
};

export const addRun = (parent: Command, session: Session): void => {
  const path = commandPath(parent);
  const command = declare(parent);
  command.action((name: string | undefined, inputs: readonly string[], options: Options) => {
    if (name === undefined) {
      if (options.help === true) return command.outputHelp();
      throw new UsageError('name a workflow: a file, an alias, or <id>@<version> (see --help)');
    }
    refuseBoth(session.words);
    return run(session, name, inputs, options);
  });
  withExample(
    command,
    `${path} run draft specs/login.md --follow`.trim(),
    `${path} run .holdpoint/workflows/merge.toml --slug login --target main --after run:t-4k2m9x1c7h0a`.trim(),
  );
};
