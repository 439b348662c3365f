import { HoldpointError } from '@holdpoint/contracts/errors';
import { commandIdOf, type TaskId, taskIdFrom } from '@holdpoint/contracts/ids';
import type { Endpoints } from '@holdpoint/runtime/nats/api';
import { readHistory, readState } from '@holdpoint/runtime/postgres/read';
import type { Meta, Routed } from '@holdpoint/runtime/inbound';
import type { Pool } from 'pg';
import { taskDecider } from './domain/decide.ts';
import type { ByHand, TaskMessage } from './domain/messages.ts';
import { listTasks } from './projections/tasks.ts';
import { taskView } from './view.ts';

const unknown = (id: string): HoldpointError =>
  new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', `no task is called ${id}`);

const byHand = (kind: ByHand['kind']) => ({
  command: (payload: ByHand['payload'], { identity }: Meta): Routed<TaskMessage> => ({
    aggregate: payload.id,
    message: { kind, payload, task: payload.id, commandId: commandIdOf(kind, identity) },
  }),
});

/** The id that the submitter chose, or one that follows from the message itself, so that a repeat finds the same task. */
export const taskIdOf = (chosen: TaskId | undefined, identity: string): TaskId =>
  chosen ?? taskIdFrom(identity);

export const endpoints = (pool: Pool): Endpoints<'orchestrator', TaskMessage> => ({
  submit: {
    command: (payload, { identity }) => {
      const task = taskIdOf(payload.id, identity);
      return { aggregate: task, message: { kind: 'submit', payload, task } };
    },
  },
  cancel: byHand('cancel'),
  pause: byHand('pause'),
  resume: byHand('resume'),
  retry: byHand('retry'),
  get: {
    query: async ({ id }) => {
      const state = await readState(pool, taskDecider, id);
      if (state.phase === 'absent') throw unknown(id);
      return taskView(state);
    },
  },
  list: { query: (page) => listTasks(pool, page) },
  history: {
    query: async ({ id }) => {
      const events = await readHistory(pool, id);
      if (events.length === 0) throw unknown(id);
      return { events: [...events] };
    },
  },
});
