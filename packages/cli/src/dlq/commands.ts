import type { SettleLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { Command } from 'commander';
import { wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import {
  deadLetterListText,
  deadLetterText,
  listDeadLetters,
  settleDeadLetter,
  settledText,
  showDeadLetter,
} from './dead-letters.ts';
import type { Session } from '../kit/session.ts';

const LIST_MAX = 500;
const LIST_DEFAULT = 20;

const letterNumber = wholeNumber(Number.MAX_SAFE_INTEGER);

const addSettling = (
  letters: Command,
  { use, lines, json }: Session,
  { action, description }: Pick<SettleLetter, 'action'> & { readonly description: string },
): void => {
  withExample(
    letters
      .command(action)
      .description(description)
      .argument('<number>', 'its number in the list', letterNumber)
      .option('--by <name>', 'who does it')
      .option('--json', 'print the answer as it came')
      .action((sequence: number, { by, json: asJson }: { by?: string; json?: true }) =>
        use(async (client) => {
          const settled = await settleDeadLetter(client, {
            sequence,
            action,
            ...(by !== undefined && { by }),
          });
          if (asJson) json(settled);
          else lines([settledText(settled, action)]);
          return undefined;
        }),
      ),
    `dlq ${action} 17`,
  );
};

export const addDeadLetters = (program: Command, session: Session): void => {
  const { use, lines, json } = session;
  const letters = withExample(
    program.command('dlq').description('see messages that no service could handle, and settle them'),
    'dlq list',
  );
  withExample(
    letters
      .command('list')
      .description('list dead letters, newest first')
      .option('--limit <number>', 'how many', wholeNumber(LIST_MAX), LIST_DEFAULT)
      .option('--json', 'print them as JSON')
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
    letters
      .command('show')
      .description('show one dead letter')
      .argument('<number>', 'its number in the list', letterNumber)
      .option('--json', 'print it as JSON')
      .action((sequence: number, options: { json?: true }) =>
        use(async ({ connection }) => {
          const buried = await showDeadLetter(connection, sequence);
          if (options.json) json(buried);
          else lines(deadLetterText(buried));
          return undefined;
        }),
      ),
    'dlq show 17',
  );
  addSettling(letters, session, {
    action: 'retry',
    description: 'let its service handle a dead letter once more; it stays when that fails again',
  });
  addSettling(letters, session, {
    action: 'drop',
    description: 'look at a dead letter no more; what became of it stays on record',
  });
};
