import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROOT } from './source-tree.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The document that explains alarms and metrics. */
export const METRICS_DOCUMENT = 'docs/observability.md';
export const RULES = 'infra/prometheus/holdpoint.rules.yaml';
export const HOST_RULES = 'infra/prometheus/hosts.rules.yaml';
export const RULE_TESTS = 'infra/prometheus/holdpoint.rules.test.yaml';
export const SCRAPING = 'infra/prometheus/prometheus.yaml';
/** The settings of the Compose profile `observe`. */
export const COMPOSE_SCRAPING = 'infra/prometheus/compose.yaml';
export const DASHBOARD = 'infra/grafana/holdpoint.json';

const Rules = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      rules: z.array(
        z.object({
          alert: z.string(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['page', 'ticket']) }),
          annotations: z.object({ summary: z.string(), runbook: z.string() }),
        }),
      ),
    }),
  ),
});
export type Alarm = z.infer<typeof Rules>['groups'][number]['rules'][number];

export const alarmsIn = (path: string): readonly Alarm[] =>
  Rules.parse(parse(read(path))).groups.flatMap(({ rules }) => rules);

const Dashboard = z.object({
  uid: z.string(),
  panels: z.array(
    z.object({
      id: z.int(),
      title: z.string(),
      targets: z.array(z.object({ expr: z.string() })).default([]),
    }),
  ),
});
export const dashboard = (): z.infer<typeof Dashboard> => Dashboard.parse(JSON.parse(read(DASHBOARD)));

/** The metrics of services and processes in a PromQL expression. */
export const metricsIn = (expr: string): readonly string[] => [
  ...new Set(expr.match(/\b(?:holdpoint|nodejs|process)_[a-z0-9_]+\b/g)),
];

/** The metrics in alarms and panels. */
export const metricsUsed = (): readonly string[] => [
  ...new Set(
    [
      ...alarmsIn(RULES).map(({ expr }) => expr),
      ...dashboard().panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ].flatMap(metricsIn),
  ),
];

/** The first column of the tables of metrics in the document. */
export const metricsDocumented = (): readonly string[] =>
  [...read(METRICS_DOCUMENT).matchAll(/^\| `((?:holdpoint|nodejs|process)_[a-z0-9_]+)`/gm)].map(
    ([, name]) => name ?? '',
  );

/** The metric of a name in an expression: a histogram has three kinds of lines. */
export const metricOf = (name: string, explained: ReadonlySet<string>): string =>
  explained.has(name) ? name : name.replace(/_(?:bucket|sum|count)$/, '');

/** Headings in the form that links use. */
export const headingsIn = (path: string): readonly string[] =>
  [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, title]) => (title ?? '').toLowerCase());

/** The names of metrics and of lines in a response of `/metrics`. */
export const exposedIn = (
  text: string,
): { readonly metrics: ReadonlySet<string>; readonly lines: ReadonlySet<string> } => ({
  metrics: new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name ?? '')),
  lines: new Set([...text.matchAll(/^([a-z_][a-z0-9_]*)(?=[{ ])/gim)].map(([, name]) => name ?? '')),
});
