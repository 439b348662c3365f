import type { Retention } from '@holdpoint/contracts/api/admin';
import { COUNTED_MAX } from '@holdpoint/contracts/api/admin';
import { streams } from '@holdpoint/contracts/bus/streams';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { instant } from '../output/columns.ts';
import { sizeText } from './doctor/finding.ts';
import type { Line } from '../output/painted.ts';
import { table } from '../output/table.ts';

/** Display names of the data of each service. */
const KEEPS: Readonly<Record<ServiceName, string>> = {
  orchestrator: 'tasks',
  approvals: 'approvals',
  executor: 'effects',
  recovery: 'attempts',
};

export type ServiceRetention = { readonly service: ServiceName } & Retention;

const HOUR_MS = 3_600_000;

const ageText = (ms: number): string =>
  ms % (24 * HOUR_MS) === 0 ? `${String(ms / (24 * HOUR_MS))} days` : `${String(ms / HOUR_MS)} hours`;

/** Limits of the bus; the one reached first applies. */
export const BUS_POLICY = streams.map(({ name, maxAgeMs, maxBytes }) => ({ name, maxAgeMs, maxBytes }));

const counted = (count: number): string =>
  count >= COUNTED_MAX ? `${String(COUNTED_MAX)} or more` : String(count);

const bytesOf = ({ tables }: Retention, of: (name: string) => boolean): number =>
  tables.filter(({ name }) => of(name)).reduce((sum, { bytes }) => sum + bytes, 0);

const isAudit = (name: string): boolean => name.startsWith('audit');

const daysText = (days: number): string => `${String(Math.round(days * 100) / 100)} days`;

/** Retention and expired data. `asIf`: retention in days to compute instead of the configured one. */
export const policyLines = (kept: readonly ServiceRetention[], asIf: number | undefined): readonly Line[] => {
  const audit = kept.find(({ service }) => service === 'approvals');
  return [
    ...table(
      [
        'WHAT',
        'KEPT AFTER ITS END',
        asIf === undefined ? 'WOULD GO' : `WOULD GO BY ${String(asIf)} DAYS`,
        'ENDED',
        'OLDEST',
        'ON DISK',
      ],
      kept.map((each) => [
        KEEPS[each.service],
        daysText(each.keepDays),
        counted(each.due),
        counted(each.ended),
        each.oldestEndedAt === undefined ? '-' : instant(each.oldestEndedAt),
        sizeText(bytesOf(each, (name) => !isAudit(name))),
      ]),
    ),
    '',
    ...BUS_POLICY.map(
      ({ name, maxAgeMs, maxBytes }) => `${name}: up to ${ageText(maxAgeMs)} or ${sizeText(maxBytes)}`,
    ),
    `Audit log${audit === undefined ? '' : ` (${sizeText(bytesOf(audit, isAudit))})`}: kept forever.`,
    'Upper bounds: data that a task needs is purged together with the task.',
  ];
};

/** Explains how to change the retention: services and clients cannot change it. */
export const changeText = (days: number): string =>
  `To keep this retention: HOLDPOINT_KEEP_DAYS=${String(days)} holdpoint provision postgres`;
