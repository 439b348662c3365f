import type { Usage } from './deployment/deployment.ts';
import { CHECKS } from './checks/table.ts';
import { createVerdicts, type Verdict } from './checks/verdicts.ts';
import { lookAtAudit } from './evidence/audit.ts';
import { findOutcries } from './evidence/logs.ts';
import { findStrangers, lookAtConsumers, lookAtServices } from './evidence/run.ts';
import { searchText } from './evidence/secrets.ts';
import { gatherPrograms } from './evidence/programs.ts';
import {
  gatherTasks,
  lookedAtNothing,
  type TasksOptions,
  wantedForProgram,
  wantedOf,
} from './evidence/tasks.ts';
import type { SeenLetter } from './bus-recorder.ts';
import type { SettledLetter } from './evidence/dead-letters.ts';
import type { RunEvidence } from './evidence/evidence.ts';
import type { Settled } from './wait-until-quiet.ts';
import type { PlannedTask } from './workload/planned.ts';
import { effectOf } from './workload/target.ts';

export type GatherOptions = Omit<TasksOptions, 'applications' | 'work' | 'saved'> & {
  readonly planned: readonly PlannedTask[];
  readonly prefix: string;
  readonly peaks: readonly Usage[];
  readonly settled: Settled;
  readonly letters: readonly SeenLetter[];
  readonly settledLetters: readonly SettledLetter[];
  readonly attacks: RunEvidence['attacks'];
  /** Whether pages and agents take part. */
  readonly pages: boolean;
};

/** Reads the counter, the stores and the logs, and runs every check. */
export const checkRun = async (options: GatherOptions): Promise<readonly Verdict[]> => {
  const { deployment, target, planned, recorder, secrets, prefix, peaks, settled } = options;
  // Delayed requests arrive now: an effect that certainly failed must not arrive later.
  await target.release();
  const applications = await target.applications();
  const work = (await target.graphs?.work()) ?? [];
  const saved = (await target.graphs?.saved()) ?? [];
  const [programs, others] = [
    planned.filter(({ program }) => program === true),
    planned.filter(({ program }) => program !== true),
  ];
  const court = createVerdicts(
    CHECKS.filter(
      (check) =>
        (check.graphs !== true || target.graphs !== undefined) &&
        (check.programs !== true || programs.length > 0) &&
        (check.pages !== true || options.pages) &&
        (check.attacks !== true || options.attacks.length > 0),
    ),
  );
  const looked = lookedAtNothing();
  const given = { ...options, applications, work, saved };
  const wanted = [
    ...others.map((task) => wantedOf(target, task)),
    ...programs.map((task) => wantedForProgram(target, task)),
  ];
  for await (const task of gatherTasks(given, wanted, looked)) court.takeTask(task);
  for await (const program of gatherPrograms(given, programs, looked)) court.takeProgram(program);

  const own = new Set<string>(planned.map((task) => effectOf(target, task)));
  const logs = await deployment.logs();
  const { outcries, lines } = await findOutcries(logs);
  court.takeRun({
    services: await lookAtServices(deployment),
    consumers: await lookAtConsumers(deployment),
    letters: options.letters,
    settledLetters: options.settledLetters,
    attacks: options.attacks,
    ended: deployment.ended(),
    peaks,
    searched: [
      ...(await Promise.all(logs.map((log) => searchText(log, secrets)))),
      { where: 'the events of the stores', bytes: looked.bytes, found: [...looked.found] },
      { where: 'the bus', bytes: recorder.bytes(), found: [...recorder.leaks().keys()] },
    ],
    secrets: secrets.size,
    outcries,
    logLines: lines,
    work,
    audit: await lookAtAudit(deployment, recorder.anchors()),
    strangeApplications: applications.map(({ key }) => key).filter((key) => !own.has(key)),
    strangers: await findStrangers(deployment, prefix, looked),
    settled,
  });
  return court.verdicts();
};
