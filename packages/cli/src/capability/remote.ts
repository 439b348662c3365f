import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import {
  CapabilityDefinition,
  type CapabilityDefinition as Definition,
  type RegisteredCapability,
} from '@holdpoint/contracts/approval/capability';
import { remoteLabelOf, RemoteName } from '@holdpoint/contracts/effect/remote-name';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { columns, instant } from '../output/columns.ts';

const STDIN = 0;

/** Throws `UsageError` with the first problem of the file. */
const readDefinition = (name: string, directory: () => string): Definition => {
  const from = name === '-' ? STDIN : isAbsolute(name) ? name : resolve(directory(), name);
  const shown = name === '-' ? 'standard input' : name;
  let text: string;
  try {
    text = readFileSync(from, 'utf8');
  } catch (cause) {
    throw new UsageError(`${shown}: cannot be read`, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new UsageError(`${shown}: not JSON`, { cause });
  }
  const { data, error } = CapabilityDefinition.safeParse(value);
  if (data !== undefined) return data;
  const [issue] = error.issues;
  throw new UsageError(`${shown}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}`);
};

export const operationsOf = (view: {
  readonly preview?: boolean | undefined;
  readonly probe?: boolean | undefined;
  readonly compensate?: boolean | undefined;
}): string =>
  (['preview', 'probe', 'compensate'] as const).filter((operation) => view[operation] === true).join(' ') ||
  '-';

export const remoteRow = (capability: RegisteredCapability): readonly string[] => [
  remoteLabelOf(capability.name),
  capability.effectClass,
  capability.kind,
  capability.status === 'withdrawn' ? 'withdrawn' : 'remote effect',
  operationsOf(capability),
];

export const remoteText = (capability: RegisteredCapability): readonly string[] => {
  const { name, title, description, target, effectClass, kind, risk, status } = capability;
  const { registeredBy, registeredAt, withdrawnBy, timeoutMs } = capability;
  return columns([
    ['label', remoteLabelOf(name)],
    ['title', title],
    ...(description === undefined ? [] : [['description', description]]),
    ['class', effectClass],
    ['kind', kind],
    ...(risk === undefined ? [] : [['risk', `at least ${risk}`]]),
    ['target', target ?? `remote:${name}`],
    ['operations', operationsOf(capability)],
    ['timeout', timeoutMs === undefined ? 'none' : `${String(timeoutMs / 1_000)} s`],
    ['registered', `by ${registeredBy}, ${instant(registeredAt)}`],
    ...(status === 'withdrawn' ? [['withdrawn', `by ${withdrawnBy ?? 'unknown'}`]] : []),
  ]);
};

export const addRegister = (group: Command, { use, lines, json, directory }: Session): void => {
  withExample(
    group
      .command('register')
      .description('register a capability that programs of yours carry out, or its next definition')
      .argument('<file>', 'definition in JSON; - reads standard input')
      .option('--json', 'print the API response as JSON')
      .action((file: string, options: { json?: true }) => {
        const definition = readDefinition(file, directory);
        return use(async (client) => {
          const answer = await client.call('approvals', 'capability_register', definition);
          if (options.json) json(answer);
          else lines(remoteText(answer));
          return undefined;
        });
      }),
    'capability register refund.json',
  );
};

export const addWithdraw = (group: Command, { use, lines, json }: Session): void => {
  withExample(
    group
      .command('withdraw')
      .description('withdraw a registered capability: further requests for its effects are refused')
      .argument('<name>', 'name of the capability', as(RemoteName))
      .option('--json', 'print the API response as JSON')
      .action((name: string, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('approvals', 'capability_withdraw', { name });
          if (options.json) json(answer);
          else lines([`${remoteLabelOf(answer.name)}: withdrawn by ${answer.withdrawnBy ?? 'unknown'}`]);
          return undefined;
        }),
      ),
    'capability withdraw refund',
  );
};
