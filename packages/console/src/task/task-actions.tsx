import type { TaskView } from '@holdpoint/contracts/task/views';
import { useRef, useState } from 'preact/hooks';
import { textOfError } from '../parts/use-load.ts';
import { CallError } from '../session/call.ts';
import { createKey, mayDo, useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';

type Verb = 'pause' | 'resume' | 'retry' | 'skip' | 'done' | 'cancel' | 'fork';
type Node = TaskView['nodes'][number];

const SAYS: Readonly<Record<Verb, readonly [label: string, follows: string]>> = {
  pause: ['Pause', 'running steps finish, and nothing new starts'],
  resume: ['Resume', 'it continues where it was paused'],
  retry: ['Try again', 'retry the failed steps'],
  skip: ['Skip', 'skip this step and continue after it'],
  done: ['Mark as done', 'done by hand: continue after this step'],
  cancel: ['Cancel', 'it ends; effects that happened are not undone'],
  fork: ['Fork', 'a new task continues from this point; this one stays unchanged'],
};
const ENDED: readonly string[] = ['completed', 'failed', 'cancelled'];
const BROKEN: readonly string[] = ['failed', 'escalated', 'blocked_by_dependency', 'blocked_by_approval'];
const UNSTARTED: readonly string[] = ['queued', 'waiting_on_deps', 'waiting_on_locks', 'paused'];

/** The actions on a task in its current state. */
const verbsForTask = ({ phase, nodes }: TaskView): readonly Verb[] => [
  ...(ENDED.includes(phase) || phase === 'paused' ? [] : (['pause'] as const)),
  // A task also counts as paused while a step is escalated. Resuming does not help then.
  ...(phase === 'paused' && !nodes.some(({ job }) => job === 'escalated') ? (['resume'] as const) : []),
  ...(nodes.some(({ job }) => BROKEN.includes(job)) && phase !== 'cancelled' ? (['retry'] as const) : []),
  ...(ENDED.includes(phase) ? [] : (['cancel'] as const)),
  'fork',
];
/** The actions on one of its steps. */
const verbsForNode = ({ phase }: TaskView, { job }: Node): readonly Verb[] => {
  if (phase === 'cancelled' || phase === 'completed') return [];
  const isBroken = BROKEN.includes(job);
  return [
    ...(isBroken ? (['retry'] as const) : []),
    ...(isBroken || UNSTARTED.includes(job) ? (['skip', 'done'] as const) : []),
  ];
};

/** Asks for confirmation before an action on a task or a step. */
export const TaskActions = ({
  task,
  node,
  version,
  onDone,
}: {
  readonly task: TaskView;
  readonly node?: Node;
  /** The version to fork from. */
  readonly version: number;
  readonly onDone: () => void;
}) => {
  const { caller, me, say } = useSession();
  const [verb, setVerb] = useState<Verb>();
  const [reason, setReason] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const key = useRef<string>(undefined);
  if (!mayDo(me, 'tasks:write')) return null;
  const verbs = node === undefined ? verbsForTask(task) : verbsForNode(task, node);
  if (verbs.length === 0) return null;

  const send = async (chosen: Verb): Promise<void> => {
    // The key makes a repeated request count once.
    key.current ??= createKey();
    const options = { key: key.current };
    const { id } = task;
    const job = {
      id,
      ...(node && { node: node.id }),
      ...(reason.trim() !== '' && { reason: reason.trim() }),
    };
    switch (chosen) {
      case 'fork': {
        const forked = await caller.ask('orchestrator', 'fork', { task: id, version }, options);
        say(`The new task is ${forked.id}.`, 'good');
        location.hash = hrefOf('tasks', forked.id);
        return;
      }
      case 'skip':
      case 'done':
        await caller.ask('orchestrator', chosen, { ...job, node: node?.id ?? '' }, options);
        break;
      case 'retry':
        await caller.ask(
          'orchestrator',
          'retry',
          // Bound to the seen attempt: a newer attempt is not affected.
          { ...job, ...(node && { attempt: node.attempt }) },
          options,
        );
        break;
      case 'pause':
      case 'resume':
      case 'cancel':
        await caller.ask('orchestrator', chosen, job, options);
    }
    say(`${SAYS[chosen][0]}: done.`, 'good');
  };
  const confirm = async (): Promise<void> => {
    if (verb === undefined || isBusy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await send(verb);
      key.current = undefined;
      setVerb(undefined);
      setReason('');
    } catch (error) {
      const isLost = error instanceof CallError && error.unknown;
      if (!isLost) key.current = undefined;
      setProblem(
        isLost
          ? 'Answer lost. Check the state of the task; confirming again is safe and counts once.'
          : textOfError(error),
      );
    } finally {
      setBusy(false);
      onDone();
    }
  };
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        void confirm();
      }}
    >
      <div
        class="choices"
        role="group"
        aria-label={node === undefined ? 'Actions on the task' : 'Actions on the step'}
      >
        {verbs.map((each) => (
          <button
            key={each}
            type="button"
            class={each === 'cancel' ? 'stop' : ''}
            aria-pressed={verb === each}
            disabled={isBusy}
            onClick={() => {
              key.current = undefined;
              setProblem(undefined);
              setVerb(verb === each ? undefined : each);
            }}
          >
            {SAYS[each][0]}
          </button>
        ))}
      </div>
      {verb !== undefined && (
        <div class="confirm">
          <p>
            <strong>{SAYS[verb][0]}:</strong> {SAYS[verb][1]}
            {verb === 'fork' && ` (version ${String(version)})`}.
          </p>
          {verb !== 'fork' && (
            <label>
              Why (optional)
              <input
                maxLength={1_000}
                value={reason}
                onInput={({ currentTarget }) => setReason(currentTarget.value)}
              />
            </label>
          )}
          <div class="row">
            <button type="submit" class={verb === 'cancel' ? 'primary stop' : 'primary'} disabled={isBusy}>
              Confirm: {SAYS[verb][0]}
            </button>
            <button type="button" disabled={isBusy} onClick={() => setVerb(undefined)}>
              Back
            </button>
          </div>
        </div>
      )}
      {problem !== undefined && (
        <p class="note refused" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
};
