import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { RequestApproval } from '@holdpoint/contracts/approval/commands';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import { programDecider } from '@holdpoint/programs/decide';
import { isProgram, type ProgramState, type ProgramTaskEvent } from '@holdpoint/programs/state';
import { type ProgramChange, programIn } from '../event-states.ts';
import type { Cluster } from '../services/cluster.ts';
import type { startPeople } from './approvers.ts';
import type { World } from '../world.ts';

const WITHIN_MS = 20_000;
const LOOKS_MAX = 12;
const RETRIES_MAX = 2;
const BY_HAND = { cancel: 0.1, pause: 0.12, retry: 0.3, fork: 0.12 } as const;

type InputQuestion = Pick<RequestApproval, 'id' | 'input' | 'timeoutMs'>;

/** The response to a question of a program: mostly a valid one. */
export const responseTo = (
  { choices }: Pick<World, 'choices'>,
  { id, input }: InputQuestion,
  who: string,
): Json => {
  const place = `${who} says to ${id}`;
  switch (input?.kind) {
    case 'approval':
      return choices.happens(place, 0.85);
    case 'choice':
      return choices.pick(
        place,
        input.options.map(({ value }) => value),
      );
    default:
      return choices.pick(place, ['Ann', 'Bob']);
  }
};

export const NONSENSE: Json = { no: 'sense' };

/** Operators who pause, resume, retry, cancel and fork programs. */
export const startProgramHands = (
  { timeline, choices, books, databases, askers }: World,
  cluster: Cluster,
  { tell, review, call }: Pick<ReturnType<typeof startPeople>, 'tell' | 'review' | 'call'>,
) => {
  const within = (what: string): number => choices.between(what, 0, WITHIN_MS);

  const unpause = (id: TaskId, looks = 1): void => {
    if (programIn(books, id)?.pausedByHand === true) tell(id, 'resume');
    if (looks < LOOKS_MAX) timeline.in(4_000 * looks, () => unpause(id, looks + 1));
  };

  /** Forks at a past checkpoint, or at one that is reached until then. */
  const fork = (id: TaskId): void => {
    const kind = databases.orchestrator.tables.heads.get(id)?.kind;
    const history = (databases.orchestrator.tables.events.get(id) ?? []) as readonly ProgramTaskEvent[];
    const version = 1 + Math.floor(choices.number(`version of ${id} to fork`) * history.length);
    if (kind !== 'program') return;
    const origin = history
      .slice(0, version)
      .reduce<ProgramState>((state, event) => programDecider.evolve(state, event), programDecider.initial);
    const task = TaskId.parse(`${id}-fork`);
    const message = { kind: 'fork_program', task, version, by: 'ada' } as const;
    askers.set(task, 'ada');
    if (isProgram(origin))
      call(cluster.orchestrator, { kind: 'program', aggregate: task, message: { ...message, origin } });
  };

  const begin = (id: TaskId): void => {
    review(id);
    if (choices.happens(`cancel ${id}`, BY_HAND.cancel))
      timeline.in(within(`when to cancel ${id}`), () => tell(id, 'cancel'));
    if (choices.happens(`pause ${id}`, BY_HAND.pause)) {
      const at = within(`when to pause ${id}`);
      timeline.in(at, () => tell(id, 'pause'));
      timeline.in(at + within(`when to resume ${id}`), () => unpause(id));
    }
    if (!id.endsWith('-fork') && choices.happens(`fork ${id}`, BY_HAND.fork))
      timeline.in(within(`when to fork ${id}`), () => fork(id));
  };

  const retries = new Map<string, number>();
  return ({ event }: ProgramChange): void => {
    const id = TaskId.parse(event.id);
    const asker = askers.get(id);
    if (event.type === 'phase_recorded' && event.entry.kind === 'effect' && asker !== undefined)
      askers.set(event.entry.task, asker);
    if (event.type === 'program_submitted') begin(id);
    const isStopped =
      event.type === 'failed' || (event.type === 'input_requested' && event.about === 'failure');
    const count = (retries.get(id) ?? 0) + 1;
    if (!isStopped || count > RETRIES_MAX || !choices.happens(`retry ${id}`, BY_HAND.retry)) return;
    retries.set(id, count);
    timeline.in(within(`when to retry ${id}`), () => {
      const program = programIn(books, id);
      if (program !== undefined && (program.phase === 'failed' || !isEndPhase(program.phase)))
        tell(id, 'retry');
    });
  };
};
