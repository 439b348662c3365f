import type { ResolveDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { Command } from 'commander';
import { wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import {
  deadLetterListText,
  deadLetterText,
  listDeadLetters,
  resolveDeadLetter,
  resolutionText,
  showDeadLetter,
} from './dead-letters.ts';
import type { Session } from '../kit/session.ts';

const LIST_MAX = 500;
const LIST_DEFAULT = 20;

const sequenceNumber = wholeNumber(Number.MAX_SAFE_INTEGER);

const addAction = (
  dlq: Command,
  { use, lines, json }: Session,
  { action, description }: Pick<ResolveDeadLetter, 'action'> & { readonly description: string },
): void => {
  withExample(
    dlq
      .command(action)
      .description(description)
      .argument('<number>', 'number in the list', sequenceNumber)
      .option('--by <name>', 'name of the operator, kept in the record')
      .option('--json', 'print the API response as JSON')
      .action((sequence: number, { by, json: asJson }: { by?: string; json?: true }) =>
        use(async (client) => {
          const settled = await resolveDeadLetter(client, {
            sequence,
            action,
            ...(by !== undefined && { by }),
          });
          if (asJson) json(settled);
          else lines([resolutionText(settled, action)]);
          return undefined;
        }),
      ),
    `dlq ${action} 17`,
  );
};

export const addDeadLetters = (program: Command, session: Session): void => {
  const { use, lines, json } = session;
  const dlq = withExample(
    program
      .command('dlq')
      .description('list, show, retry and drop dead letters: messages that no service could handle'),
    'dlq list',
  );
  withExample(
    dlq
      .command('list')
      .description('list dead letters, newest first')
      .option('--limit <number>', 'maximum number of dead letters', wholeNumber(LIST_MAX), LIST_DEFAULT)
      .option('--json', 'print the dead letters as JSON')
      .action(({ limit, json: asJson }: { limit: number; json?: true }) =>
        use(async ({ connection }) => {
          const items = await listDeadLetters(connection, limit);
          if (asJson) json({ items });
          else lines(deadLetterListText(items));
          return undefined;
        }),
      ),
    'dlq list --limit 5',
  );
  withExample(
    dlq
      .command('show')
      .description('show one dead letter')
      .argument('<number>', 'number in the list', sequenceNumber)
      .option('--json', 'print the dead letter as JSON')
      .action((sequence: number, options: { json?: true }) =>
        use(async ({ connection }) => {
          const deadLetter = await showDeadLetter(connection, sequence);
          if (options.json) json(deadLetter);
          else lines(deadLetterText(deadLetter));
          return undefined;
        }),
      ),
    'dlq show 17',
  );
  addAction(dlq, session, {
    action: 'retry',
    description: 'retry a dead letter; it stays in the list if it fails again',
  });
  addAction(dlq, session, {
    action: 'drop',
    description: 'drop a dead letter; the decision stays on record',
  });
};
