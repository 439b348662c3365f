import { initRepository } from '@holdpoint/workflows/files/init';
import { openRepository } from '@holdpoint/workflows/files/repository';
import type { Command } from 'commander';
import { oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import type { Line } from '../output/painted.ts';
import type { Session } from '../kit/session.ts';
import { resolve } from 'node:path';

type Init = { readonly check?: true; readonly repository?: string; readonly format?: string };

const rows = (files: readonly string[], text: string, paint: 'good' | 'waits' | 'faint'): readonly Line[] =>
  files.map((file): Line => [{ text: text.padEnd(10), paint }, file]);

export const addInit = (program: Command, { local, lines, json, directory }: Session): void => {
  withExample(
    program
      .command('init')
      .description(
        'give a repository the stage templates and a configuration; what is there is never changed',
      )
      .option('-C, --repository <directory>', 'another repository than the one you stand in')
      .option('--check', 'only say what is missing (1 when something is)')
      .option('--format <format>', 'text, json', oneOf(['text', 'json']))
      .action(({ check = false, repository = '.', format }: Omit<Init, 'check'> & { check?: boolean }) =>
        local(() => {
          const { root } = openRepository(resolve(directory(), repository));
          const { written, present, differing } = initRepository(root, { check });
          if (format === 'json')
            json({
              outcome: check ? 'init_checked' : 'initialised',
              root,
              [check ? 'missing' : 'written']: written,
              present,
              differing,
            });
          else
            lines([
              ...rows(written, check ? 'missing' : 'written', check ? 'waits' : 'good'),
              ...rows(present, 'there', 'faint'),
              ...rows(differing, 'kept', 'faint').map((line): Line =>
                [line, ' (has changes of its own)'].flat(),
              ),
            ]);
          return check && written.length > 0 ? EXIT.failed : EXIT.ok;
        }),
      ),
    'init',
    'init --check',
  );
};
