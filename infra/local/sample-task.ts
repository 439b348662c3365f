import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@holdpoint/cli/bus/client';
import { digestShown } from '@holdpoint/contracts/approval/shown-effect';
import { isEndPhase } from '@holdpoint/contracts/task/status';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { isMissing } from '../credentials/keep.ts';
import { poll } from './poll.ts';

const FILE = 'sample.txt';
/** Long enough for a service that was killed in between to be started again. */
const STEP_WITHIN_MS = 60_000;
const EVERY_MS = 100;

/** A service that does not answer may have been killed; one that has not heard of an approval yet will. */
const passes = (error: unknown): boolean =>
  error instanceof HoldpointError &&
  (error.code === 'RUNTIME_UNAVAILABLE' || error.code === 'APPROVALS_UNKNOWN');

const insist = <Answer>(what: string, ask: () => Promise<Answer | undefined>): Promise<Answer> =>
  poll(ask, { timeoutMs: STEP_WITHIN_MS, everyMs: EVERY_MS, what, passes });

export type SampleTask = { readonly id: string; readonly line: string; readonly approval: string };

/** Submits the sample workflow and waits until it is held at its gate. With an id of our own, so that asking again is safe. */
export const submitSample = async (operator: Client): Promise<SampleTask> => {
  const id = `sample-${randomBytes(4).toString('hex')}`;
  const line = `Holdpoint was here at ${new Date().toISOString()} for ${id}`;
  const goal = 'append a line to a file, once, after an approval';
  await insist(`task ${id} is taken`, () =>
    operator.call('orchestrator', 'submit', { id, workflow: 'sample', goal, inputs: { file: FILE, line } }),
  );
  const approval = await insist(`task ${id} waits at its gate`, async () => {
    const { nodes } = await operator.call('orchestrator', 'get', { id });
    const gate = nodes.find((node) => node.approval !== undefined)?.approval;
    return gate === undefined ? undefined : (await operator.call('approvals', 'get', { id: gate })).id;
  });
  return { id, line, approval };
};

/** Repeats the decision if the answer is lost: deciding twice changes nothing. */
export const decide = async (
  operator: Client,
  approval: string,
  decision: 'approve' | 'reject',
): Promise<void> => {
  await insist(`approval ${approval} is decided`, async () => {
    const shown = await operator.call('approvals', 'get', { id: approval });
    return operator.call('approvals', 'decide', { id: approval, decision, digest: digestShown(shown) });
  });
};

/** Waits for the end of a task and returns the phase that it ended in. */
export const awaitEnd = (operator: Client, id: string): Promise<string> =>
  insist(`task ${id} ends`, async () => {
    const { phase } = await operator.call('orchestrator', 'get', { id });
    return isEndPhase(phase) ? phase : undefined;
  });

export const effectFile = (workspace: string): string => join(workspace, FILE);

/** How often the task's line is in the file: how often the effect was applied. */
export const countApplied = async (workspace: string, { line }: SampleTask): Promise<number> => {
  try {
    const text = await readFile(effectFile(workspace), 'utf8');
    return text.split('\n').filter((each) => each.includes(line)).length;
  } catch (error) {
    if (isMissing(error)) return 0;
    throw error;
  }
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const clock = (at: number): string => new Date(at).toISOString().slice(11, 23);

/** The task's recorded history, one line for each event. */
export const timeline = async (operator: Client, id: string): Promise<readonly string[]> => {
  const { events } = await insist(`the history of ${id}`, () =>
    operator.call('orchestrator', 'history', { id }),
  );
  return events.map(({ version, at, type, data }) => {
    const columns = [
      String(version).padStart(3),
      clock(at),
      textOf(data['phase']).padEnd(17),
      type.padEnd(18),
      textOf(data['node']),
    ];
    return `  ${columns.join('  ').trimEnd()}`;
  });
};
