import { claimingText, sourceText } from '@holdpoint/contracts/approval/facts-text';
import type { ClaimantView } from '@holdpoint/contracts/effect/remote';
import type { Command } from 'commander';
import { everyPage } from '../bus/every-page.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { columns, instant, span } from '../output/columns.ts';

const agoText = (at: number, now: number): string => span(Math.max(0, now - at));

const claimantText = (view: ClaimantView, now: number): readonly string[] => {
  const { claimant, principal, token, from, uses, since, seenAt, holds } = view;
  return [
    ...columns([
      [claimant, claimingText(view), `claims since ${instant(since)}`, `seen ${agoText(seenAt, now)} ago`],
    ]),
    ...columns(
      [
        ['claims', uses.join(', ')],
        ['token', token === undefined ? `of ${principal}` : `of ${principal} (${token})`],
        ...(from === undefined ? [] : [['from', sourceText(from)]]),
      ],
      '  ',
    ),
    ...columns(
      holds.map(({ id, epoch, uses: label, startedAt }) => [
        `holds ${id}`,
        label,
        `start ${String(epoch)}`,
        `for ${agoText(startedAt, now)}`,
      ]),
      '  ',
    ),
  ];
};

export const addClaimants = (group: Command, { use, lines, json, now }: Session): void => {
  withExample(
    group
      .command('claimants')
      .description('list the programs that claim effects, and the orders that they hold')
      .option('--json', 'print the API response as JSON')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const items = await everyPage(Infinity, (cursor) => client.call('executor', 'claimants', cursor));
          if (options.json) json({ items });
          else if (items.length === 0) lines(['no program claims effects']);
          else lines(items.flatMap((claimant) => claimantText(claimant, now())));
          return undefined;
        }),
      ),
    'effect claimants',
  );
};
