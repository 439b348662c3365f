import { ApprovalsEnv } from '@holdpoint/approvals/config';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { ExecutorEnv } from '@holdpoint/executor/config';
import { OrchestratorEnv } from '@holdpoint/orchestrator/config';
import { RecoveryEnv } from '@holdpoint/recovery/config';
import { ServiceEnv } from '@holdpoint/runtime/service/config';
import type { z } from 'zod';

/** What brings the reference up to date. */
export const GENERATE_COMMAND = 'node tests/reference/generate.ts';

export const SETTINGS_FILE = 'docs/reference/settings.md';

/** A variable of the environment, as a service declares it. */
type Setting = {
  readonly name: string;
  /** Empty for nothing; undefined where it has to be set. */
  readonly otherwise: string | undefined;
  readonly meaning: string | undefined;
};

const ENVIRONMENTS: Readonly<Record<ServiceName, { readonly shape: Readonly<Record<string, z.ZodType>> }>> = {
  orchestrator: OrchestratorEnv,
  approvals: ApprovalsEnv,
  executor: ExecutorEnv,
  recovery: RecoveryEnv,
};

type Definition = { readonly type: string; readonly in?: z.ZodType; readonly out?: z.ZodType };
type Default = { readonly innerType: z.ZodType; readonly defaultValue: unknown };

/** Without what is done to the text before it is read, and to the value after. */
const innermost = (schema: z.ZodType): z.ZodType => {
  const { type, in: before, out: after } = schema.def as unknown as Definition;
  if (type !== 'pipe' || before === undefined || after === undefined) return schema;
  return innermost((before.def as unknown as Definition).type === 'transform' ? after : before);
};

/** What counts when it is left out, as one would write it. */
const otherwiseOf = (schema: z.ZodType): string | undefined => {
  const inner = innermost(schema);
  const { type } = inner.def as unknown as Definition;
  if (type === 'optional') return '';
  if (type !== 'default') return undefined;
  const { defaultValue } = inner.def as unknown as Default;
  return [defaultValue instanceof Set ? [...defaultValue] : defaultValue].flat().join(',');
};

const settingsIn = (shape: Readonly<Record<string, z.ZodType>>): readonly Setting[] =>
  Object.entries(shape).map(([name, schema]) => ({
    name,
    otherwise: otherwiseOf(schema),
    meaning: schema.description,
  }));

/** By the title of each group: those of every service, and then what each has of its own. */
export const settings = (): ReadonlyMap<string, readonly Setting[]> => {
  const common = settingsIn(ServiceEnv.shape);
  const known = new Set(common.map(({ name }) => name));
  return new Map([
    ['Every service', common],
    ...Object.entries(ENVIRONMENTS).map(
      ([service, { shape }]) =>
        [
          service.charAt(0).toUpperCase() + service.slice(1),
          settingsIn(shape).filter(({ name }) => !known.has(name)),
        ] as const,
    ),
  ]);
};

const shown = (otherwise: string | undefined): string =>
  otherwise === undefined ? '**needed**' : otherwise === '' ? '–' : `\`${otherwise.replaceAll(',', ', ')}\``;

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

const section = ([title, rows]: readonly [string, readonly Setting[]]): string =>
  [
    `## ${title}`,
    '',
    '| variable | when left out | meaning |',
    '|---|---|---|',
    ...rows.map(
      ({ name, otherwise, meaning = '' }) => `| \`${name}\` | ${shown(otherwise)} | ${cell(meaning)} |`,
    ),
    '',
  ].join('\n');

/** All settings of the services, as a document. */
export const settingsReference = (): string =>
  [
    '# Settings',
    '',
    `What each service reads from its environment, once. Written by \`${GENERATE_COMMAND}\`: change what the services declare instead.`,
    '',
    ...[...settings()].map(section),
  ].join('\n');
