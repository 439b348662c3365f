import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Command } from 'commander';
import { examine } from './doctor/examine.ts';
import { fail, type Finding, type FindingStatus } from './doctor/finding.ts';
import { withExample } from '../kit/example.ts';
import { EXIT } from '../kit/failure.ts';
import type { Line, Paint } from '../output/painted.ts';
import type { Session } from '../kit/session.ts';

const PAINTS: Readonly<Record<FindingStatus, Paint>> = { ok: 'good', warn: 'waits', fail: 'bad' };

const NAME_MAX = 26;

const findingLines = ({ check, status: standing, message: says, action: todo }: Finding): readonly Line[] => [
  [{ text: standing.padEnd(5), paint: PAINTS[standing] }, check.padEnd(NAME_MAX), ' ', says],
  ...(todo === undefined ? [] : [['      → ', todo]]),
];

const count = (findings: readonly Finding[], standing: FindingStatus): number =>
  findings.filter((finding) => finding.status === standing).length;

const report = (findings: readonly Finding[], asJson: boolean, { lines, json }: Session): number => {
  const [warnings, failures] = [count(findings, 'warn'), count(findings, 'fail')];
  if (asJson) json({ ok: failures === 0, warnings, failures, checks: findings });
  else
    lines([
      ...findings.flatMap(findingLines),
      `${String(findings.length)} checks: ${String(warnings)} warnings, ${String(failures)} errors`,
    ]);
  return failures === 0 ? EXIT.ok : EXIT.failed;
};

export const addDoctor = (admin: Command, session: Session): void => {
  withExample(
    admin
      .command('doctor')
      .description(
        'check connections, versions, permissions, streams, clocks, disk and migrations; exit code 1 on errors',
      )
      .option('--json', 'print the findings as JSON')
      .action(async (options: { json?: true }) => {
        const { use, local, now } = session;
        const asJson = options.json === true;
        try {
          await use(async (client) => report(await examine(client, now), asJson, session));
        } catch (error) {
          // Without the bus there is nothing else to check.
          if (!(error instanceof HoldpointError)) throw error;
          const { code, message } = error;
          const todo = 'start NATS, or check HOLDPOINT_NATS_URL, HOLDPOINT_NATS_SEED_FILE and the network';
          await local(() => report([fail('nats', `${code}: ${message}`, todo)], asJson, session));
        }
      }),
    'admin doctor',
    'admin doctor --json',
  );
};
