import { WAIT_MAX_MS } from '@holdpoint/contracts/workflow/workflow';
import { startAdversary } from './faults/adversary.ts';
import { startForger } from './faults/forger.ts';
import { startCaretaker } from './users/stalled-tasks.ts';
import { type Form, type Bug, startCluster } from './services/cluster.ts';
import { planDisasters } from './faults/disasters.ts';
import { planUpgrade } from './faults/upgrade.ts';
import { startHousekeeping } from './services/periodic-jobs.ts';
import { checkCallbacks } from './invariants/callbacks.ts';
import { checkEnding } from './invariants/tasks/ending.ts';
import { watchPrograms } from './invariants/tasks/programs.ts';
import type { Violation } from './checker.ts';
import { startProgramHands } from './users/program-operators.ts';
import { simulatedProgram, VERSIONS } from './workload/programs.ts';
import { startLetterKeepers } from './users/dead-letter-operators.ts';
import { startPeople } from './users/approvers.ts';
import { startRetention } from './services/retention.ts';
import { startScribe } from './invariants/check-events.ts';
import { startSubmitters } from './users/submitters.ts';
import { startClaimants } from './services/claimants.ts';
import { startWorkers } from './services/workers.ts';
import { heldEffects } from './workload/held-effects.ts';
import type { TraceLine } from './trace.ts';
import { createWorld } from './world.ts';

export type Settings = {
  readonly seed: number;
  readonly tasks: number;
  /** Effects that are held without a workflow and carried out by claimants. */
  readonly held: number;
  /** The run is cut off after this many steps. */
  readonly steps: number;
  /** The names of faults and tasks to leave out. */
  readonly without: ReadonlySet<string>;
  readonly traced: boolean;
  /**
   * `core`: one process runs orchestrator, approvals and recovery. `apart`: each service has a process of its own. `both`: side by
   * side, as while one form is changed into the other; each takeover may move a service between them.
   */
  readonly form: Form;
  /** Whether the processes run two releases, and change from one to the other. Each service then has processes of its own. */
  readonly upgrade: boolean;
  readonly bug: Bug;
};

export type Outcome = {
  readonly seed: number;
  readonly violation: Violation | undefined;
  readonly checked: ReadonlyMap<string, number>;
  readonly faults: readonly string[];
  readonly tasks: readonly string[];
  readonly steps: number;
  /** Simulated milliseconds. */
  readonly lasted: number;
  /** By kind of event, and of dead letter: its number. */
  readonly seen: ReadonlyMap<string, number>;
  readonly trace: readonly TraceLine[];
};

/** Resolves once every pending promise has continued: the next tick comes when no microtask is left. */
const turn = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/** The default of a run. */
export const TASKS = 40;
/** One program for this many tasks. */
const TASKS_PER_PROGRAM = 10;
const WORKERS = 2;
const STORM_MS = 60_000;
const SUBMIT_WITHIN_MS = 40_000;
/** Long after everything should have ended: resends take minutes, and the longest question waits a month. */
const END_MS = WAIT_MAX_MS + 30 * 3_600_000;
const SEVERITIES = [0, 0.3, 1, 1, 2, 4];
const REPLICAS = [1, 2, 2, 3];

/** One run of the whole system, from the first submission until no step is left. */
export const simulate = async (wanted: Partial<Settings> & { readonly seed: number }): Promise<Outcome> => {
  const settings: Settings = {
    tasks: TASKS,
    held: 0,
    steps: Infinity,
    without: new Set(),
    traced: false,
    form: 'apart',
    upgrade: false,
    bug: {},
    ...wanted,
  };
  const { seed, without } = settings;
  const severity = SEVERITIES[Math.abs(seed) % SEVERITIES.length] ?? 1;
  const replicas = REPLICAS[Math.abs(seed >> 3) % REPLICAS.length] ?? 2;
  const world = createWorld({ seed, traced: settings.traced, severity, without, calmAt: STORM_MS });
  const { timeline, checker, watchers } = world;
  const upgrade = settings.upgrade ? planUpgrade(world, STORM_MS, without) : undefined;
  const form = settings.upgrade ? 'apart' : settings.form;
  const cluster = startCluster(world, replicas, settings.bug, form, upgrade?.begin);
  startHousekeeping(world, cluster);
  const checkRetired = startRetention(world, settings.bug.retention);
  const checkLetters = startLetterKeepers(world, cluster);
  const people = startPeople(world, cluster);
  const caretaker = startCaretaker(world, people, STORM_MS, form !== 'apart');
  const programs = VERSIONS.map((version) => simulatedProgram(world.choices, version));
  const words = watchPrograms(world);
  const workers = startWorkers(
    world,
    cluster,
    programs.filter(({ version }) => version === VERSIONS[0]),
    WORKERS,
    words,
  );
  const checkMessages = startScribe(
    world,
    people,
    words,
    [people.happened, ({ event }) => caretaker.saw(event)],
    [startProgramHands(world, cluster, people), ({ event }) => caretaker.saw(event)],
  );
  const held = heldEffects(world.choices, settings.held);
  const claimants = held.size === 0 ? undefined : startClaimants(world, cluster.desks);
  const named = (prefix: string, length: number): readonly string[] =>
    Array.from({ length }, (_, i) => `${prefix}-${String(i)}`);
  const tasks = [
    ...named('t', settings.tasks),
    ...named('p', Math.ceil(settings.tasks / TASKS_PER_PROGRAM)),
    ...held.keys(),
  ].filter((task) => !without.has(task));
  const { accepted } = startSubmitters(world, cluster, people, tasks, programs, held, SUBMIT_WITHIN_MS);
  const disasters = planDisasters(world, cluster, STORM_MS, severity, without, workers, claimants?.all);
  const adversary = startAdversary(world, STORM_MS, severity, without);
  const forger = startForger(world, STORM_MS, severity, without);
  const seen = new Map<string, number>();
  const count = (name: string): void => void seen.set(name, (seen.get(name) ?? 0) + 1);
  watchers.committed.push((service, { events }) => {
    for (const { type } of events) count(`${service} ${type}`);
  });
  watchers.lettered.push(({ service, letter }) => count(`${service} dead letter ${letter.reason.code}`));

  while (checker.violation() === undefined && timeline.steps() < settings.steps) {
    if (!timeline.step(END_MS)) {
      checker.expect('the system comes to rest', timeline.isEmpty(), '', () => 'a step repeats forever');
      checkMessages();
      checkLetters();
      checkEnding(world, tasks, accepted);
      checkCallbacks(world, held.keys());
      claimants?.checkEnds();
      checkRetired();
      break;
    }
    // Every promise that this step resolved runs to its next call of a port.
    if (timeline.isStirred()) await turn();
  }
  return {
    seed,
    violation: checker.violation(),
    checked: checker.checked(),
    faults: [
      ...world.weather.struck(),
      ...disasters.struck(),
      ...adversary.struck(),
      ...forger.struck(),
      ...(upgrade?.struck() ?? []),
    ],
    tasks,
    steps: timeline.steps(),
    lasted: timeline.now(),
    seen,
    trace: world.trace.lines(),
  };
};
