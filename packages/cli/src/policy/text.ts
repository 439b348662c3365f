import type {
  FloorBreach,
  FloorEntry,
  PolicyImpact,
  PolicyView,
} from '@holdpoint/contracts/approval/policy-floor';
import { DEMANDS } from '@holdpoint/contracts/approval/floor-text';
import { columns, instant, listing } from '../output/columns.ts';

const matchText = ({ match = {}, except = [] }: FloorEntry): string => {
  const { kinds = [], capabilities = [], targets = [], workflows = [] } = match;
  const parts = [
    kinds.join(' or '),
    capabilities.join(' or '),
    targets.length === 0 ? '' : `on ${targets.join(' or ')}`,
    workflows.length === 0 ? '' : `in ${workflows.join(' or ')}`,
  ].filter((part) => part !== '');
  const exceptions = except.length === 0 ? '' : ` (${String(except.length)} exceptions)`;
  return `${parts.length === 0 ? 'everything' : parts.join(', ')}${exceptions}`;
};

const demandText = ({ audience, quorum, fourEyes, rules, timeoutMsMax }: FloorEntry): string =>
  [
    audience === undefined ? '' : `members of ${audience.join(', ')}`,
    quorum === undefined ? '' : `${String(quorum)} approvers`,
    fourEyes === undefined ? '' : 'four eyes',
    rules === undefined ? '' : 'no rules',
    timeoutMsMax === undefined ? '' : `at most ${String(Math.floor(timeoutMsMax / 1_000))} s`,
  ]
    .filter((part) => part !== '')
    .join('; ');

export const policyText = ({ digest, source, floor, problem }: PolicyView): readonly string[] => [
  ...columns([
    ['floor', digest],
    ['source', source === 'default' ? 'built in: no policy file is set' : 'the policy file'],
    ...(problem === undefined ? [] : [['problem', problem]]),
  ]),
  ...listing(
    ['Entry', 'Covers', 'Demands'],
    floor.floor.map((entry) => [entry.name, matchText(entry), demandText(entry)]),
  ),
];

const BREACHES: Readonly<Record<FloorBreach, string>> = {
  ...DEMANDS,
  unreachable: 'the approvers it names',
};

const changeText = ({ stricter, weaker, breaks }: PolicyImpact): string =>
  [
    stricter.length === 0 ? '' : `adds ${stricter.map((demand) => DEMANDS[demand]).join(', ')}`,
    weaker.length === 0 ? '' : `drops ${weaker.map((demand) => DEMANDS[demand]).join(', ')}`,
    breaks.length === 0 ? '' : `approval would fail ${breaks.map((breach) => BREACHES[breach]).join(', ')}`,
  ]
    .filter((part) => part !== '')
    .join('; ');

type Impacts = {
  readonly digest: string;
  readonly days: number;
  readonly examined: number;
  readonly items: readonly PolicyImpact[];
  readonly next?: string;
};

export const impactText = ({ digest, days, examined, items, next }: Impacts): readonly string[] => [
  `floor ${digest.slice(0, 12)} would have changed ${String(items.length)} of ${String(examined)} requests of ${String(days)} days`,
  ...listing(
    ['Approval', 'Requested', 'By', 'State', 'Effect', 'Change'],
    items.map((item) => [
      item.id,
      instant(item.requestedAt),
      item.requestedBy,
      item.decidedBy === undefined ? item.status : `${item.status} by ${item.decidedBy}`,
      `${item.kind}: ${item.uses} on ${item.target}`,
      changeText(item),
    ]),
  ),
  ...(next === undefined ? [] : ['more requests were not examined: use fewer days']),
];
