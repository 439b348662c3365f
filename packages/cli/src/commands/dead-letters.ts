import type { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import { withExample } from '../example.ts';
import { deadLetterListText, deadLetterText, listDeadLetters, showDeadLetter } from '../dead-letters.ts';
import type { Session } from '../session.ts';

const LIST_MAX = 500;
const LIST_DEFAULT = 20;

export const addDeadLetters = (program: Command, { use, lines, json }: Session): void => {
  const letters = withExample(
    program.command('dlq').description('see messages that no service could handle'),
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
      .argument('<number>', 'its number in the list', wholeNumber(Number.MAX_SAFE_INTEGER))
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
};
