import { ProgramDefinition, type ProgramPhase } from '@holdpoint/contracts/program/definition';
import { z } from 'zod';
import type { AnyPhase } from './phase.ts';

const PARALLEL_MAX = 100;
const RUNS_MAX = 1_000;
const WORK_MAX_MS = 24 * 3_600_000;

const isCount = (value: number | undefined, max: number): boolean =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= max);

const isMissing = (value: unknown): boolean => typeof value !== 'function';

/** What JavaScript would have let pass. */
const phaseProblems = (name: string, phase: AnyPhase): readonly string[] => {
  const say = (isSo: boolean, problem: string): readonly string[] =>
    isSo ? [`phases.${name}: ${problem}`] : [];
  if (phase.type === 'terminal') return [];
  const common = [
    ...say(isMissing(phase.spec.next) && typeof phase.spec.next !== 'string', 'next is a name or a function'),
    ...say(!isCount(phase.spec.timeoutMs, WORK_MAX_MS), 'timeoutMs is 1 to 86,400,000'),
  ];
  switch (phase.type) {
    case 'agent': {
      const { run, until, forEach, parallel, maxRuns, human } = phase.spec;
      return [
        ...common,
        ...say(isMissing(run), 'run is a function'),
        ...say(until !== undefined && forEach !== undefined, 'until and forEach exclude each other'),
        ...say(!isCount(parallel, PARALLEL_MAX), `parallel is 1 to ${String(PARALLEL_MAX)}`),
        ...say(!isCount(maxRuns, RUNS_MAX), `maxRuns is 1 to ${String(RUNS_MAX)}`),
        ...say(human !== undefined && isMissing(human.onResponse), 'human needs onResponse'),
      ];
    }
    case 'human':
      return [...common, ...say(isMissing(phase.spec.onResponse), 'onResponse is a function')];
    case 'effect':
      return [...common, ...say(isMissing(phase.spec.effect), 'effect is a function')];
  }
};

const leadsTo = (phase: ProgramPhase): readonly string[] | undefined =>
  phase.type === 'terminal' ? [] : phase.next;

/** Whether an end can be reached, as far as names tell: what only code knows may lead anywhere. */
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
    return [`state: it is stored as JSON, and cannot hold this: ${why}`];
  }
};

/** Throws `TypeError` with all that is wrong with a workflow, whatever its author's compiler has said. */
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
  throw new TypeError(`this is no workflow:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
};
