import type { ServiceInfo } from '@holdpoint/contracts/api/admin';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { VERSION } from '@holdpoint/contracts/values/version';
import type { Client } from '../../bus/client.ts';
import { span } from '../../output/columns.ts';
import { fail, type Finding, ok, sizeText, warn } from './finding.ts';

/** What a service said of itself, and between which moments of this machine it did. */
export type Heard = {
  readonly service: ServiceName;
  readonly about?: ServiceInfo;
  readonly error?: string;
  readonly from: number;
  readonly to: number;
};

/** Asks every service; one that does not answer is told of, and holds up no other. */
export const hearServices = (client: Pick<Client, 'call'>, now: () => number): Promise<readonly Heard[]> =>
  Promise.all(
    SERVICES.map(async (service): Promise<Heard> => {
      const from = now();
      try {
        const about = await client.call(service, 'about', {});
        return { service, about, from, to: now() };
      } catch (error) {
        if (!(error instanceof HoldpointError)) throw error;
        return { service, error: `${error.code}: ${error.message}`, from, to: now() };
      }
    }),
  );

const serviceFinding = ({ service, about, error }: Heard): Finding => {
  const check = `service ${service}`;
  if (about === undefined)
    return fail(check, error ?? 'it does not answer', 'start it, and look at its log and its /readyz');
  const { version, node, instance, clock, startedAt } = about;
  const says = `${version} on Node.js ${node}, up ${span(clock - startedAt)} (${instance})`;
  return version === VERSION
    ? ok(check, says)
    : warn(check, `${says}; this command line is ${VERSION}`, 'bring both to the same release');
};

const migrationsFinding = ({ service, about }: Heard): Finding | undefined => {
  if (about === undefined) return undefined;
  const check = `migrations ${service}`;
  const { applied, pending, unknown } = about.migrations;
  if (pending.length > 0)
    return fail(
      check,
      `pending: ${pending.join(', ')}`,
      'run `node infra/postgres/main.ts` before the services',
    );
  if (unknown.length > 0)
    return warn(
      check,
      `the database had ${unknown.join(', ')}, which this release does not know`,
      'a later release was here: go on with that one, or restore the backup from before it',
    );
  return ok(check, `${String(applied.length)} applied, none pending`);
};

/** Nobody notices less; OIDC tolerates thirty seconds between issuer and service. */
const SKEW_WARN_MS = 2_000;
const SKEW_FAIL_MS = 30_000;

/** How far a clock is from this machine's, as well as the time that asking took lets it be known. */
export const skewFinding = (
  check: string,
  clock: number,
  { from, to }: Pick<Heard, 'from' | 'to'>,
): Finding => {
  const certain = Math.max(0, from - clock, clock - to);
  const sign = clock > to ? 'ahead of' : 'behind';
  const says =
    certain === 0 ? 'agrees with this machine' : `${(certain / 1_000).toFixed(1)} s ${sign} this machine`;
  const todo = 'let NTP (chrony, systemd-timesyncd) set the clocks of both; deadlines go by the database’s';
  if (certain >= SKEW_FAIL_MS) return fail(check, says, todo);
  return certain >= SKEW_WARN_MS ? warn(check, says, todo) : ok(check, says);
};

const databaseFindings = (heard: readonly Heard[]): readonly Finding[] => {
  const first = heard.find(({ about }) => about !== undefined);
  if (first?.about === undefined)
    return [fail('database', 'no service answers that could say', 'see to the services first')];
  const { version, bytes } = first.about.database;
  return [
    ok('database', `PostgreSQL ${version}, ${sizeText(bytes)}`),
    skewFinding('clock database', first.about.database.clock, first),
  ];
};

export const judgeServices = (heard: readonly Heard[]): readonly Finding[] => [
  ...heard.map(serviceFinding),
  ...heard.flatMap((each) => migrationsFinding(each) ?? []),
  ...databaseFindings(heard),
  ...heard.flatMap((each) =>
    each.about === undefined ? [] : [skewFinding(`clock ${each.service}`, each.about.clock, each)],
  ),
];
