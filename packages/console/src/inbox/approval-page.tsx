import { factRows } from '@holdpoint/contracts/approval/facts-text';
import { raisedTexts } from '@holdpoint/contracts/approval/floor-text';
import type { ApprovalDetail } from '@holdpoint/contracts/approval/queries';
import { policyOf, questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import { useEffect } from 'preact/hooks';
import { Badge, Busy, Facts, Problem, Section, When } from '../parts/bits.tsx';
import { Markdown } from '../parts/markdown.tsx';
import { Long, Safe, Short } from '../parts/safe.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useNow } from '../parts/use-now.ts';
import { mayDo, useSession } from '../session/context.ts';
import { hrefOf } from '../text/route.ts';
import { span } from '../text/time.ts';
import { CHOICES, CLASSES, STATUSES, SURFACES, textFor, wordFor } from '../tasks/labels.ts';
import { AttemptsTable } from '../task/attempts.tsx';
import { useTask } from '../task/use-task.ts';
import { DecideForm } from './decide-form.tsx';
import { EffectView, SinceLast } from './effect-view.tsx';
import { riskShown } from './inbox-order.ts';
import { askedOf } from './question.ts';
import { Result } from './result.tsx';

/** The entries of the organisation's floor, and the demands that it added. */
const floorText = (approval: ApprovalDetail): string => {
  const { entries = [], within = [] } = approval.floor ?? {};
  const raised = raisedTexts(approval);
  return [
    entries.join(', '),
    ...within.map((names) => `members of ${names.join(', ')} decide`),
    ...(raised.length === 0 ? [] : [`raised ${raised.join(', ')}`]),
  ].join('; ');
};

/** Remaining time to decide. */
export const TimeLeft = ({ expiresAt }: { readonly expiresAt: number }) => {
  const left = expiresAt - useNow();
  const tone = left < 60_000 ? 'bad' : left < 300_000 ? 'warn' : 'quiet';
  return <span class={`left ${tone}`}>{left > 0 ? `${span(left)} left` : 'expired'}</span>;
};

export const Risk = ({ approval }: { readonly approval: Parameters<typeof riskShown>[0] }) => {
  const risk = riskShown(approval);
  const tone = risk === 'high' ? 'bad' : risk === 'medium' ? 'warn' : 'quiet';
  return <Badge word={[`${risk} risk`, tone]} />;
};

const Decided = ({ approval }: { readonly approval: ApprovalDetail }) =>
  approval.status === 'pending' ? null : (
    <Section title="Decision">
      <Facts
        rows={[
          ['Outcome', <Badge word={wordFor(STATUSES, approval.status)} />],
          ['Answer', approval.answer && textFor(CHOICES, approval.answer)],
          ['By', approval.decidedBy && <Safe text={approval.decidedBy} />],
          ['Where', approval.surface && textFor(SURFACES, approval.surface)],
          ['When', approval.decidedAt !== undefined && <When at={approval.decidedAt} />],
          ['Comment', approval.comment && <Long text={approval.comment} block={false} />],
          ['By rule', approval.rule],
          ['Rule created', approval.remembered],
          ['Result', approval.outcome?.replaceAll('_', ' ')],
        ]}
      />
    </Section>
  );

const Votes = ({ votes }: { readonly votes: ApprovalDetail['votes'] }) =>
  votes === undefined || votes.length === 0 ? null : (
    <Section title="Votes so far">
      <ul>
        {votes.map(({ by, decision, comment, at, surface }) => (
          <li key={by}>
            <strong>
              <Safe text={by} />
            </strong>
            : {textFor(CHOICES, decision).toLowerCase()}
            {surface !== undefined && ` on ${textFor(SURFACES, surface)}`}, <When at={at} />
            {comment !== undefined && (
              <>
                {' '}
                <q>
                  <Safe text={comment} />
                </q>
              </>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );

const OUTPUT = { lines: 20, width: 300 } as const;

/** The end of the output of a job: it often shows how far an interrupted effect came. */
const LastOutput = ({ task, node }: Pick<ApprovalDetail, 'task' | 'node'>) => {
  const { log } = useTask(task);
  const lines = log.lines.filter((line) => line.node === node).slice(-OUTPUT.lines);
  return lines.length === 0 ? null : (
    <Section title="Last lines of output">
      <Long
        text={lines.map(({ line }) => line.slice(0, OUTPUT.width)).join('\n')}
        characters={OUTPUT.lines * (OUTPUT.width + 1)}
        lines={OUTPUT.lines}
      />
    </Section>
  );
};

const Why = ({ approval }: { readonly approval: ApprovalDetail }) => {
  const { me } = useSession();
  const { inDoubt, stuck, task, node } = approval;
  if (inDoubt !== undefined)
    return (
      <>
        <Section title="Why the outcome is unknown">
          <Long text={inDoubt.reason} />
          <p>Check the target below, then answer what you found.</p>
        </Section>
        {mayDo(me, 'tasks:read') && <LastOutput task={task} node={node} />}
      </>
    );
  if (stuck === undefined) return null;
  return (
    <Section title="Why it is stuck">
      <p>
        <Badge word={[textFor(CLASSES, stuck.class), 'bad']} />
      </p>
      <Long text={stuck.reason} />
    </Section>
  );
};

const headed = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

/** Goal, criteria, reviews and artifact of the task, at the time of the request. */
const TaskFacts = ({ facts }: { readonly facts: ApprovalDetail['facts'] }) =>
  facts === undefined ? null : (
    <Section title="Task">
      <Facts
        rows={[
          ['Goal', <Long text={facts.goal} block={false} />],
          ...factRows(facts).map(
            ([name, text]) => [headed(name), <Long text={text} block={false} />] as const,
          ),
        ]}
      />
    </Section>
  );

/** Earlier attempts of the requesting job. */
const Earlier = ({ approval }: { readonly approval: ApprovalDetail }) => {
  const { caller } = useSession();
  const { task, node } = approval;
  const { value } = useLoad(
    (signal) => caller.ask('recovery', 'history', { task, node }, { signal }),
    [task, node],
  );
  return value === undefined || value.items.length === 0 ? null : (
    <Section title="Earlier attempts" open={false} aside={String(value.items.length)}>
      <AttemptsTable attempts={value.items} />
    </Section>
  );
};

/** One request with everything that a decision needs. */
export const ApprovalPage = ({ id }: { readonly id: string }) => {
  const { caller, watch } = useSession();
  const {
    value: approval,
    error,
    isMissing,
    reload,
  } = useLoad((signal) => caller.ask('approvals', 'get', { id }, { signal }), [id]);
  useEffect(
    () =>
      watch.subscribe({
        approval: (updated) => {
          if (updated.id === id) reload();
        },
        gap: reload,
      }),
    [id, watch, reload],
  );
  if (approval === undefined)
    return error === undefined ? <Busy /> : <Problem text={error} retry={isMissing ? undefined : reload} />;
  const policy = policyOf(approval);
  const isStuck = questionOf(approval) === 'stuck';
  return (
    <article class="approval" aria-labelledby="approval-title">
      <a class="back" href={hrefOf('inbox')}>
        ‹ Inbox
      </a>
      {error !== undefined && <Problem text={error} retry={reload} />}
      <p class="kicker">
        <Short text={approval.requestedBy} max={60} /> asks: {askedOf(approval)}
      </p>
      <h2 id="approval-title" tabIndex={-1}>
        <Short text={approval.title} max={500} />
      </h2>
      {approval.description !== undefined && (
        <Long text={approval.description} block={false} characters={600} />
      )}
      <p class="badges">
        <Badge word={wordFor(STATUSES, approval.status)} />
        <Risk approval={approval} />
        {approval.status === 'pending' && <TimeLeft expiresAt={approval.expiresAt} />}
      </p>
      <DecideForm key={approval.id} approval={approval} onSettled={reload} />
      <Result key={`${approval.id} ${approval.status}`} approval={approval} />
      <Decided approval={approval} />
      <Votes votes={approval.votes} />
      <Why approval={approval} />
      <SinceLast previous={approval.previous} />
      <EffectView approval={approval} />
      {approval.body !== undefined && approval.body !== '' && (
        <Section title={isStuck ? 'Report' : 'Message from the gate'}>
          {isStuck ? <Markdown text={approval.body} /> : <Long text={approval.body} />}
        </Section>
      )}
      <TaskFacts facts={approval.facts} />
      <Section title="Requester">
        <Facts
          rows={[
            ['Requested by', <Safe text={approval.requestedBy} />],
            ['Through agent', approval.agent !== undefined && <Safe text={approval.agent} />],
            ['When', <When at={approval.requestedAt} />],
            [
              'Task',
              <a href={hrefOf('tasks', approval.task)}>
                {approval.task} / <Safe text={approval.node} />
              </a>,
            ],
            ['Workflow', approval.workflow !== undefined && <Safe text={approval.workflow} />],
            ['Decided by', <Safe text={approval.audience.join(', ')} />],
            ['Takes', policy.quorum > 1 && `${String(policy.quorum)} different approvers`],
            ['Four eyes', policy.fourEyes && 'the requester may not decide'],
            ['Policy', approval.floor?.entries !== undefined && <Safe text={floorText(approval)} />],
            ['Revision', approval.revision > 1 && String(approval.revision)],
          ]}
        />
      </Section>
      <Earlier approval={approval} />
    </article>
  );
};
