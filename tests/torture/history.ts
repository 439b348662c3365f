import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { Problem } from '@holdpoint/infra/local/problem';
import { z } from 'zod';
import { Plan } from './plan.ts';

/** Milliseconds of the one clock that orders the history. */
const Time = z.number();

/** An operation of a client. `info`: the outcome is unknown. A timeout is never a `fail`. */
export const Operation = z.object({
  t: Time,
  actor: z.string(),
  op: z.string(),
  /** The task. */
  key: z.string(),
  /** Joins an outcome to its invocation. */
  call: z.int(),
  type: z.enum(['invoke', 'ok', 'fail', 'info']),
  value: z.json().optional(),
});
export type Operation = z.infer<typeof Operation>;

/** A fault and its repair. */
export const FaultEntry = z.object({
  t: Time,
  nemesis: z.string(),
  step: z.int(),
  type: z.enum(['begin', 'end', 'skip', 'error']),
  value: z.json().optional(),
});
export type FaultEntry = z.infer<typeof FaultEntry>;

const PlanEntry = z.object({ t: Time, plan: Plan });
const Note = z.object({ t: Time, note: z.string(), value: z.json().optional() });
export const Entry = z.union([PlanEntry, FaultEntry, Operation, Note]);
export type Entry = z.infer<typeof Entry>;

type Untimed = Entry extends infer E ? (E extends Entry ? Omit<E, 't'> : never) : never;

export interface History {
  readonly file: string;
  readonly add: (entry: Untimed) => void;
  readonly operations: () => readonly Operation[];
  readonly nemesis: () => readonly FaultEntry[];
  readonly close: () => void;
}

export const isOperation = (entry: Entry): entry is Operation => 'call' in entry;
export const isFault = (entry: Entry): entry is FaultEntry => 'nemesis' in entry;

/** One JSON line for each entry, written at once: a crash loses none. */
export const createHistory = (file: string): History => {
  const descriptor = openSync(file, 'w');
  const start = performance.now();
  const operations: Operation[] = [];
  const faults: FaultEntry[] = [];
  return {
    file,
    add: (untimed) => {
      const t = Math.round((performance.now() - start) * 1_000) / 1_000;
      const entry: Entry = { t, ...untimed };
      writeSync(descriptor, `${JSON.stringify(entry)}\n`);
      if (isOperation(entry)) operations.push(entry);
      else if (isFault(entry)) faults.push(entry);
    },
    operations: () => operations,
    nemesis: () => faults,
    close: () => {
      fsyncSync(descriptor);
      closeSync(descriptor);
    },
  };
};

export const parseHistory = (text: string): readonly Entry[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Entry.parse(JSON.parse(line)));

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** Reads a plan file, or the plan in the first line of a history. */
export const readPlan = (file: string): Plan => {
  const text = readFileSync(file, 'utf8');
  const alone = Plan.safeParse(parseJson(text));
  if (alone.success) return alone.data;
  const first = PlanEntry.safeParse(parseJson(text.split('\n')[0] ?? ''));
  if (first.success) return first.data.plan;
  throw new Problem(`${file} holds no plan: ${z.prettifyError(alone.error)}`);
};
