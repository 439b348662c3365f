import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { NatsConnection } from '@nats-io/transport-node';
import type { z } from 'zod';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { headers } from '@nats-io/transport-node';
import type { Deployment } from '../deployment/deployment.ts';
import type { History } from '../history.ts';
import { holdFor } from '../fault-runner.ts';
import { createRandom } from '../random.ts';
import { OURS } from '../bus-recorder.ts';
import type { Caller, Outcome } from '../workload/caller.ts';
import { type Agent, hireAgent } from './agent.ts';
import { listLetters, settleLetter, startLetterKeeper } from './dead-letter-operator.ts';
import { createPageCaller, type Page } from './page-caller.ts';
import { type Pages, startPages } from './pages.ts';

const LETTER_WITHIN_MS = 6_000;
const LOOK_EVERY_MS = 200;
const TRIES = 4;

/** Users beside those with a terminal: console pages, an agent, and an operator for dead letters. */
export type ConsoleUsers = {
  /** One for each approver, on a page. */
  readonly callers: readonly Caller[];
  readonly agent: Agent;
  readonly submitByAgent: (submission: z.input<typeof SubmitTask>) => Promise<Outcome<unknown>>;
  /** Publishes a cancellation before its task. Resolves when it is a dead letter or counts as lost. */
  readonly cancelEarly: (connection: NatsConnection, task: string) => Promise<void>;
  /** Retries that dead letter. False when it is gone or others dropped it. */
  readonly cancelByLetter: (task: string) => Promise<boolean>;
  /** Watches the tasks of the run on pages. */
  readonly watch: (tasks: () => readonly { readonly id: string }[]) => Pages;
  /** After the faults: creates a dead letter and drops it on two pages at once. */
  readonly dropOne: (connection: NatsConnection, run: string) => Promise<void>;
  readonly stop: () => Promise<void>;
};

export const startConsoleUsers = async (
  deployment: Deployment,
  seed: string,
  history: History,
): Promise<ConsoleUsers | undefined> => {
  const { consoles, people } = deployment;
  const pages = people.map(({ name, token }, i): Page => ({
    consoles,
    name,
    token,
    random: createRandom(`${seed}/page of ${String(i)}`),
  }));
  const [page, other = page] = pages;
  if (consoles.length === 0 || page === undefined || other === undefined) return undefined;
  const agent = await hireAgent(deployment, history);
  const keeper = startLetterKeeper([page, other], history);
  const over = new AbortController();

  return {
    callers: pages.map((each) => createPageCaller(each, history)),
    agent,
    submitByAgent: ({ id, ...submission }) => agent.submit(String(id), { id, ...submission }),
    cancelEarly: async (connection, task) => {
      say(connection, task, JSON.stringify({ id: task, by: 'torture' }));
      await letterSeen(page, task, over.signal);
    },
    cancelByLetter: async (task) => {
      for (let tries = 0; tries < TRIES && !over.signal.aborted; tries += 1) {
        const letters = await listLetters(page).catch(() => undefined);
        const letter = letters?.find(
          ({ letter: { subject, body } }) => subject === 'hp.cmd.task.cancel' && body.includes(`"${task}"`),
        );
        // Others resolved it, the bus lost it, or too many came later.
        if (letters !== undefined && letter === undefined) return false;
        const action = letter && (await settleLetter(page, history, letter, 'retry'));
        if (action !== undefined) return action === 'retry';
        await holdFor(LETTER_WITHIN_MS / TRIES, over.signal);
      }
      return false;
    },
    dropOne: async (connection, run) => {
      say(connection, run, `{"${run}"`);
      await letterSeen(page, run, over.signal);
      const letter = (await listLetters(page)).find(({ letter: { body } }) => body.includes(`"${run}"`));
      if (letter !== undefined)
        await Promise.all([page, other].map((each) => settleLetter(each, history, letter, 'drop')));
    },
    watch: (tasks) => startPages({ pages, tasks, history }),
    stop: async () => {
      over.abort();
      agent.stop();
      await keeper.stop();
    },
  };
};

/** A command with a message id that marks it as the torture's own. */
const say = (connection: NatsConnection, about: string, body: string): void => {
  const named = headers();
  named.set(HEADERS.messageId, `${OURS}cancel-${about}`);
  connection.publish('hp.cmd.task.cancel', body, { headers: named });
};

/** Resolves when a dead letter names the task, or counts as lost. */
const letterSeen = async (page: Page, task: string, over: AbortSignal): Promise<void> => {
  const isSeen = async (): Promise<boolean> =>
    (await listLetters(page).catch(() => [])).some(({ letter }) => letter.body.includes(`"${task}"`));
  for (let waited = 0; waited < LETTER_WITHIN_MS && !over.aborted; waited += LOOK_EVERY_MS) {
    if (await isSeen()) return;
    await holdFor(LOOK_EVERY_MS, over);
  }
};
