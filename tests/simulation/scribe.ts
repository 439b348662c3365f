import type { ServiceName } from '@holdpoint/contracts/subjects';
import type { BatchWrite, Summary } from '@holdpoint/runtime/ports';
import { summarise as summariseRequest } from '@holdpoint/approvals/projections/requests';
import { summarise as summariseEffect } from '@holdpoint/executor/projections/effects';
import { summarise as summariseTask } from '@holdpoint/orchestrator/projections/tasks';
import { recoveryLogic } from '@holdpoint/recovery/logic';
import { type BoardChange, isOfTask, type TaskChange, taskOf } from './books.ts';
import { checkApproval } from './invariants/approvals.ts';
import { checkBoard, checkLocked } from './invariants/boards.ts';
import { checkEffect, checkWork, watchApplications } from './invariants/effects.ts';
import { watchGraphs } from './invariants/graph.ts';
import { checkHead, checkSnapshots, checkVersions } from './invariants/histories.ts';
import { watchMessages } from './invariants/messages.ts';
import { watchOrders } from './invariants/orders.ts';
import { checkTask } from './invariants/tasks.ts';
import type { startPeople } from './people.ts';
import type { World } from './world.ts';

/**
 * Enters everything that is committed into the books, checks it there, and tells the people what they would see. Returns
 * what is left to check at the end.
 */
export const startScribe = (
  world: World,
  people: Pick<ReturnType<typeof startPeople>, 'asked'>,
  listeners: readonly ((change: TaskChange) => void)[],
): (() => void) => {
  const { books, judge, trace, watchers } = world;

  const summaries: Readonly<Record<ServiceName, (aggregate: string) => Summary>> = {
    orchestrator: (id) => summariseTask(books.orchestrator.stateOf(id)),
    approvals: (id) => summariseRequest(books.approvals.stateOf(id)),
    executor: (id) => summariseEffect(books.executor.stateOf(id)),
    recovery: (id) => recoveryLogic.kind.summarise(books.recovery.stateOf(id)),
  };

  const checkApplication = watchApplications(world);
  const checkGraph = watchGraphs(world);
  const checkOrders = watchOrders(world);
  const enterTask = (change: TaskChange): void => {
    checkTask(world, change);
    checkOrders(change);
    checkLocked(world, change);
    checkGraph(change);
    for (const heard of listeners) heard(change);
  };

  const enter = (service: ServiceName, { events }: BatchWrite): void => {
    switch (service) {
      case 'orchestrator':
        for (const change of books.orchestrator.add(events)) {
          if (isOfTask(change)) enterTask(change);
          else checkBoard(world, change as BoardChange);
        }
        return;
      case 'approvals':
        for (const change of books.approvals.add(events)) {
          checkApproval(world, change);
          people.asked(change);
        }
        return;
      case 'executor':
        for (const change of books.executor.add(events)) checkEffect(world, change);
        return;
      case 'recovery':
        books.recovery.add(events);
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
    checkVersions(judge, service, write.events, books[service].versionOf);
    enter(service, write);
    checkSnapshots(judge, write, books[service]);
    for (const head of write.heads)
      checkHead(judge, head, books[service].versionOf(head.aggregate), summaries[service](head.aggregate));
  });
  watchers.applied.push((application) => {
    trace.note(
      'target',
      books.executor.stateOf(application.effect).status === 'absent'
        ? ''
        : taskOfEffect(world, application.effect),
      () => `applies ${application.effect} (${application.uses})`,
    );
    checkApplication(application);
  });
  watchers.worked.push((work) => {
    trace.note('target', taskOfEffect(world, work.effect), () => `works ${work.effect} (${work.uses})`);
    checkWork(world, work);
  });
  return checkMessages;
};

const taskOfEffect = ({ books }: World, effect: string): string => {
  const state = books.executor.stateOf(effect);
  return 'entry' in state ? (state.entry?.order.effect.task ?? '') : '';
};
