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
  /** The same in full. */
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
  { key: 'r', word: 'remember', choice: 'approve', says: 'approve and remember', remembers: true },
];
const DOUBT: readonly Key[] = [
  { key: 'a', word: 'applied', choice: 'applied', says: 'applied' },
  { key: 'n', word: 'not_applied', choice: 'not_applied', says: 'not applied' },
  { key: 'r', word: 'retry', choice: 'retry', says: 'do it again' },
];
const STUCK: readonly Key[] = [
  { key: 'r', word: 'retry', choice: 'retry', says: 'try again' },
  { key: 's', word: 'skip', choice: 'skip', says: 'skip' },
  { key: 'd', word: 'done', choice: 'done', says: 'mark as done' },
  { key: 'c', word: 'cancel', choice: 'cancel', says: 'cancel' },
];
type Prompt = { readonly asks: string; readonly keys: readonly Key[] };
const PROMPTS: Readonly<Record<Exclude<Question, 'input'>, Prompt>> = {
  effect: { asks: 'Approve it?', keys: DECISION },
  doubt: { asks: 'Did it happen?', keys: DOUBT },
  stuck: { asks: 'What now?', keys: STUCK },
};

/** What can be typed; everything else leaves it as it is. */
const keysOf = (approval: ApprovalView, { keys }: Prompt): readonly Key[] => {
  const choices = choicesOf(approval);
  return keys.filter(
    ({ choice, remembers }) => choices.includes(choice) && (remembers === undefined || canRemember(approval)),
  );
};

const promptOf = ({ asks }: Prompt, keys: readonly Key[]): string =>
  `${asks} [${keys.map(({ key, says }) => `${key}: ${says}`).join(', ')}, other: later] `;

export type Prompted = { readonly lines: readonly string[]; readonly decided: boolean };
const LEFT: Prompted = { lines: ['left as it is'], decided: false };

const type = async ({ ask }: Terminal, prompt: string): Promise<string> =>
  (await ask(prompt, new AbortController().signal))?.trim() ?? '';

const told = async (decide: () => Promise<Prompted>): Promise<Prompted> => {
  try {
    return await decide();
  } catch (error) {
    // Too late, or not entitled: the next one may still be decided.
    if (!(error instanceof HoldpointError)) throw error;
    return {
      lines: [`${error.code}: ${error.message}`],
      decided: error.code === 'APPROVALS_ALREADY_DECIDED',
    };
  }
};

/** Asks for what a program wants, and says it. */
export const askFor = async (client: Client, ask: Ask, approval: ApprovalView): Promise<Prompted> => {
  const response = approval.input && (await askForResponse(ask, approval.input));
  if (response === undefined) return LEFT;
  return told(async () => {
    const { lines } = await respondTo(client, approval, response);
    return { lines, decided: true };
  });
};

/** Asks for a decision on what was shown, and makes it. What is refused is told as a line. */
export const askAbout = async (
  client: Client,
  terminal: Terminal,
  approval: ApprovalView,
): Promise<Prompted> => {
  const question = questionOf(approval);
  if (question === 'input') {
    const { signal } = new AbortController();
    return askFor(client, (asked) => terminal.ask(asked, signal), approval);
  }
  const prompt = PROMPTS[question];
  const keys = keysOf(approval, prompt);
  const typed = (await type(terminal, promptOf(prompt, keys))).toLowerCase();
  const chosen = keys.find(({ key, word }) => key === typed || word === typed);
  if (chosen === undefined) return LEFT;
  const comment = chosen.needsComment && (await type(terminal, 'What is to change? '));
  if (comment === '') return LEFT;
  const said = { comment, ...(chosen.remembers && { remember: ruleFrom(approval) }) };
  return told(async () => {
    const answer = await decideOn(client, approval, chosen.choice, said);
    return { lines: answerText(approval, answer, chosen.choice), decided: answer.status !== 'pending' };
  });
};
