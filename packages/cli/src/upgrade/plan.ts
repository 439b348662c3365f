import type { ServiceName } from '@holdpoint/contracts/bus/subjects';

/** The running deployment, as far as its services and the bus report it. */
export type Deployed = {
  readonly services: readonly (
    | {
        readonly service: ServiceName;
        readonly version: string;
        /** The migrations of its schema, oldest first. */
        readonly migrations: readonly string[];
      }
    | { readonly service: ServiceName; readonly error: string }
  )[];
  /** Settings that differ from the declaration; undefined for a stream that does not exist. */
  readonly streams: readonly {
    readonly name: string;
    readonly differences: readonly string[] | undefined;
  }[];
};

/** The release of this program. */
export type Program = {
  readonly version: string;
  readonly migrations: (service: ServiceName) => readonly string[];
};

export type UpgradeStep = { readonly check: string; readonly message: string; readonly action: string };

export type UpgradePlan = {
  /** The changes of an upgrade to this program, in its order. */
  readonly steps: readonly UpgradeStep[];
  /** Why this program is too old for the deployment. */
  readonly newer: readonly string[];
};

const numbersOf = (version: string): readonly number[] =>
  (version.split('-')[0] ?? '').split('.').map((part) => Number(part) || 0);

/** Negative if `one` is the earlier release. A pre-release comes before its release. */
export const compareReleases = (one: string, other: string): number => {
  const [a, b] = [numbersOf(one), numbersOf(other)];
  for (let place = 0; place < Math.max(a.length, b.length); place += 1) {
    const difference = (a[place] ?? 0) - (b[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(other.includes('-')) - Number(one.includes('-'));
};

const MIGRATE = 'apply migrations before you replace services';
const REPLACE = 'replace one replica at a time';
const STREAM = 'the orchestrator of this release does it at its start';

/** Compares a deployment with the release of this program. */
export const upgradePlan = (
  { version, migrations }: Program,
  { services, streams }: Deployed,
): UpgradePlan => {
  const steps: UpgradeStep[] = [];
  const newer: string[] = [];
  for (const each of services) {
    const { service } = each;
    if ('error' in each) {
      const message = `does not answer (${each.error})`;
      steps.push({ check: `service ${service}`, message, action: 'start it, then ask again' });
      continue;
    }
    const known = migrations(service);
    const later = each.migrations.find((name) => !known.includes(name));
    const missing = known.filter((name) => !each.migrations.includes(name));
    const order = compareReleases(each.version, version);
    if (order > 0)
      newer.push(`${service} is ${each.version}, this program ${version}: install holdpoint@${each.version}`);
    else if (later !== undefined)
      newer.push(`the database of ${service} has ${later}: use a release later than ${version}`);
    if (missing.length > 0)
      steps.push({ check: `database ${service}`, message: `apply ${missing.join(', ')}`, action: MIGRATE });
    if (order < 0)
      steps.push({
        check: `service ${service}`,
        message: `replace ${each.version} by ${version}`,
        action: REPLACE,
      });
  }
  for (const { name, differences } of streams) {
    const message = differences === undefined ? 'create it' : `change ${differences.join(', ')}`;
    if (differences?.length !== 0) steps.push({ check: `stream ${name}`, message, action: STREAM });
  }
  return { steps, newer };
};
