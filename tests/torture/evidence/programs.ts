import { childEffectOf, childOf, questionOf } from '../workload/program.ts';
import type { PlannedTask } from '../workload/planned.ts';
import type { ProgramEvidence } from './evidence.ts';
import { chunks, grouped, idsIn, type Looked, searchAggregates, type TasksOptions } from './tasks.ts';
import { loadAggregates } from './store.ts';

/** The evidence of each program. */
export async function* gatherPrograms(
  { deployment, target, recorder, secrets, operations, applications }: TasksOptions,
  programs: readonly PlannedTask[],
  looked: Looked,
): AsyncGenerator<ProgramEvidence> {
  const operationsOf = grouped(operations, ({ key }) => key);
  const factsOf = grouped(recorder.facts(), ({ id }) => id);
  const applicationsOf = grouped(applications, ({ key }) => key);
  for (const chunk of chunks(programs)) {
    const tasks = await loadAggregates(
      deployment,
      'orchestrator',
      chunk.map(({ id }) => id),
    );
    const approvals = [...new Set([...tasks.values()].flatMap((task) => idsIn(task, 'approval')))];
    const questions = await loadAggregates(deployment, 'approvals', approvals);
    for (const aggregates of [tasks, questions]) searchAggregates(aggregates, secrets, looked);
    for (const id of tasks.keys()) looked.tasks.add(id);
    for (const id of questions.keys()) looked.approvals.add(id);
    for (const one of chunk) {
      const program = tasks.get(one.id);
      const own =
        program === undefined
          ? []
          : [...new Set(idsIn(program, 'approval'))].flatMap((id) => questions.get(id) ?? []);
      yield {
        id: one.id,
        submission: target.submission(one),
        question: questionOf(one.id),
        child: childOf(one.id),
        effect: childEffectOf(one.id),
        operations: operationsOf.get(one.id) ?? [],
        program,
        questions: own,
        applications: applicationsOf.get(childEffectOf(one.id)) ?? [],
        facts: [one.id, ...own.map(({ id }) => id)].flatMap((id) => factsOf.get(id) ?? []),
      };
    }
  }
}
