import type { ServiceInfo } from '@holdpoint/contracts/api/admin';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { VERSION } from '@holdpoint/contracts/values/version';
import type { Client } from '../../bus/client.ts';
import { span } from '../../output/columns.ts';
import { fail, type Finding, ok, sizeText, warn } from './finding.ts';

/** Answer of a service, with the local times of the request and the response. */
export type ServiceReport = {
  readonly service: ServiceName;
  readonly about?: ServiceInfo;
  readonly error?: string;
  /** Unresolved dead letters. */
  readonly deadLetters?: number;
  readonly from: number;
  readonly to: number;
};

/** A service that takes longer is worth a finding. */
const ANSWER_WITHIN_MS = 5_000;

/** Asks every service. A service that does not answer is reported and does not block the others. */
export const askServices = (
  client: Pick<Client, 'call'>,
  now: () => number,
): Promise<readonly ServiceReport[]> =>
  Promise.all(
    SERVICES.map(async (service): Promise<ServiceReport> => {
      const from = now();
      try {
        const about = await client.call(service, 'info', {}, { timeoutMs: ANSWER_WITHIN_MS });
        const to = now();
        const { open } = await client.call(service, 'dead_letter_list', { limit: 1 });
        return { service, about, deadLetters: open, from, to };
      } catch (error) {
        if (!(error instanceof HoldpointError)) throw error;
        return { service, error: `${error.code}: ${error.message}`, from, to: now() };
      }
    }),
  );

const serviceFinding = ({ service, about, error }: ServiceReport): Finding => {
  const check = `service ${service}`;
  if (about === undefined)
    return fail(check, error ?? 'does not answer', 'start it, and check its log and /readyz');
  const { version, node, instance, clock, startedAt } = about;
  const message = `${version} on Node.js ${node}, up ${span(clock - startedAt)} (${instance})`;
  return version === VERSION
    ? ok(check, message)
    : warn(check, `${message}; this command line is ${VERSION}`, 'install the same release of both');
};

const deadLettersFinding = ({ service, deadLetters }: ServiceReport): Finding | undefined =>
  deadLetters === undefined
    ? undefined
    : deadLetters === 0
      ? ok(`dead letters ${service}`, 'none')
      : warn(
          `dead letters ${service}`,
          `${String(deadLetters)} unresolved`,
          'run `holdpoint dlq list`: the service could not handle these messages',
        );

const migrationsFinding = ({ service, about }: ServiceReport): Finding | undefined => {
  if (about === undefined) return undefined;
  const check = `migrations ${service}`;
  const { applied, pending, unknown } = about.migrations;
  if (pending.length > 0)
    return fail(
      check,
      `pending: ${pending.join(', ')}`,
      'run `holdpoint provision postgres` before the services',
    );
  if (unknown.length > 0)
    return warn(
      check,
      `the database has migrations unknown to this release: ${unknown.join(', ')}`,
      'a later release migrated this database: use that release, or restore an earlier backup',
    );
  return ok(check, `${String(applied.length)} applied, none pending`);
};

const ownerFinding = ({ service, about }: ServiceReport): Finding | undefined => {
  if (about?.owner === undefined) return undefined;
  const { process, epoch } = about.owner;
  const check = `owner ${service}`;
  return process === undefined
    ? fail(check, 'no process holds the lease', 'check the logs of its replicas and /readyz')
    : ok(check, `${process}, takeover ${String(epoch)}`);
};

/** OIDC tolerates thirty seconds of skew between issuer and service; smaller differences are not noticeable. */
const SKEW_WARN_MS = 2_000;
const SKEW_FAIL_MS = 30_000;

/** Skew between a clock and this machine's, as precisely as the round trip allows. */
export const skewFinding = (
  check: string,
  clock: number,
  { from, to }: Pick<ServiceReport, 'from' | 'to'>,
): Finding => {
  const certain = Math.max(0, from - clock, clock - to);
  const sign = clock > to ? 'ahead of' : 'behind';
  const message =
    certain === 0 ? 'in sync with this machine' : `${(certain / 1_000).toFixed(1)} s ${sign} this machine`;
  const action = 'set both clocks by NTP (chrony, systemd-timesyncd); deadlines use the database clock';
  if (certain >= SKEW_FAIL_MS) return fail(check, message, action);
  return certain >= SKEW_WARN_MS ? warn(check, message, action) : ok(check, message);
};

const databaseFindings = (reports: readonly ServiceReport[]): readonly Finding[] => {
  const first = reports.find(({ about }) => about !== undefined);
  if (first?.about === undefined)
    return [fail('database', 'no service reports it', 'check the services first')];
  const { version, bytes } = first.about.database;
  return [
    ok('database', `PostgreSQL ${version}, ${sizeText(bytes)}`),
    skewFinding('clock database', first.about.database.clock, first),
  ];
};

export const serviceFindings = (reports: readonly ServiceReport[]): readonly Finding[] => [
  ...reports.map(serviceFinding),
  ...reports.flatMap((each) => ownerFinding(each) ?? []),
  ...reports.flatMap((each) => migrationsFinding(each) ?? []),
  ...reports.flatMap((each) => deadLettersFinding(each) ?? []),
  ...databaseFindings(reports),
  ...reports.flatMap((each) =>
    each.about === undefined ? [] : [skewFinding(`clock ${each.service}`, each.about.clock, each)],
  ),
];
