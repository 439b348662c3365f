import { RuleMatch } from '@holdpoint/contracts/approval/standing-rule';
import { SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import { type Command, InvalidArgumentError } from 'commander';
import { UsageError } from '../kit/usage-error.ts';

/** What a rule is about, as it is typed. */
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
    throw new InvalidArgumentError('place=pattern, such as body.channel=C0*');
  return { ...before, [place]: pattern };
};

/** Adds the options that say what a rule is about. */
export const withMatch = (command: Command): Command =>
  command
    .option('--kind <kind>', 'a kind of effect; may be given several times', collectKind)
    .option('--capability <pattern>', 'what is done; * stands for anything')
    .option('--target <pattern>', 'on what; * stands for anything')
    .option('--arg <place=pattern>', 'what stands at a place in the arguments', collectArgument)
    .option('--requester <pattern>', 'who has asked for it')
    .option('--workflow <pattern>', 'the workflow that it belongs to');

/** Throws `UsageError` when it would fit everything, or what a person has to look at. */
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
