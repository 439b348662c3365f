import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseFaults, parseDuration } from './command-line.ts';
import { FAULT_GROUPS } from './faults/fault.ts';
import { FAULTS } from './faults/table.ts';
import { createHistory, parseHistory, readPlan } from './history.ts';
import { makePlan, planIn } from './plan.ts';
import { createRandom } from './random.ts';
import { graphOf, planGraph, standingsOf } from './workload/graph.ts';
import { TROUBLES } from './workload/agent-failures.ts';
import { plannedTask, plannedWithGraphs, plannedWithPrograms } from './workload/planned.ts';
import { childEffectOf, childOf, childSubmissionOf, countedProgram } from './workload/program.ts';
import { effectOf, type Target } from './workload/target.ts';
import type { Deployment } from './deployment/deployment.ts';
import { parseWorkLine } from './workload/script-log.ts';
import { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import { afterAll, describe, expect, test } from 'vitest';

const instances = [
  'orchestrator-1',
  'orchestrator-2',
  'approvals-1',
  'approvals-2',
  'executor-1',
  'executor-2',
  'recovery-1',
  'recovery-2',
];
const planOf = (seed: string, durationMs = 600_000) =>
  makePlan({
    seed,
    durationMs,
    everyMs: 5_000,
    faults: FAULTS,
    surroundings: { instances, workers: ['worker-1', 'worker-2'] },
  });

const folder = mkdtempSync(join(tmpdir(), 'holdpoint-plan-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a plan', () => {
  test('a plan follows from its seed', () => {
    expect(planOf('a')).toEqual(planOf('a'));
    expect(planOf('a')).not.toEqual(planOf('b'));
  });

  test('plans keep the average interval between faults', () => {
    const steps = Array.from({ length: 50 }, (_, i) => planOf(`average-${String(i)}`).steps.length);
    const average = steps.reduce((sum, count) => sum + count, 0) / steps.length;
    expect(average).toBeGreaterThan(100);
    expect(average).toBeLessThan(140);
  });

  test('a plan has quiet periods, and no fault outside of its mix', () => {
    const plans = Array.from({ length: 20 }, (_, i) => planOf(`mixes-${String(i)}`));
    const mixes = plans.flatMap((plan) => plan.mixes);
    const quiet = mixes.filter(({ groups }) => groups.length === 0).length;
    expect(quiet / mixes.length).toBeGreaterThan(0.1);
    expect(quiet / mixes.length).toBeLessThan(0.4);
    const groupOf = new Map(FAULTS.map(({ name, group }) => [name, group as string]));
    for (const { mixes: own, steps } of plans) {
      for (const { at, fault } of steps) {
        const mix = own.find((each) => each.at <= at && at < each.until);
        expect(mix?.groups).toContain(groupOf.get(fault));
      }
    }
  });

  test('plans contain every fault', () => {
    const seen = new Set(
      Array.from({ length: 40 }, (_, i) => planOf(`all-${String(i)}`)).flatMap(({ steps }) =>
        steps.map(({ fault }) => fault),
      ),
    );
    expect(FAULTS.map(({ name }) => name).filter((name) => !seen.has(name))).toEqual([]);
  });

  test('a plan is read from a history or from its own file', () => {
    const plan = planOf('file', 60_000);
    const file = join(folder, 'history.ndjson');
    const history = createHistory(file);
    history.add({ plan });
    history.add({ note: 'after it' });
    history.close();
    expect(readPlan(file)).toEqual(plan);
    writeFileSync(join(folder, 'plan.json'), JSON.stringify(plan, null, 2));
    expect(readPlan(join(folder, 'plan.json'))).toEqual(plan);
    expect(parseHistory(`${JSON.stringify({ t: 1, note: 'x' })}\n`)).toEqual([{ t: 1, note: 'x' }]);
  });
});

describe('faults', () => {
  test('fault names are unique and every group has a fault', () => {
    expect(new Set(FAULTS.map(({ name }) => name)).size).toBe(FAULTS.length);
    expect(FAULT_GROUPS.filter((group) => !FAULTS.some((fault) => fault.group === group))).toEqual([]);
  });

  test('faults that destroy data never overlap', () => {
    const destroying = FAULTS.filter(({ name }) => name === 'nats-wipe' || name === 'nats-power-cut');
    expect(destroying).toHaveLength(2);
    for (const fault of destroying) expect(fault.takes({ lostMs: 1, forMs: 1 })).toContain('data');
  });

  test('faults are chosen by name or group, and an unknown name is an error', () => {
    expect(chooseFaults(FAULTS, ['clock']).map(({ name }) => name)).toEqual(['clock-jump']);
    expect(chooseFaults(FAULTS, ['delay', 'clock'])).toHaveLength(2);
    expect(chooseFaults(FAULTS, undefined)).toBe(FAULTS);
    expect(() => chooseFaults(FAULTS, ['earthquake'])).toThrow('there is no earthquake');
  });
});

describe('a task with a graph', () => {
  const around = {
    task: 'torture-x-1',
    book: "/somebody's/work.log",
    request: { url: 'http://127.0.0.1:1/keyed/torture-x-1', method: 'POST', body: {} },
    target: 'http://127.0.0.1:1',
  };
  const plans = Array.from({ length: 300 }, (_, n) => planGraph(createRandom(`graph ${String(n)}`), 2, n));

  test('a graph task has a valid submission', () => {
    for (const plan of plans) {
      const definition = graphOf(plan, around);
      expect(WorkflowDefinition.safeParse(definition).error?.issues ?? []).toEqual([]);
      expect(definitionProblems(definition).filter(({ severity }) => severity === 'error')).toEqual([]);
    }
  });

  test('a graph task has five to fifteen nodes with an expected status each', () => {
    for (const plan of plans) {
      const { nodes } = graphOf(plan, around);
      expect(nodes.length).toBeGreaterThanOrEqual(5);
      expect(nodes.length).toBeLessThanOrEqual(15);
      expect(Object.keys(standingsOf(plan)).toSorted()).toEqual(nodes.map(({ id }) => String(id)).toSorted());
    }
  });

  test('graph tasks of every kind occur', () => {
    expect(new Set(plans.map(({ tries }) => tries))).toEqual(new Set([1, 2, 3, 'never']));
    expect(new Set(plans.map(({ routed }) => routed))).toEqual(new Set(['not', 'fails', 'succeeds']));
    expect(new Set(plans.map(({ lock }) => lock)).size).toBe(3);
    expect(new Set(plans.slice(0, 12).map(({ trouble }) => trouble?.kind))).toEqual(
      new Set([undefined, ...TROUBLES]),
    );
  });

  test('graph tasks come early and at a fixed rate', () => {
    for (const rate of [1, 20, 200]) {
      const planned = plannedWithGraphs(rate, 2);
      const graphs = Array.from({ length: rate * 60 }, (_, n) => planned('s', 'r', n)).filter(
        ({ graph }) => graph !== undefined,
      );
      expect(graphs[0]?.id).toBe('torture-r-1');
      expect(graphs.length).toBeLessThanOrEqual(20);
      expect(graphs.length).toBeGreaterThanOrEqual(Math.min(rate * 6, 20));
      expect(graphs.every(({ keyed }) => keyed)).toBe(true);
    }
  });

  test('an invalid script line is an error', () => {
    expect(parseWorkLine('ran t-1 try 7-1')).toEqual({
      what: 'ran',
      task: 't-1',
      about: 'try',
      token: '7-1',
    });
    for (const line of ['', 'ran t-1 try', 'held t-1 try 7', 'ran t-1 try 7 8'])
      expect(() => parseWorkLine(line)).toThrow('not a line of a script');
  });
});

describe('a program', () => {
  test('one task in ten is a program', () => {
    const planned = plannedWithPrograms(plannedWithGraphs(20, 2));
    const tasks = Array.from({ length: 1_000 }, (_, n) => planned('s', 'r', n));
    const programs = tasks.filter(({ program }) => program === true);
    expect(programs).toHaveLength(100);
    expect(programs.every(({ graph, via, keyed }) => graph === undefined && via === 'api' && keyed)).toBe(
      true,
    );
    expect(tasks.some(({ graph }) => graph !== undefined)).toBe(true);
  });

  test('a program has its own task for its effect', () => {
    const task = plannedTask('s', 'r', 5);
    const { id, workflow } = childSubmissionOf(task.id);
    expect(id).toBe(childOf(task.id));
    expect(id.startsWith('torture-')).toBe(false);
    expect(workflow).toBe(`${countedProgram.id}@${countedProgram.definition.version}`);
    const target = { node: 'request', idempotencyKey: 'request' } as unknown as Target;
    expect(effectOf(target, { ...task, program: true })).toBe(childEffectOf(task.id));
    expect(effectOf(target, task)).not.toBe(childEffectOf(task.id));
  });

  test('a plan switches programs on or off', () => {
    const plan = { ...planOf('programs', 60_000), programs: false };
    writeFileSync(join(folder, 'without.json'), JSON.stringify(plan));
    expect(readPlan(join(folder, 'without.json')).programs).toBe(false);
  });

  test('a deployment without workers gets no worker faults', () => {
    const faults = FAULTS.filter(({ group }) => group === 'worker');
    expect(faults.map(({ name }) => name)).toEqual(['worker-killed', 'worker-frozen']);
    const around = { workers: [] } as unknown as Deployment;
    for (const { whyNot } of faults) expect(whyNot(around)).toContain('no workers');
    for (const { whyNot } of faults)
      expect(whyNot({ workers: ['worker-1'] } as unknown as Deployment)).toBe(undefined);
  });
});

describe('the load', () => {
  test("the load follows from the seed, not from the run's name", () => {
    const { id: one, ...first } = plannedTask('s', 'r1', 7);
    const { id: other, ...second } = plannedTask('s', 'r2', 7);
    expect(first).toEqual(second);
    expect(one).not.toBe(other);
  });

  test.each([
    ['90s', 90_000],
    ['10m', 600_000],
    ['250ms', 250],
    ['1h', 3_600_000],
    ['30', 30_000],
  ])('%s is a time', (text, ms) => expect(parseDuration(text)).toBe(ms));
  test.each(['', '0', '-1s', 'soon', '1d'])('%j is none', (text) =>
    expect(() => parseDuration(text)).toThrow('a duration such as'),
  );
});

test('a plan of single services breaks the process that runs a service in another form', () => {
  const step = (params: Readonly<Record<string, string | string[]>>) => ({
    at: 0,
    fault: 'kill-service',
    params,
  });
  const plan = {
    ...planOf('form', 1_000),
    steps: [step({ instances: ['approvals-2', 'recovery-2', 'executor-1'] }), step({ instance: 'worker-1' })],
  };
  const core = { services: ['orchestrator', 'approvals', 'recovery'] as const };
  const deployed = [
    { name: 'core-1', ...core },
    { name: 'core-2', ...core },
    { name: 'executor-1', services: ['executor'] as const },
  ];
  expect(planIn(plan, deployed).steps.map(({ params }) => params)).toEqual([
    { instances: ['core-2', 'executor-1'] },
    { instance: 'worker-1' },
  ]);
});
