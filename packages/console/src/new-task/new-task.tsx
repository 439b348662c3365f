import type { OfferedWorkflow, WorkflowInput } from '@holdpoint/contracts/workflow/offered-workflow';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Busy, Empty, Problem } from '../parts/bits.tsx';
import { Safe } from '../parts/safe.tsx';
import { useLoad } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { type Draft, draftOf, dropDraft, keepDraft, newTaskId } from './form-state.ts';
import { InputField, Labelled } from './input-fields.tsx';
import {
  ANY_INPUTS,
  nameOf,
  NO_PROBLEMS,
  type Problems,
  type Submission,
  submissionOf,
  type Typed,
} from './submission.ts';
import { type Submitting, useSubmission } from './use-submission.ts';

const GOAL_MAX = 100_000;
/** Number of inputs above which prefilled ones are collapsed. */
const INPUTS_AT_ONCE = 6;

const hasDefault = (input: WorkflowInput): boolean => 'default' in input && input.default !== undefined;

const Inputs = ({
  workflow,
  typed,
  problems: { byField },
  onTyped,
}: {
  readonly workflow: OfferedWorkflow;
  readonly typed: Typed;
  readonly problems: Problems;
  readonly onTyped: (typed: Partial<Typed>) => void;
}) => {
  const { inputs } = workflow;
  const set = (name: string) => (text: string) => onTyped({ inputs: { ...typed.inputs, [name]: text } });
  const field = (input: WorkflowInput) => (
    <InputField
      key={`${nameOf(workflow)} ${input.name}`}
      input={input}
      text={typed.inputs[input.name]}
      problem={byField[input.name]}
      onText={set(input.name)}
    />
  );
  if (inputs === undefined)
    return (
      <Labelled
        name={ANY_INPUTS}
        label="Inputs"
        help="a JSON object; the workflow defines its fields"
        problem={byField[ANY_INPUTS]}
      >
        {(id, aria) => (
          <textarea
            id={id}
            {...aria}
            class="code"
            rows={4}
            spellcheck={false}
            value={typed.inputs[ANY_INPUTS] ?? ''}
            onInput={({ currentTarget }) => set(ANY_INPUTS)(currentTarget.value)}
          />
        )}
      </Labelled>
    );
  const settled = inputs.length > INPUTS_AT_ONCE ? inputs.filter(hasDefault) : [];
  return (
    <>
      {inputs.filter((input) => !settled.includes(input)).map(field)}
      {settled.length > 0 && (
        <details class="more" open={settled.some(({ name }) => byField[name] !== undefined)}>
          <summary>More settings</summary>
          {settled.map(field)}
        </details>
      )}
    </>
  );
};

const Said = ({ submitting }: { readonly submitting: Submitting }) => {
  switch (submitting.state) {
    case 'idle':
      return null;
    case 'sending':
      return (
        <p class="note sending" role="status">
          Starting …
        </p>
      );
    case 'looking':
      return (
        <p class="note looking" role="status">
          {submitting.text}
        </p>
      );
    case 'refused':
      return (
        <div class="note refused" role="alert">
          <p>
            {submitting.text}{' '}
            {submitting.earlier !== undefined && (
              <a href={hrefOf('tasks', submitting.earlier)}>{submitting.earlier}</a>
            )}
          </p>
          {submitting.problems.others.length > 0 && (
            <ul>
              {submitting.problems.others.map((each) => (
                <li key={each}>
                  <Safe text={each} />
                </li>
              ))}
            </ul>
          )}
        </div>
      );
  }
};

const TaskForm = ({ workflows }: { readonly workflows: readonly OfferedWorkflow[] }) => {
  const { me, say } = useSession();
  const [draft, setDraft] = useState<Draft>(() => draftOf(me.name));
  const form = useRef<HTMLFormElement>(null);
  const { submitting, start, refuse } = useSubmission(({ submitting: ended, started, isGone }) => {
    if (started !== undefined) {
      dropDraft(me.name);
      say('Task started.', 'good');
      if (!isGone) location.hash = hrefOf('tasks', started);
    } else if (ended.state === 'refused') {
      // The edited draft is another task than the submitted one.
      if (ended.earlier !== undefined) {
        const next = { ...draftOf(me.name), id: newTaskId() };
        keepDraft(me.name, next);
        setDraft(next);
      }
      if (isGone) say(`The task was not started: ${ended.text}`, 'bad');
    }
  });
  const workflow = workflows.find((each) => nameOf(each) === draft.workflow) ?? workflows[0];
  const isBusy = submitting.state === 'sending' || submitting.state === 'looking';
  const problems = submitting.state === 'refused' ? submitting.problems : NO_PROBLEMS;
  // Focus the first invalid field.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [problems]);
  if (workflow === undefined) return <Empty>No workflow can be started here.</Empty>;
  const { typed, id } = draft;
  const change = (changed: Partial<Draft>): void => {
    const next = { ...draft, ...changed };
    keepDraft(me.name, next);
    setDraft(next);
  };
  const onTyped = (changed: Partial<Typed>): void => change({ typed: { ...typed, ...changed } });
  const send = (): void => {
    if (isBusy) return;
    // Submit exactly the shown draft, under its ID.
    keepDraft(me.name, draft);
    const result = submissionOf(workflow, typed, id);
    if ('problems' in result) refuse(result.problems);
    else void start(result.submission as Submission & { readonly id: string }, workflow);
  };
  return (
    <form
      ref={form}
      class="new-task"
      noValidate
      aria-busy={isBusy}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
      }}
    >
      <Said submitting={submitting} />
      <Labelled name="workflow" label="Workflow" required problem={undefined} help={workflow.title}>
        {(field, aria) => (
          <select
            id={field}
            {...aria}
            value={nameOf(workflow)}
            onChange={({ currentTarget }) => change({ workflow: currentTarget.value })}
          >
            {workflows.map((each) => (
              <option key={nameOf(each)} value={nameOf(each)}>
                {each.kind === 'program' ? `${each.id} (program, ${each.version})` : each.id}
              </option>
            ))}
          </select>
        )}
      </Labelled>
      <Labelled
        name="goal"
        label="Goal"
        required
        problem={problems.byField['goal']}
        help="what the task should achieve"
      >
        {(field, aria) => (
          <textarea
            id={field}
            {...aria}
            aria-required
            rows={3}
            maxLength={GOAL_MAX}
            value={typed.goal}
            onInput={({ currentTarget }) => onTyped({ goal: currentTarget.value })}
          />
        )}
      </Labelled>
      {workflow.repository !== 'unused' && (
        <Labelled
          name="repository"
          label="Repository"
          required={workflow.repository === 'needed'}
          problem={problems.byField['repository']}
          help="absolute path on the executor's machine"
        >
          {(field, aria) => (
            <input
              id={field}
              {...aria}
              aria-required={workflow.repository === 'needed'}
              autocomplete="off"
              spellcheck={false}
              maxLength={4_096}
              value={typed.repository}
              onInput={({ currentTarget }) => onTyped({ repository: currentTarget.value })}
            />
          )}
        </Labelled>
      )}
      <Inputs workflow={workflow} typed={typed} problems={problems} onTyped={onTyped} />
      <Labelled
        name="criteria"
        label="Done when"
        problem={problems.byField['acceptanceCriteria']}
        help="acceptance criteria, one per line"
      >
        {(field, aria) => (
          <textarea
            id={field}
            {...aria}
            rows={2}
            value={typed.criteria}
            onInput={({ currentTarget }) => onTyped({ criteria: currentTarget.value })}
          />
        )}
      </Labelled>
      <div class="row">
        <button type="submit" class="primary" disabled={isBusy}>
          Start the task
        </button>
        <a class="button" href={hrefOf('tasks')}>
          Cancel
        </a>
        <span class="hint">Ctrl+Enter starts it; requested by {me.name}</span>
      </div>
    </form>
  );
};

export const NewTask = () => {
  const { caller, me } = useSession();
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  const allowed = mayDo(me, 'tasks:submit');
  const { value, error, reload } = useLoad(
    async (signal) => (allowed ? (await caller.ask('orchestrator', 'workflows', {}, { signal })).items : []),
    [allowed],
  );
  return (
    <article aria-labelledby="new-task-title">
      <a class="back" href={hrefOf('tasks')}>
        ‹ Tasks
      </a>
      <h2 id="new-task-title" tabIndex={-1} ref={title}>
        New task
      </h2>
      {!allowed && <Empty>Your token cannot start tasks.</Empty>}
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {allowed && value !== undefined && <TaskForm workflows={value} />}
    </article>
  );
};
