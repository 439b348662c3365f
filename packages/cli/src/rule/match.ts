import { RuleMatch } from '@holdpoint/contracts/approval/standing-rule';
import { SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../kit/usage-error.ts';

export type MatchOptions = {
  readonly kind?: readonly string[];
  readonly capability?: string;
  readonly target?: string;
  readonly arg?: Readonly<Record<string, string>>;
  readonly requester?: string;
  readonly workflow?: string;
};

const collectKind = (text: string, before: readonly string[] = []): readonly string[] => {
  const { success } = SideEffectKind.safeParse(text);
  if (!success) throw new InvalidArgumentError(`one of ${SideEffectKind.options.join(', ')}`);
  return [...before, text];
};

const collectArgument = (
  text: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> => {
  const { place, pattern } = /^(?<place>[^=]+)=(?<pattern>.+)$/su.exec(text)?.groups ?? {};
  if (place === undefined || pattern === undefined)
    throw new InvalidArgumentError('expected path=pattern, such as body.channel=C0*');
  return { ...before, [place]: pattern };
};

/** Adds the options that a rule matches on. */
export const withMatch = (command: Command): Command =>
  command
    .option('--kind <kind>', 'kind of effect (repeatable)', collectKind)
    .option('--capability <pattern>', 'capability (required); * matches any text')
    .option('--target <pattern>', 'target that the arguments name; * matches any text')
    .option('--arg <path=pattern>', 'argument at this path', collectArgument)
    .option('--requester <pattern>', 'requester; * matches any text')
    .option('--workflow <pattern>', 'workflow; * matches any text');

/** Throws `UsageError` if the rule would match everything, or effects that need a person. */
export const matchOf = ({ kind, capability, target, arg, requester, workflow }: MatchOptions): RuleMatch => {
  const parsed = RuleMatch.safeParse({
    kinds: kind,
    capability,
    target,
    arguments: arg,
    requester,
    workflow,
  });
  if (parsed.success) return parsed.data;
  throw new UsageError(parsed.error.issues.map(({ message }) => message).join('; '));
};
