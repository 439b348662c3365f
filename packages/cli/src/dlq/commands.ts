import type { ResolveDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { Argument, type Command } from 'commander';
import { wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import {
  deadLetterListText,
  deadLetterText,
  listDeadLetters,
  resolutionText,
  resolveDeadLetter,
  showDeadLetter,
} from './dead-letters.ts';

const LIST_MAX = 500;
const LIST_DEFAULT = 20;

export const addDeadLetters = (program: Command, { use, lines, json }: Session): void => {
  const dlq = withExample(
    program
      .command('dlq')
      .description('list, show and resolve dead letters: messages that no service could handle'),
    'dlq list',
  );
  withExample(
    dlq
      .command('list')
      .description('list dead letters, newest first')
      .option('--limit <number>', 'maximum number of dead letters', wholeNumber(LIST_MAX), LIST_DEFAULT)
      .option('--json', 'print the dead letters as JSON')
      .action(({ limit, json: asJson }: { limit: number; json?: true }) =>
        use(async (client) => {
          const found = await listDeadLetters(client, limit);
          if (asJson) json(found);
          else lines(deadLetterListText(found));
          return undefined;
        }),
      ),
    'dlq list --limit 5',
  );
  withExample(
    dlq
      .command('show')
      .description('show one dead letter')
      .argument('<id>', 'id in the list')
      .option('--json', 'print the dead letter as JSON')
      .action((id: string, options: { json?: true }) =>
        use(async (client) => {
          const deadLetter = await showDeadLetter(client, id);
          if (options.json) json(deadLetter);
          else lines(deadLetterText(deadLetter));
          return undefined;
        }),
      ),
    'dlq show orchestrator-17',
  );
  withExample(
    dlq
      .command('resolve')
      .description('retry or drop a dead letter; a retry that fails leaves it in the list')
      .argument('<id>', 'id in the list')
      .addArgument(new Argument('<action>', 'retry or drop').choices(['retry', 'drop']))
      .option('--json', 'print the API response as JSON')
      .action((id: string, action: ResolveDeadLetter['action'], { json: asJson }: { json?: true }) =>
        use(async (client) => {
          const settled = await resolveDeadLetter(client, { id, action });
          if (asJson) json(settled);
          else lines([resolutionText(settled, action)]);
          return undefined;
        }),
      ),
    'dlq resolve orchestrator-17 retry',
  );
};
