import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { BatchWrite } from '@holdpoint/runtime/engine/ports';
import type { ServiceEvent } from '@holdpoint/approvals/aggregates';
import type { ApprovalState } from '@holdpoint/approvals/approval/state';
import type { Rule } from '@holdpoint/approvals/rule/state';
import {
  type BoardChange,
  type Change,
  isOfApproval,
  isOfProgram,
  isOfTask,
  type ProgramChange,
  programIn,
  type TaskChange,
  taskIn,
  taskOf,
  type OrchestratorChange,
} from '../event-states.ts';
import { checkAgents, checkRequester } from './agents.ts';
import { watchAnswers } from './answers.ts';
import { checkApproval } from './approvals.ts';
import { watchAttempts } from './attempts.ts';
import { watchBudgets } from './budgets.ts';
import { watchCircuits } from './circuits.ts';
import { checkLateNews, checkMoving } from './tasks/moving.ts';
import { watchVerdicts } from './verdicts.ts';
import { checkBoard, checkLocked } from './tasks/registries.ts';
import { checkEffect, checkWork, watchApplications } from './effects.ts';
import { watchGraphs } from './tasks/graph.ts';
import { checkHead, checkRows, checkSnapshots } from './histories.ts';
import type { ReadGrant } from '../../invariants/grants.ts';
import { watchStores } from '../../invariants/stores.ts';
import { verifyGrant } from '../services/grants.ts';
import { watchMessages } from './messages.ts';
import { checkRule } from './rules.ts';
import { checkMovingProgram, type watchPrograms } from './tasks/programs.ts';
import { watchOrders } from './orders.ts';
import { checkDecision } from './tasks/decisions.ts';
import { watchTasks } from './tasks/tasks.ts';
import type { startPeople } from '../users/approvers.ts';
import type { World } from '../world.ts';

/** Feeds every commit to the invariants and to the simulated users. Returns the checks for the end. */
export const startScribe = (
  world: World,
  people: Pick<ReturnType<typeof startPeople>, 'asked'>,
  programs: ReturnType<typeof watchPrograms>,
  listeners: readonly ((change: TaskChange) => void)[],
  ofPrograms: readonly ((change: ProgramChange) => void)[],
): (() => void) => {
  const { books, checker, databases, trace, watchers } = world;

  const stores = watchStores(checker.expect, readGrant);
  const checkApplication = watchApplications(world);
  const checkTask = watchTasks(world);
  const checkGraph = watchGraphs(world);
  const verdicts = watchVerdicts(world);
  const circuits = watchCircuits(world);
  const checkAttempts = watchAttempts(world);
  const checkAnswer = watchAnswers(world);
  const checkBudget = watchBudgets(world);
  const checkOrders = watchOrders(world);
  const enterTask = (change: TaskChange, later: readonly OrchestratorChange[]): void => {
    if (change.event.type === 'submitted') checkRequester(world, change.event);
    checkTask(change);
    checkDecision(world, change);
    checkOrders(change);
    checkLocked(world, change, later);
    checkGraph(change);
    verdicts.ofTask(change);
    checkAttempts(change);
    checkAnswer(change);
    checkBudget(change);
    circuits.ofTask(change);
    programs.ofTask(change);
    for (const heard of listeners) heard(change);
  };

  const enterProgram = (change: ProgramChange): void => {
    if (change.event.type === 'program_submitted') checkRequester(world, change.event);
    programs.ofProgram(change);
    for (const heard of ofPrograms) heard(change);
  };

  const enterRule = ({
    aggregate,
    before,
    event,
  }: Change<ApprovalState | Rule | undefined, ServiceEvent>): void => {
    if (event.type === 'rule_added' || event.type === 'rule_used' || event.type === 'rule_revoked')
      checkRule(world, aggregate, before?.status === 'rule' ? before : undefined, event);
  };

  const enter = (service: ServiceName, write: BatchWrite): void => {
    switch (service) {
      case 'orchestrator': {
        const changes = books.orchestrator.add(write);
        for (const [index, change] of changes.entries()) {
          if (isOfTask(change)) enterTask(change, changes.slice(index + 1));
          else if (isOfProgram(change)) enterProgram(change);
          else checkBoard(world, change as BoardChange);
        }
        return;
      }
      case 'approvals':
        for (const change of books.approvals.add(write)) {
          if (isOfApproval(change)) {
            checkApproval(world, change);
            checkAgents(world, change);
            people.asked(change);
          } else enterRule(change);
        }
        return;
      case 'executor':
        for (const change of books.executor.add(write)) checkEffect(world, change);
        return;
      case 'recovery':
        for (const change of books.recovery.add(write)) {
          verdicts.ofRecovery(change);
          checkLateNews(world, change);
          circuits.ofRecovery(change);
        }
    }
  };

  const checkMessages = watchMessages(world);
  if (trace.wanted) {
    watchers.published.push(({ subject, body, headers }) => {
      const about = taskOf(JSON.parse(body) as object, subject.split('.').at(-1) ?? '');
      trace.note('bus', about, () => `${subject} ${headers[0]?.[1] ?? ''}`);
    });
  }
  watchers.committed.push((service, write) => {
    if (trace.wanted)
      for (const { aggregate, version, body } of write.events)
        trace.note(
          service,
          taskOf(JSON.parse(body) as object, aggregate),
          () => `${aggregate} ${String(version)}: ${body.slice(0, 240)}`,
        );
    for (const { aggregate, version, at, body } of write.events)
      stores.committed(service, {
        aggregate,
        version,
        at,
        event: JSON.parse(body) as { readonly type: string },
      });
    enter(service, write);
    if (service === 'orchestrator')
      for (const { aggregate } of write.heads) {
        const task = taskIn(books, aggregate);
        if (task !== undefined) checkMoving(world, task);
        const program = programIn(books, aggregate);
        if (program !== undefined) checkMovingProgram(world, program);
      }
    checkSnapshots(checker, write, books[service]);
    const { tables } = databases[service];
    for (const head of write.heads) {
      const { aggregate } = head;
      checkHead(checker, head, books[service].versionOf(aggregate), books[service].summaryOf(aggregate));
      // A later commit may be stored already.
      if (tables.heads.get(aggregate) === head)
        checkRows(checker, aggregate, tables.listed.get(aggregate) ?? [], books[service].rowsOf(aggregate));
    }
  });
  watchers.applied.push((application) => {
    trace.note(
      'target',
      books.executor.stateOf(application.effect).status === 'absent'
        ? ''
        : taskOfEffect(world, application.effect),
      () => `applies ${application.effect} (${application.uses})`,
    );
    stores.applied({ effect: application.effect });
    checkApplication(application);
    programs.applied(application);
  });
  watchers.worked.push((work) => {
    trace.note('target', taskOfEffect(world, work.effect), () => `works ${work.effect} (${work.uses})`);
    checkWork(world, work);
  });
  return checkMessages;
};

const readGrant: ReadGrant = (grant) => {
  const claims = verifyGrant(grant);
  return claims?.use === 'answer' ? undefined : claims;
};

const taskOfEffect = ({ books }: World, effect: string): string => {
  const state = books.executor.stateOf(effect);
  return 'entry' in state ? (state.entry?.order.effect.task ?? '') : '';
};
