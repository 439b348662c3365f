import { initRepository } from '@holdpoint/workflows/files/init';
import { openRepository } from '@holdpoint/workflows/files/repository';
import type { Command } from 'commander';
import { commandPath, withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import type { Line } from '../output/painted.ts';
import type { Session } from '../kit/session.ts';
import { resolve } from 'node:path';

type Init = { readonly check?: true; readonly repository?: string; readonly json?: true };

const rows = (files: readonly string[], text: string, paint: 'good' | 'waits' | 'faint'): readonly Line[] =>
  files.map((file): Line => [{ text: text.padEnd(10), paint }, file]);

const takenLine = ({ file, by }: { readonly file: string; readonly by: string }): Line => [
  { text: 'left out'.padEnd(10), paint: 'faint' },
  `${file} (${by} has the same id and version)`,
];

const adoptedLine = (file: string): Line => [
  { text: 'adopted'.padEnd(10), paint: 'good' },
  `${file} (stays in use: a new .holdpoint/config.toml would replace it)`,
];

const unusedLine = (file: string): Line => [
  { text: 'unused'.padEnd(10), paint: 'waits' },
  `${file} (.holdpoint/config.toml counts: delete that file to use this one)`,
];

export const addInit = (workflow: Command, { local, lines, json, directory }: Session): void => {
  const group = commandPath(workflow);
  const path = group === '' ? '' : `${group} `;
  withExample(
    workflow
      .command('init')
      .description(
        'add a first workflow and program, the stage templates and a configuration to a repository; existing files stay unchanged and in use',
      )
      .option('-C, --repository <directory>', 'repository to use (default: the current directory)')
      .option('--check', 'only list missing files; exit code 1 if any are missing')
      .option('--json', 'print the result as JSON')
      .action(
        ({ check = false, repository = '.', json: asJson }: Omit<Init, 'check'> & { check?: boolean }) =>
          local(() => {
            const { root } = openRepository(resolve(directory(), repository));
            const {
              written,
              present,
              differing,
              taken = [],
              adopted,
              unused,
            } = initRepository(root, { check });
            if (asJson)
              json({
                outcome: check ? 'init_checked' : 'initialised',
                root,
                [check ? 'missing' : 'written']: written,
                present,
                differing,
                ...(taken.length > 0 && { taken }),
                ...(adopted !== undefined && { adopted }),
                ...(unused !== undefined && { unused }),
              });
            else
              lines([
                ...rows(written, check ? 'missing' : 'written', check ? 'waits' : 'good'),
                ...rows(present, 'there', 'faint'),
                ...rows(differing, 'kept', 'faint').map((line): Line => [line, ' (modified)'].flat()),
                ...taken.map(takenLine),
                ...(adopted === undefined ? [] : [adoptedLine(adopted)]),
                ...(unused === undefined ? [] : [unusedLine(unused)]),
              ]);
            return check && written.length > 0 ? EXIT.failed : EXIT.ok;
          }),
      ),
    `${path}init`,
    `${path}init --check`,
  );
};
