import type { RecoveryRules } from '@holdpoint/contracts/workflow/recovery-rules';
import { readRecoveryFile } from '@holdpoint/workflows/files/recovery-file';
import type { Problem } from '@holdpoint/workflows/problems/problem';
import { rootAbove } from '../job/repository-config.ts';
import type { Session } from '../kit/session.ts';
import { CapabilityLabel } from '@holdpoint/contracts/workflow/side-effect';
import { type Command, InvalidArgumentError } from 'commander';
import { as } from '../kit/arguments.ts';
import { columns } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import { tailOf, tailOfFile } from '../kit/read-tail.ts';
import { reportProblems } from '../workflow/problems.ts';
import { UsageError } from '../kit/usage-error.ts';

type Classify = { readonly exitCode?: number; readonly uses?: string; readonly json?: true };

/** Recovery rules of the current repository; undefined without a repository. */
const repositoryRules = ({
  knownDirectory,
}: Pick<Session, 'knownDirectory'>): {
  readonly rules?: RecoveryRules;
  readonly problems: readonly Problem[];
} => {
  const directory = knownDirectory();
  const root = directory === undefined ? undefined : rootAbove(directory);
  return root === undefined ? { problems: [] } : readRecoveryFile(root);
};

const exitCode = (text: string): number => {
  if (/^\d{1,3}$/.test(text) && Number(text) <= 255) return Number(text);
  throw new InvalidArgumentError('expected a number from 0 to 255');
};

const printed = (file: string | undefined, { input, directory }: Session): string => {
  if (file !== undefined) return tailOfFile(file, directory());
  if (input === undefined) throw new UsageError('name a file, or pipe the output into the command');
  return tailOf(input);
};

const classify = (session: Session, file: string | undefined, options: Classify): Promise<void> => {
  const { uses, exitCode: code, json: asJson } = options;
  const { rules, problems } = repositoryRules(session);
  const stopped = reportProblems(problems, session, asJson === true);
  if (stopped !== undefined) return session.local(() => stopped);
  const output = printed(file, session);
  return session.use(async (client) => {
    const answer = await client.call('recovery', 'classify', {
      output,
      ...(uses !== undefined && { uses }),
      ...(code !== undefined && { exitCode: code }),
      ...(rules !== undefined && { rules }),
    });
    if (asJson) session.json(answer);
    else
      session.lines(
        columns([
          ['class', answer.class],
          ['rule', answer.classification.rule],
          ['evidence', answer.classification.evidence],
          ['fingerprint', answer.fingerprint],
        ]),
      );
    return undefined;
  });
};

export const addClassify = (recovery: Command, session: Session): void => {
  withExample(
    recovery
      .command('classify')
      .description(
        'classify the output of a failure by the rules, including .holdpoint/recovery.toml; records nothing',
      )
      .argument('[file]', 'file with the output (default: standard input)')
      .option('--exit-code <number>', 'exit code of the command, 0 to 255', exitCode)
      .option('--uses <label>', 'capability that failed, such as control.gate.cicd', as(CapabilityLabel))
      .option('--json', 'print the API response as JSON')
      .action((file: string | undefined, options: Classify) => classify(session, file, options)),
    'recovery classify build.log --exit-code 2',
    'recovery classify --uses control.gate.cicd < build.log',
  );
};
