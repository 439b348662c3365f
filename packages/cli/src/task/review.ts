import { randomUUID } from 'node:crypto';
import { ReviewKind, ReviewText, ReviewVerdict } from '@holdpoint/contracts/workflow/review';
import type { Command } from 'commander';
import { type Target, targetName } from '../job/target.ts';
import { as, oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

type Options = {
  readonly kind: ReviewKind;
  readonly verdict: ReviewVerdict;
  readonly summary: string;
  readonly url?: string;
  readonly json?: true;
};

/** `task review`: approvers see the latest review of each kind. */
export const addReview = (task: Command, { use, lines, json }: Session): void => {
  const { summary: Summary, url: Url } = ReviewText.shape;
  withExample(
    task
      .command('review')
      .description('record a review of the work of a task; approvers see the latest of each kind')
      .argument('<target>', '<task>, or <task>/<node> for the node that was reviewed', targetName)
      .requiredOption('--kind <kind>', ReviewKind.options.join(', '), oneOf(ReviewKind.options))
      .requiredOption('--verdict <verdict>', ReviewVerdict.options.join(', '), oneOf(ReviewVerdict.options))
      .requiredOption('--summary <text>', 'the findings, at most 2,000 characters', as(Summary))
      .option('--url <address>', 'address of the full review', as(Url.unwrap()))
      .option('--json', 'print the API response as JSON')
      .action(({ task: id, node }: Target, { json: asJson, ...text }: Options) =>
        use(async (client) => {
          const review = { id, ...text, ...(node !== undefined && { node }) };
          const answer = await client.call('orchestrator', 'record_review', review, {
            requestId: randomUUID(),
          });
          if (asJson) json(answer);
          else lines([`task ${answer.id}: ${text.kind} review recorded`]);
          return undefined;
        }),
      ),
    'task review t-4k2m9x1c7h0a --kind quality --verdict passed --summary "tests cover the error path"',
    'task review t-4k2m9x1c7h0a/build --kind spec --verdict changes_requested --summary "no changelog"',
  );
};
