import { VERSION } from '@holdpoint/contracts/values/version';
import type { Command } from 'commander';
import { DECLARED, inspectBus, streamDifferences } from '../admin/doctor/bus.ts';
import { askServices } from '../admin/doctor/services.ts';
import type { Client } from '../bus/client.ts';
import { hostOf } from '../host/commands.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { type Deployed, type UpgradePlan, upgradePlan } from './plan.ts';

const CHECK_WIDTH = 26;

const readDeployed = async (client: Client, now: () => number): Promise<Deployed> => {
  const [seen, reports] = await Promise.all([inspectBus(client.connection), askServices(client, now)]);
  return {
    services: reports.map(({ service, about, error = 'no answer' }) =>
      about === undefined
        ? { service, error }
        : { service, version: about.version, migrations: about.migrations.applied },
    ),
    // A stream that this user may not read is no stream to create.
    streams: DECLARED.filter(
      ({ name }) => !seen.refused.some((text) => text.startsWith(`stream ${name}:`)),
    ).map((declared) => {
      const info = seen.streams.get(declared.name);
      return { name: declared.name, differences: info && streamDifferences(declared, info) };
    }),
  };
};

const report = ({ steps }: UpgradePlan, asJson: boolean, { lines, json }: Session): number => {
  if (asJson) json({ release: VERSION, needed: steps.length > 0, steps });
  else
    lines([
      ...steps.map(({ check, message, action }) => [check.padEnd(CHECK_WIDTH), ' ', `${message}: ${action}`]),
      steps.length === 0
        ? [{ text: `${VERSION} runs: no upgrade is needed`, paint: 'good' as const }]
        : [`upgrade to ${VERSION}: ${String(steps.length)} changes, in this order; see docs/upgrade.md`],
    ]);
  return steps.length === 0 ? EXIT.ok : EXIT.failed;
};

export const addUpgrade = (program: Command, session: Session): void => {
  withExample(
    program
      .command('upgrade')
      .description(
        'compare the running release, database and streams with this program; exit code 1 if they differ',
      )
      .option('--check', 'change nothing, and print what an upgrade would change')
      .option('--json', 'print the changes as JSON')
      .action(async (options: { readonly check?: true; readonly json?: true }) => {
        if (options.check !== true)
          throw new UsageError('upgrade changes nothing by itself: add --check, and follow docs/upgrade.md');
        const { migrations } = hostOf(session);
        await session.use(async (client) => {
          const plan = upgradePlan({ version: VERSION, migrations }, await readDeployed(client, session.now));
          const [newer] = plan.newer;
          if (newer !== undefined) throw new Refusal('CLI_PROGRAM_TOO_OLD', newer);
          return report(plan, options.json === true, session);
        });
      }),
    'upgrade --check',
    'upgrade --check --json',
  );
};
