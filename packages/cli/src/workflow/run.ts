import { TaskId } from '@holdpoint/contracts/values/ids';
import { type Command, Option } from 'commander';
import { as, collect, oneOf, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { prepareRuns } from './batch.ts';
import { checkedJson, checkedLines } from './check-text.ts';
import { execute } from '../run/execute.ts';
import { flowHelp } from './inputs-help.ts';
import { collectPair, type Input } from './inputs.ts';
import { openPlace } from './location.ts';
import { loadFlow } from './prepare.ts';
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
  readonly id?: TaskId;
  readonly format?: 'text' | 'json';
  readonly repository?: string;
  readonly help?: true;
};

/** What has to do with a run makes no sense where nothing is run. */
const RUNTIME = ['after', 'requireApproval', 'follow', 'repeat'];

const declare = (program: Command): Command =>
  program
    .command('run')
    .description('run a flow: a file, an alias of the configuration, or <id>@<version>')
    .argument('[flow]', 'which flow')
    .argument('[inputs...]', 'its inputs by place; by name as --name value')
    .option('--set <name=value>', 'one parameter, by its own name (repeatable)', collectPair)
    .addOption(new Option(`${INPUT_FLAG} <name=value>`).argParser(collectPair).hideHelp())
    .option(
      '--after <job>',
      'start after <run>/<node>, <run>, or the last jobs of run:<run> (repeatable)',
      collect,
    )
    .option('--require-approval', 'a person lets the first jobs start')
    .option('--no-require-approval', 'nobody has to, although the flow says so')
    .option('--follow', 'print what happens until the run has ended: 0, 1 failed or cancelled, 10 blocked')
    .addOption(new Option('--check', 'only say whether it could run').conflicts(RUNTIME))
    .option('--repeat <number>', 'so many runs, one after the other', wholeNumber(REPEAT_MAX))
    .addOption(
      new Option('--spec-dir <directory>', 'one run for each .md file below, one after the other').conflicts(
        'repeat',
      ),
    )
    .option('--goal <text>', 'what is to be reached (default: the flow and its inputs)')
    .option('--id <id>', 'the id of the run, so that submitting again finds the same one', as(TaskId))
    .option('--format <format>', 'text, json', oneOf(['text', 'json']))
    .option('-C, --repository <directory>', 'another repository than the one you stand in')
    .helpOption(false)
    .option('-h, --help', 'display help for command; with a flow, for that flow');

const approvalOf = ({ requireApproval }: Options): 'required' | 'none' | undefined => {
  if (requireApproval === undefined) return undefined;
  return requireApproval ? 'required' : 'none';
};

/** The last of two that exclude one another would win in silence. */
const refuseBoth = (words: readonly string[]): void => {
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  if (own.includes('--require-approval') && own.includes('--no-require-approval'))
    throw new UsageError('either --require-approval or --no-require-approval, not both');
};

const run = (
  session: Session,
  flow: string,
  positional: readonly string[],
  options: Options,
): Promise<void> => {
  const json = options.format === 'json';
  const place = openPlace(session, options.repository);
  const loaded = loadFlow(place, flow);
  const { value } = loaded;
  if (value === undefined || options.help === true)
    return session.local(() => {
      if (value !== undefined) session.lines(flowHelp(value));
      return value === undefined ? reportProblems(loaded.problems, session, json) : undefined;
    });
  const inputs = { positional, named: options.inputNamed ?? [], set: options.set ?? [] };
  const prepared = prepareRuns(place, value, inputs, options);
  const stopped = reportProblems([...loaded.problems, ...prepared.problems], session, json);
  const runs = prepared.value;
  if (stopped !== undefined || runs === undefined) return session.local(() => stopped);
  if (options.check === true)
    return session.local(() => {
      if (json) session.json(checkedJson(value, runs));
      else session.lines(checkedLines(value, runs));
      return undefined;
    });
  const { after = [], goal, id } = options;
  const follow = options.follow === true;
  const order = { place, flow: value, runs, after, approval: approvalOf(options), goal, id, follow, json };
  return session.use((client) => execute(client, order, session));
};

export const addRun = (program: Command, session: Session): void => {
  const command = declare(program);
  command.action((flow: string | undefined, inputs: readonly string[], options: Options) => {
    if (flow === undefined) {
      if (options.help === true) return command.outputHelp();
      throw new UsageError('which flow? A file, an alias, or <id>@<version> (--help shows how)');
    }
    refuseBoth(session.words);
    return run(session, flow, inputs, options);
  });
  withExample(
    command,
    'run draft specs/login.md --follow',
    'run .holdpoint/workflows/merge.toml --slug login --target main --after run:t-4k2m9x1c7h0a',
  );
};
