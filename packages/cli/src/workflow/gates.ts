import { resolve } from 'node:path';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import { checkGateFile, findGateOf, listGates, type ListedGate } from '@holdpoint/workflows/files/gate-files';
import { openRepository } from '@holdpoint/workflows/files/repository';
import type { Command } from 'commander';
import { columns } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import { reportProblems } from './problems.ts';
import type { Session } from '../kit/session.ts';

type Options = { readonly repository?: string; readonly json?: true };

const rootOf = ({ directory }: Session, { repository = '.' }: Options): { root: string; from: string } => {
  const from = resolve(directory(), repository);
  return { root: openRepository(from).root, from };
};

const noteOn = ({ isDefault, problems }: ListedGate): string => {
  if (problems.length > 0) return `${String(problems.length)} problem(s)`;
  return isDefault ? 'default' : '';
};

const list = (session: Session, options: Options): number => {
  const { gates: found, problems } = listGates(rootOf(session, options).root);
  const all = [...problems, ...found.flatMap((one) => one.problems)];
  if (options.json) {
    session.json({
      gates: found.map(({ name, file, gate, isDefault, problems: own }) => ({
        name,
        version: gate?.version ?? null,
        file: file ?? null,
        default: isDefault,
        problems: own,
      })),
      problems,
    });
    return all.length > 0 ? EXIT.failed : EXIT.ok;
  }
  const rows = found.map((one) => [one.name, one.gate?.version ?? '-', one.file ?? 'shipped', noteOn(one)]);
  session.lines(columns([['NAME', 'VERSION', 'FROM', ''], ...rows]));
  return reportProblems(all, session, false) ?? EXIT.ok;
};

const show = (session: Session, name: string, options: Options): number => {
  const json = options.json === true;
  const { text = '', gate, problems } = findGateOf(rootOf(session, options).root, name);
  const stopped = reportProblems(problems, session, json);
  if (stopped !== undefined || gate === undefined) return stopped ?? EXIT.failed;
  if (json) session.json(gate);
  else session.lines(text.replace(/\n$/, '').split('\n'));
  return EXIT.ok;
};

export const addGates = (workflow: Command, session: Session): void => {
  withExample(
    workflow
      .command('gates')
      .alias('gate')
      .description('list the gates that effects of this repository can use, or print the source of one')
      .argument('[name]', 'name of the gate')
      .option('-C, --repository <directory>', 'repository to use (default: the current directory)')
      .option('--json', 'print the gates, or the compiled gate, as JSON')
      .action((name: string | undefined, options: Options) =>
        session.local(() => (name === undefined ? list(session, options) : show(session, name, options))),
      ),
    'workflow gates',
    'workflow gates approval_recovery_v2',
  );
};

const checked = (file: string, { id, version }: Gate) => ({
  outcome: 'gate_validation_passed',
  file,
  id,
  version,
});

/** Gates are YAML files, workflows are TOML files. */
export const isGateFile = (name: string): boolean => /\.ya?ml$/.test(name);

/** Checks one gate file. Resolves to the exit code. */
export const validateGate = (session: Session, file: string, options: Options): number => {
  const { root, from } = rootOf(session, options);
  const json = options.json === true;
  const { gate, problems } = checkGateFile(root, resolve(from, file));
  const stopped = reportProblems(problems, session, json);
  if (stopped !== undefined || gate === undefined) return stopped ?? EXIT.failed;
  if (json) session.json(checked(file, gate));
  else
    session.lines(
      columns([
        ['Outcome', 'gate validation passed'],
        ['Gate', `${gate.id}@${gate.version}`],
        ['File', file],
      ]),
    );
  return EXIT.ok;
};
