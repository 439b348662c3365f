import { ProgramDefinition, type ProgramPhase } from '@holdpoint/contracts/program/definition';
import { z } from 'zod';
import type { AnyPhase } from './phase.ts';

const PARALLEL_MAX = 100;
const RUNS_MAX = 1_000;
const WORK_MAX_MS = 24 * 3_600_000;

const isCount = (value: number | undefined, max: number): boolean =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= max);

const isMissing = (value: unknown): boolean => typeof value !== 'function';

/** Checks that plain JavaScript callers need. */
const phaseProblems = (name: string, phase: AnyPhase): readonly string[] => {
  const say = (isSo: boolean, problem: string): readonly string[] =>
    isSo ? [`phases.${name}: ${problem}`] : [];
  if (phase.type === 'terminal') return [];
  const common = [
    ...say(
      isMissing(phase.spec.next) && typeof phase.spec.next !== 'string',
      'next must be a name or a function',
    ),
    ...say(!isCount(phase.spec.timeoutMs, WORK_MAX_MS), 'timeoutMs must be 1 to 86,400,000'),
  ];
  switch (phase.type) {
    case 'agent': {
      const { run, parallel, maxRuns, human } = phase.spec;
      return [
        ...common,
        ...say(isMissing(run), 'run must be a function'),
        ...say(!isCount(parallel, PARALLEL_MAX), `parallel must be 1 to ${String(PARALLEL_MAX)}`),
        ...say(!isCount(maxRuns, RUNS_MAX), `maxRuns must be 1 to ${String(RUNS_MAX)}`),
        ...say(human !== undefined && isMissing(human.onResponse), 'human needs onResponse'),
      ];
    }
    case 'human':
      return [...common, ...say(isMissing(phase.spec.onResponse), 'onResponse must be a function')];
    case 'effect':
      return [...common, ...say(isMissing(phase.spec.effect), 'effect must be a function')];
  }
};

const leadsTo = (phase: ProgramPhase): readonly string[] | undefined =>
  phase.type === 'terminal' ? [] : phase.next;

/** Whether a terminal phase is reachable by names. A `next` function may lead anywhere. */
const reachesAnEnd = ({ initial, phases }: ProgramDefinition): boolean => {
  const byName = new Map<string, ProgramPhase>(phases.map((phase) => [phase.id, phase]));
  const reached = new Set<string>([initial]);
  for (const name of reached) {
    const phase = byName.get(name);
    if (phase?.type === 'terminal') return true;
    for (const next of (phase && leadsTo(phase)) ?? byName.keys()) reached.add(next);
  }
  return false;
};

const graphProblems = (definition: ProgramDefinition): readonly string[] => {
  const { initial, phases } = definition;
  const names = new Set<string>(phases.map(({ id }) => id));
  const unknown = phases.flatMap((phase) =>
    (leadsTo(phase) ?? [])
      .filter((next) => !names.has(next))
      .map((next) => `phases.${phase.id}: next names no phase: ${next}`),
  );
  if (!names.has(initial)) return [...unknown, `initial names no phase: ${initial}`];
  return reachesAnEnd(definition)
    ? unknown
    : [...unknown, `no terminal phase can be reached from ${initial}`];
};

const stateProblems = (schema: z.ZodObject): readonly string[] => {
  try {
    z.toJSONSchema(schema, { io: 'output' });
    return [];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return [`state: not representable as JSON: ${why}`];
  }
};

/** Throws `TypeError` with all problems, including those the compiler should have found. */
export const checkDefinition = (
  state: z.ZodObject,
  phases: ReadonlyMap<string, AnyPhase>,
  data: object,
): ProgramDefinition => {
  const parsed = ProgramDefinition.safeParse(data);
  const problems = [
    ...(parsed.error?.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`) ?? []),
    ...stateProblems(state),
    ...[...phases].flatMap(([name, phase]) => phaseProblems(name, phase)),
    ...(parsed.success ? graphProblems(parsed.data) : []),
  ];
  if (parsed.success && problems.length === 0) return parsed.data;
  throw new TypeError(`invalid workflow:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
};
