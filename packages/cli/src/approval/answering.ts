import { ApprovalId } from '@holdpoint/contracts/values/ids';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import { typedValue } from '@holdpoint/contracts/workflow/input-typed';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { type Command, InvalidArgumentError } from 'commander';
import { as, collectInput } from '../kit/arguments.ts';
import { respondTo } from './decisions.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

type Responding = {
  readonly yes?: true;
  readonly no?: true;
  readonly choice?: string;
  readonly text?: string;
  readonly field?: JsonObject;
  /** True when nothing came with it: then it is about what is printed. */
  readonly json?: { readonly response: Json } | true;
  readonly comment?: string;
};

const jsonResponse = (text: string): { readonly response: Json } => {
  try {
    return { response: JSON.parse(text) as Json };
  } catch {
    throw new InvalidArgumentError('not JSON');
  }
};

/** What is typed for a field stands for what the field wants; what is given as JSON is that. */
const filledIn = (input: InputRequest | undefined, typed: JsonObject): Json => {
  if (input?.kind !== 'form') return typed;
  const values = Object.entries(typed).flatMap(([name, value]): readonly (readonly [string, Json])[] => {
    const field = input.fields.find((each) => each.name === name);
    const meant = field === undefined || typeof value !== 'string' ? value : typedValue(field, value);
    return meant === undefined ? [] : [[name, meant]];
  });
  return Object.fromEntries(values);
};

/** What was said, once it is known what was asked. Throws `UsageError` unless exactly one thing was. */
const responseIn = ({ yes, no, choice, text, field, json }: Responding) => {
  const said: readonly (((input: InputRequest | undefined) => Json) | undefined)[] = [
    yes && (() => true),
    no && (() => false),
    choice === undefined ? undefined : () => choice,
    text === undefined ? undefined : () => text,
    field && ((input) => filledIn(input, field)),
    json === undefined || json === true ? undefined : () => json.response,
  ];
  const [response, ...others] = said.filter((each) => each !== undefined);
  if (response === undefined || others.length > 0)
    throw new UsageError('one of --yes, --no, --choice, --text, --field and --json <response>');
  return response;
};

export const addRespond = (approvals: Command, { use, lines, json }: Session): void => {
  withExample(
    approvals
      .command('respond')
      .description('say what a program asks for')
      .argument('<id>', 'id of the question', as(ApprovalId))
      .option('--yes', 'yes')
      .option('--no', 'no')
      .option('--choice <value>', 'the value of an option')
      .option('--text <text>', 'a text')
      .option(
        '--field <name=value>',
        'a field of a form; name:=json for anything but what is typed (repeatable)',
        collectInput,
      )
      .option(
        '--json [response]',
        'the response as JSON; without one, print the answer as it came',
        jsonResponse,
      )
      .option('--comment <text>', 'why, for the record')
      .action((id: ApprovalId, options: Responding) => {
        const responseTo = responseIn(options);
        const { comment } = options;
        return use(async (client) => {
          const asked = await client.call('approvals', 'get', { id });
          const response = responseTo(asked.input);
          const made = await respondTo(client, { ...asked, id }, response, { comment });
          if (options.json === true) json(made.answer);
          else lines(made.lines);
          return undefined;
        });
      }),
    'approvals respond a-7h2k9m1x4c --yes --comment "as we agreed"',
    'approvals respond a-7h2k9m1x4c --choice staging',
    'approvals respond a-7h2k9m1x4c --field env=staging --field percent=10',
  );
};
