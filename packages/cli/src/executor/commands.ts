import type { ExecutorView } from '@holdpoint/contracts/effect/views';
import { ExecutorKeyId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { columns, span } from '../output/columns.ts';

const stateOf = ({ forgottenBy, awaited, missing }: ExecutorView): string => {
  if (forgottenBy !== undefined) return `forgotten by ${forgottenBy}`;
  if (awaited) return 'effects wait for its journal';
  return missing ? 'missing' : 'present';
};

const addList = (group: Command, { use, lines, json, now }: Session): void => {
  withExample(
    group
      .command('list')
      .description('list executors with their last sign of life, and the keys that seal their messages')
      .option('--json', 'print the list as JSON')
      .action((options: { json?: true }) =>
        use(async (client) => {
          const [{ items, work }, { items: keys }] = await Promise.all([
            client.call('executor', 'executors', {}),
            client.call('approvals', 'executor_list', {}),
          ]);
          if (options.json) json({ items, keys, work });
          else
            lines([
              ...columns(
                items.map((each) => [
                  each.name,
                  stateOf(each),
                  `seen ${span(Math.max(0, now() - each.seenAt))} ago`,
                ]),
              ),
              ...columns(
                keys.map(({ id, name, status, revokedBy }) => [
                  `key ${id}`,
                  `of ${name}`,
                  revokedBy === undefined ? status : `revoked by ${revokedBy}`,
                ]),
              ),
              `work: ${work}`,
            ]);
          return undefined;
        }),
      ),
    'executor list',
  );
};

const addForget = (group: Command, { use, lines, json }: Session): void => {
  withExample(
    group
      .command('forget')
      .description('declare the journal of an executor lost, so that no effect waits for it')
      .argument('<name>', 'executor, as listed')
      .requiredOption('--reason <text>', 'reason, kept in the ledger')
      .option('--json', 'print the executor as JSON')
      .action((name: string, options: { reason: string; json?: true }) =>
        use(async (client) => {
          const { reason } = options;
          const { items } = await client.call('approvals', 'executor_list', {});
          const key = items.find((each) => each.name === name);
          // First the record: nothing is forgotten that the audit log does not show.
          if (key !== undefined) await client.call('approvals', 'executor_forget', { id: key.id, reason });
          const forgotten = await client.call('executor', 'forget', { name, reason });
          if (options.json) json(forgotten);
          else
            lines([
              `effects no longer wait for the journal of ${forgotten.name}`,
              ...(key === undefined ? ['it has no key, so the audit log has no line about it'] : []),
            ]);
          return undefined;
        }),
      ),
    "executor forget 1c9f --reason 'its disk is broken'",
  );
};

const addRevoke = (group: Command, { use, lines, json }: Session): void => {
  withExample(
    group
      .command('revoke')
      .description('revoke the key of an executor permanently; its messages no longer count')
      .argument('<id>', 'key, as listed', as(ExecutorKeyId))
      .option('--reason <text>', 'reason, kept in the audit log')
      .option('--json', 'print the API response as JSON')
      .action((id: ExecutorKeyId, options: { reason?: string; json?: true }) =>
        use(async (client) => {
          const { reason } = options;
          const key = await client.call('approvals', 'executor_revoke', {
            id,
            ...(reason !== undefined && { reason }),
          });
          if (options.json) json(key);
          else lines([`${key.id} of ${key.name}: revoked`]);
          return undefined;
        }),
      ),
    "executor revoke x-7h2k9m1x4c --reason 'stolen disk'",
  );
};

export const addExecutor = (program: Command, session: Session): void => {
  const group = withExample(
    program.command('executor').description('executors of this deployment, and their keys'),
    'executor list',
  );
  addList(group, session);
  addForget(group, session);
  addRevoke(group, session);
};
