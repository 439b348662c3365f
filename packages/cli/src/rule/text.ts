import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { RuleMatch, RuleView } from '@holdpoint/contracts/approval/standing-rule';
import { columns, instant, listing } from '../output/columns.ts';

/** `notify, cap.notify.slack on channel:*, by ci-*` */
export const matchText = (match: RuleMatch): string => {
  const { kinds, capability, target, requester, workflow } = match;
  const parts = [
    kinds === undefined ? '' : kinds.join(' or '),
    [capability ?? '', target === undefined ? '' : `on ${target}`].join(' ').trim(),
    ...Object.entries(match.arguments ?? {}).map(([path, pattern]) => `${path}=${pattern}`),
    requester === undefined ? '' : `requested by ${requester}`,
    workflow === undefined ? '' : `in ${workflow}`,
  ];
  return parts.filter((part) => part !== '').join(', ');
};

const lifeOf = ({ status, expiresAt, usesMax, uses, revokedBy }: RuleView): string =>
  [
    status === 'revoked' ? `revoked by ${revokedBy ?? 'unknown'}` : status,
    usesMax === undefined ? `used ${String(uses)} times` : `used ${String(uses)} of ${String(usesMax)} times`,
    expiresAt === undefined ? '' : `until ${instant(expiresAt)}`,
  ]
    .filter((part) => part !== '')
    .join(', ');

export const ruleText = (rule: RuleView): readonly string[] =>
  columns([
    ['rule', rule.id],
    ['name', rule.name],
    ['approves', matchText(rule.match)],
    ['author', rule.author],
    ['state', lifeOf(rule)],
  ]);

export const ruleListText = ({ items, next }: ApiResponse<'approvals', 'rule_list'>): readonly string[] => [
  ...(items.length === 0 ? ['no standing rules'] : []),
  ...listing(
    ['Rule', 'Name', 'State', 'Author', 'Matches'],
    items.map((rule) => [rule.id, rule.name, lifeOf(rule), rule.author, matchText(rule.match)]),
  ),
  ...(next === undefined ? [] : [`more: --after ${next}`]),
];

export const ruleTestText = ({
  items,
  examined: looked,
}: ApiResponse<'approvals', 'rule_test'>): readonly string[] => [
  `would have approved ${String(items.length)} of the latest ${String(looked)} requests`,
  ...columns(
    items.map(({ id, status, decidedBy, requestedAt, title }) => [
      id,
      decidedBy === undefined ? status.replace('_', ' ') : `${status.replace('_', ' ')} by ${decidedBy}`,
      instant(requestedAt),
      title,
    ]),
    '  ',
  ),
];
