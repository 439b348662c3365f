import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import { choicesOf, type Question, questionOf } from '@holdpoint/contracts/approval/question';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type Ask, askForResponse } from './input-prompt.ts';
import { canRemember, ruleFrom } from './remember.ts';
import type { Client } from '../bus/client.ts';
import { answerText, decideOn, respondTo } from './decisions.ts';
import type { Terminal } from '../kit/environment.ts';

type Key = {
  readonly key: string;
  /** The full word. */
  readonly word: string;
  readonly choice: Choice;
  readonly says: string;
  readonly needsComment?: true;
  readonly remembers?: true;
};

const DECISION: readonly Key[] = [
  { key: 'y', word: 'yes', choice: 'approve', says: 'approve' },
  { key: 'n', word: 'no', choice: 'reject', says: 'reject' },
  { key: 'c', word: 'changes', choice: 'request_changes', says: 'request changes', needsComment: true },
  { key: 'r', word: 'remember', choice: 'approve', says: 'approve and add a rule', remembers: true },
];
const DOUBT: readonly Key[] = [
  { key: 'a', word: 'applied', choice: 'applied', says: 'applied' },
  { key: 'n', word: 'not_applied', choice: 'not_applied', says: 'not applied' },
  { key: 'r', word: 'retry', choice: 'retry', says: 'retry' },
];
const STUCK: readonly Key[] = [
  { key: 'r', word: 'retry', choice: 'retry', says: 'retry' },
  { key: 's', word: 'skip', choice: 'skip', says: 'skip' },
  { key: 'd', word: 'done', choice: 'done', says: 'mark as done' },
  { key: 'c', word: 'cancel', choice: 'cancel', says: 'cancel' },
];
type Prompt = { readonly asks: string; readonly keys: readonly Key[] };
const PROMPTS: Readonly<Record<Exclude<Question, 'input'>, Prompt>> = {
  effect: { asks: 'Approve it?', keys: DECISION },
  in_doubt: { asks: 'Did it happen?', keys: DOUBT },
  stuck: { asks: 'How to continue?', keys: STUCK },
};

/** The allowed keys. Any other key leaves the request pending. */
const keysOf = (approval: ApprovalView, { keys }: Prompt): readonly Key[] => {
  const choices = choicesOf(approval);
  return keys.filter(
    ({ choice, remembers }) => choices.includes(choice) && (remembers === undefined || canRemember(approval)),
  );
};

const promptOf = ({ asks }: Prompt, keys: readonly Key[]): string =>
  `${asks} [${keys.map(({ key, says }) => `${key}: ${says}`).join(', ')}, other: later] `;

export type PromptResult = { readonly lines: readonly string[]; readonly decided: boolean };
const STILL_PENDING: PromptResult = { lines: ['still pending'], decided: false };

const type = async ({ ask }: Terminal, prompt: string): Promise<string> =>
  (await ask(prompt, new AbortController().signal))?.trim() ?? '';

const reportRefusal = async (decide: () => Promise<PromptResult>): Promise<PromptResult> => {
  try {
    return await decide();
  } catch (error) {
    // Too late or not entitled: the next request may still be decidable.
    if (!(error instanceof HoldpointError)) throw error;
    return {
      lines: [`${error.code}: ${error.message}`],
      decided: error.code === 'APPROVALS_ALREADY_DECIDED',
    };
  }
};

/** Asks the user for the input that a workflow wants, and sends it. */
export const askFor = async (client: Client, ask: Ask, approval: ApprovalView): Promise<PromptResult> => {
  const response = approval.input && (await askForResponse(ask, approval.input));
  if (response === undefined) return STILL_PENDING;
  return reportRefusal(async () => {
    const { lines } = await respondTo(client, approval, response);
    return { lines, decided: true };
  });
};

/** Asks the user for a decision and sends it. A refusal is printed as a line. */
export const askAbout = async (
  client: Client,
  terminal: Terminal,
  approval: ApprovalView,
): Promise<PromptResult> => {
  const question = questionOf(approval);
  if (question === 'input') {
    const { signal } = new AbortController();
    return askFor(client, (question) => terminal.ask(question, signal), approval);
  }
  const prompt = PROMPTS[question];
  const keys = keysOf(approval, prompt);
  const typed = (await type(terminal, promptOf(prompt, keys))).toLowerCase();
  const chosen = keys.find(({ key, word }) => key === typed || word === typed);
  if (chosen === undefined) return STILL_PENDING;
  const comment = chosen.needsComment && (await type(terminal, 'Which changes? '));
  if (comment === '') return STILL_PENDING;
  const details = { comment, ...(chosen.remembers && { remember: ruleFrom(approval) }) };
  return reportRefusal(async () => {
    const answer = await decideOn(client, approval, chosen.choice, details);
    return { lines: answerText(approval, answer, chosen.choice), decided: answer.status !== 'pending' };
  });
};
