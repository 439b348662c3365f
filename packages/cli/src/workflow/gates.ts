import { resolve } from 'node:path';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import { checkGateFile, findGateOf, listGates, type ListedGate } from '@holdpoint/workflows/files/gate-files';
import { openRepository } from '@holdpoint/workflows/files/repository';
import type { Command } from 'commander';
import { oneOf } from '../kit/arguments.ts';
import { columns } from '../output/columns.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import { reportProblems } from './problems.ts';
import type { Session } from '../kit/session.ts';

type Options = { readonly repository?: string; readonly format?: string };

const withPlace = (command: Command): Command =>
  command
    .option('-C, --repository <directory>', 'another repository than the one you stand in')
    .option('--format <format>', 'text, json', oneOf(['text', 'json']));

const rootOf = ({ directory }: Session, { repository = '.' }: Options): { root: string; from: string } => {
  const from = resolve(directory(), repository);
  return { root: openRepository(from).root, from };
};

const noteOn = ({ isDefault, problems }: ListedGate): string => {
  if (problems.length > 0) return `${String(problems.length)} problem(s)`;
  return isDefault ? 'of effects that name no other' : '';
};

const addList = (gates: Command, session: Session): void => {
  const command = gates.command('list').description('the gates that effects of this repository can name');
  withExample(
    withPlace(command).action((options: Options) =>
      session.local(() => {
        const { root } = rootOf(session, options);
        const { gates: found, problems } = listGates(root);
        const json = options.format === 'json';
        if (json)
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
        else {
          const rows = found.map((one) => [
            one.name,
            one.gate?.version ?? '-',
            one.file ?? 'shipped',
            noteOn(one),
          ]);
          session.lines(columns([['NAME', 'VERSION', 'FROM', ''], ...rows]));
        }
        const all = [...problems, ...found.flatMap((one) => one.problems)];
        if (json) return all.length > 0 ? EXIT.failed : EXIT.ok;
        return reportProblems(all, session, false) ?? EXIT.ok;
      }),
    ),
    'gates list',
  );
};

const addShow = (gates: Command, session: Session): void => {
  const command = gates
    .command('show')
    .description('a gate as it is written; as JSON, as it is stored with a task')
    .argument('<name>', 'what an effect calls it');
  withExample(
    withPlace(command).action((name: string, options: Options) =>
      session.local(() => {
        const json = options.format === 'json';
        const { text = '', gate, problems } = findGateOf(rootOf(session, options).root, name);
        const stopped = reportProblems(problems, session, json);
        if (stopped !== undefined || gate === undefined) return stopped ?? EXIT.failed;
        if (json) session.json(gate);
        else session.lines(text.replace(/\n$/, '').split('\n'));
        return EXIT.ok;
      }),
    ),
    'gates show approval_recovery_v2',
  );
};

const checked = (file: string, { id, version }: Gate) => ({
  outcome: 'gate_validation_passed',
  file,
  id,
  version,
});

const addValidate = (gates: Command, session: Session): void => {
  const command = gates
    .command('validate')
    .description('say everything that is wrong with gates; no service is asked')
    .argument('<files...>', 'files of gates');
  withExample(
    withPlace(command).action((files: readonly string[], options: Options) =>
      session.local(() => {
        const { root, from } = rootOf(session, options);
        const json = options.format === 'json';
        const codes = files.map((file) => {
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
        });
        return Math.max(...codes);
      }),
    ),
    'gates validate .holdpoint/gates/release.yaml',
  );
};

/** What people are asked before an effect, and what follows from what they say. */
export const addGates = (program: Command, session: Session): void => {
  const gates = withExample(
    program.command('gates').description('how people are asked about effects, and what follows'),
    'gates list',
  );
  addList(gates, session);
  addShow(gates, session);
  addValidate(gates, session);
};
