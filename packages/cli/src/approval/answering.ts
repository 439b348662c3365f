import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { Answer, StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { ApprovalId, EffectId } from '@holdpoint/contracts/values/ids';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import { typedValue } from '@holdpoint/contracts/workflow/input-typed';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { type Command, InvalidArgumentError } from 'commander';
import { as, collectInput, oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import type { Client } from '../bus/client.ts';
import { decidedText, decideOn, findInDoubtQuestion, respondTo } from './decisions.ts';

type Options = {
  readonly yes?: true;
  readonly no?: true;
  readonly choice?: string;
  readonly text?: string;
  readonly field?: JsonObject;
  /** True without a value: the output format is meant then. */
  readonly json?: { readonly response: Json } | true;
  readonly comment?: string;
};

const jsonResponse = (text: string): { readonly response: Json } => {
  try {
    return { response: JSON.parse(text) as Json };
  } catch {
    throw new InvalidArgumentError('expected JSON');
  }
};

/** Converts typed text to the type of its field. JSON values stay as they are. */
const formValues = (input: InputRequest | undefined, typed: JsonObject): Json => {
  if (input?.kind !== 'form') return typed;
  const values = Object.entries(typed).flatMap(([name, value]): readonly (readonly [string, Json])[] => {
    const field = input.fields.find((each) => each.name === name);
    const converted = field === undefined || typeof value !== 'string' ? value : typedValue(field, value);
    return converted === undefined ? [] : [[name, converted]];
  });
  return Object.fromEntries(values);
};

const ONE_RESPONSE =
  'give one <answer>, or exactly one of --yes, --no, --choice, --text, --field, --json <response>';

type ResponseTo = (input: InputRequest | undefined) => Json;

/** The response to a workflow's question, by the type of the question. Throws `UsageError` unless there is exactly one. */
const responseIn = ({ yes, no, choice, text, field, json }: Options): ResponseTo => {
  const responses: readonly (ResponseTo | undefined)[] = [
    yes && (() => true),
    no && (() => false),
    choice === undefined ? undefined : () => choice,
    text === undefined ? undefined : () => text,
    field && ((input) => formValues(input, field)),
    json === undefined || json === true ? undefined : () => json.response,
  ];
  const [response, ...others] = responses.filter((each) => each !== undefined);
  if (response === undefined || others.length > 0) throw new UsageError(ONE_RESPONSE);
  return response;
};

const hasResponse = ({ yes, no, choice, text, field, json }: Options): boolean =>
  [yes, no, choice, text, field, json === true ? undefined : json].some((each) => each !== undefined);

/** A question, or the effect that an open in-doubt question is about. */
type Question = ApprovalId | EffectId;

const questionName = (text: string): Question => as(text.startsWith('e-') ? EffectId : ApprovalId)(text);

const isEffect = (name: Question): name is EffectId => name.startsWith('e-');

const questionNamed = async (client: Client, name: Question): Promise<ApprovalView> =>
  isEffect(name)
    ? findInDoubtQuestion(client, name)
    : { ...(await client.call('approvals', 'get', { id: name })), id: name };

export const addAnswer = (approval: Command, { use, lines, json }: Session): void => {
  const choose = (name: Question, answer: Answer, { comment, json: asJson }: Options): Promise<void> =>
    use(async (client) => {
      const request = await questionNamed(client, name);
      const decided = await decideOn(client, request, answer, { comment });
      if (asJson === true) json(decided);
      else lines(decidedText(request, decided, `answered with ${answer}`));
      return undefined;
    });
  const respond = (name: Question, options: Options): Promise<void> => {
    const responseTo = responseIn(options);
    const { comment } = options;
    return use(async (client) => {
      const request = await questionNamed(client, name);
      const result = await respondTo(client, request, responseTo(request.input), { comment });
      if (options.json === true) json(result.answer);
      else lines(result.lines);
      return undefined;
    });
  };
  withExample(
    approval
      .command('answer')
      .alias('respond')
      .description('answer a question: about an in-doubt effect, a stuck job, or from a workflow')
      .argument('<id>', 'approval ID of the question, or ID of the in-doubt effect', questionName)
      .argument(
        '[answer]',
        `in-doubt effect: ${InDoubtAnswer.options.join(', ')}; stuck job: ${StuckAnswer.options.join(', ')}`,
        oneOf(Answer.options),
      )
      .option('--yes', 'answer yes')
      .option('--no', 'answer no')
      .option('--choice <value>', 'choose this option')
      .option('--text <text>', 'answer with this text')
      .option(
        '--field <name=value>',
        'fill in a field of a form; name:=json for a JSON value (repeatable)',
        collectInput,
      )
      .option(
        '--json [response]',
        'answer with this JSON value; without a value, print the API response as JSON',
        jsonResponse,
      )
      .option('--comment <text>', 'reason, kept in the record')
      .action((id: Question, answer: Answer | undefined, options: Options) => {
        if (answer === undefined) return respond(id, options);
        if (hasResponse(options)) throw new UsageError(ONE_RESPONSE);
        return choose(id, answer, options);
      }),
    'approval answer a-7h2k9m1x4c applied --comment "the order is there"',
    'approval answer a-7h2k9m1x4c skip --comment "not needed for this release"',
    'approval answer a-7h2k9m1x4c --yes --comment "as we agreed"',
    'approval answer a-7h2k9m1x4c --field env=staging --field percent=10',
  );
};
