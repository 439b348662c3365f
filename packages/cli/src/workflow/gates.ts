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
    .option('-C, --repository <directory>', 'repository to use (default: the current directory)')
    .option('--format <format>', 'text, json', oneOf(['text', 'json']));

const rootOf = ({ directory }: Session, { repository = '.' }: Options): { root: string; from: string } => {
  const from = resolve(directory(), repository);
  return { root: openRepository(from).root, from };
};

const noteOn = ({ isDefault, problems }: ListedGate): string => {
  if (problems.length > 0) return `${String(problems.length)} problem(s)`;
  return isDefault ? 'default' : '';
};

const addList = (gate: Command, session: Session): void => {
  const command = gate.command('list').description('list the gates that effects of this repository can use');
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
    'workflow gate list',
  );
};

const addShow = (gate: Command, session: Session): void => {
  const command = gate
    .command('show')
    .description('print the source of a gate; as JSON, the compiled gate')
    .argument('<name>', 'name of the gate');
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
    'workflow gate show approval_recovery_v2',
  );
};

const checked = (file: string, { id, version }: Gate) => ({
  outcome: 'gate_validation_passed',
  file,
  id,
  version,
});

const addValidate = (gate: Command, session: Session): void => {
  const command = gate
    .command('validate')
    .description('check gate files and list every problem; works offline')
    .argument('<files...>', 'gate files');
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
    'workflow gate validate .holdpoint/gates/release.yaml',
  );
};

export const addGate = (workflow: Command, session: Session): void => {
  const gate = withExample(
    workflow
      .command('gate')
      .alias('gates')
      .description('list, show and validate gates: how effects ask for approval'),
    'workflow gate list',
  );
  addList(gate, session);
  addShow(gate, session);
  addValidate(gate, session);
};
