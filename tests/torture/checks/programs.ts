import { TaskPhase, isEndPhase } from '@holdpoint/contracts/task/status';
import type { ProgramEvidence, StoredAggregate, StoredEvent } from '../evidence/evidence.ts';
import { TOKEN_STEP } from '../workload/program.ts';
import { type Check, takeNotes } from './check.ts';
import { replayProgram } from './replay.ts';

type Recorded = {
  readonly kind?: string;
  readonly key?: string;
  readonly task?: string;
  readonly output?: unknown;
};
const entryIn = ({ data }: StoredEvent): Recorded => data['entry'] ?? {};
const recordedIn = (program: StoredAggregate | undefined, kind: string): readonly Recorded[] =>
  (program?.events ?? [])
    .filter(({ type }) => type === 'phase_recorded')
    .map(entryIn)
    .filter((entry) => entry.kind === kind);

const phaseOf = (program: StoredAggregate): TaskPhase | undefined =>
  TaskPhase.safeParse(program.events.at(-1)?.data['phase']).data;

export const programEffects: Check = {
  id: 'K27',
  promise:
    'an effect of a program is applied at most once by its own task, and exactly once when the program completed',
  programs: true,
  ofProgram: ({ id, child, effect, program, applications }) => {
    const { expect, finding } = takeNotes(id);
    const requested = recordedIn(program, 'effect');
    expect(requested.length <= 1, () => `it has asked for its effect ${String(requested.length)} times`);
    for (const { task } of requested)
      expect(task === child, () => `${String(task)} carries out its effect, and not ${child}`);
    expect(applications.length <= 1, () => `${effect} was applied ${String(applications.length)} times`);
    if (applications.length > 0)
      expect(requested.length > 0, () => `${effect} was applied, and the program has not asked for it`);
    if (program !== undefined && phaseOf(program) === 'completed')
      expect(applications.length === 1, () => `it is completed, and ${effect} was not applied`);
    return finding();
  },
};

/** A caller learnt that it exists. */
const isKnown = ({ operations }: ProgramEvidence): boolean =>
  operations.some(
    ({ op, type, actor }) => type === 'ok' && op.startsWith('orchestrator.') && actor !== 'conflicting',
  );

/** The program has an open question that its audience can read. */
const waitsForPerson = ({ program, questions }: ProgramEvidence): boolean => {
  const lastInput = program?.events.findLast(
    ({ type }) => type === 'input_requested' || type === 'input_received',
  );
  return (
    lastInput?.type === 'input_requested' &&
    questions.some(({ id, head }) => id === lastInput.data['approval'] && head?.status === 'pending')
  );
};

export const programEnds: Check = {
  id: 'K28',
  promise: 'no program is lost: after the faults each one has ended or waits for an open question',
  programs: true,
  ofProgram: (evidence) => {
    const { expect, finding } = takeNotes(evidence.id);
    const { program, submission } = evidence;
    if (isKnown(evidence)) expect(program !== undefined, () => 'it was accepted and does not exist');
    if (program === undefined) return finding();
    expect(
      program.events[0]?.type === 'program_submitted' && program.events[0].data['goal'] === submission.goal,
      () => 'it differs from its submission',
    );
    const phase = phaseOf(program);
    expect(
      phase !== undefined && (isEndPhase(phase) || waitsForPerson(evidence)),
      () => `it is ${String(phase)} at the end, and nobody is asked for anything`,
    );
    return finding();
  },
};

export const fencing: Check = {
  id: 'K29',
  promise: 'leases rise by one, and a phase is recorded only under its current lease',
  programs: true,
  ofProgram: (evidence) => replayProgram('K29', evidence),
};

export const recorded: Check = {
  id: 'K30',
  promise: 'a recorded step does not run again, and the state after a phase follows from its records',
  programs: true,
  ofProgram: ({ id, program }) => {
    const { expect, finding } = takeNotes(id);
    const tokens = recordedIn(program, 'step').filter(({ key }) => key?.endsWith(TOKEN_STEP) === true);
    expect(tokens.length <= 1, () => `a step was recorded ${String(tokens.length)} times`);
    for (const { type, data } of program?.events ?? []) {
      if (type !== 'phase_completed') continue;
      const state = data['state'] as { readonly token?: unknown } | undefined;
      expect(
        tokens[0] !== undefined && state?.token === tokens[0].output,
        () => `${String(data['node'])} has left another state than what was recorded leads to`,
      );
    }
    return finding();
  },
};
