import { IDENTITY_HEADER } from '@holdpoint/contracts/approval/identity';
import type { Principal } from '@holdpoint/approvals/approval/state';
import { named } from '@holdpoint/orchestrator/sender';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { Workflow } from '@holdpoint/sdk/definition/workflow';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { asSubmitted } from './agents.ts';
import { asSender, assertionOf, DISGUISES } from './identities.ts';
import type { Choices } from '../choices.ts';
import { PEOPLE } from '../workload/gates.ts';
import type { Cluster } from '../services/cluster.ts';
import type { startPeople } from './approvers.ts';
import { randomProgram } from '../workload/programs.ts';
import { randomSubmission } from '../workload/submissions.ts';
import type { World } from '../world.ts';

const BY_BUS = 0.3;
const TWICE = 0.1;
const WITHOUT_TOKEN = 0.2;
const PUBLISH_AGAIN_MS = 9_000;
const LOOK_AGAIN_MS = 1_000;
const LOOKS_MAX = 15;

/** All tasks planned before this one, also those that are left out: leaving one out changes no other. */
const before = (task: string): readonly string[] =>
  Array.from({ length: Number(task.split('-')[1]) }, (_, i) => `t-${String(i)}`);

/** The token that a submission shows. Without one the requester may call themselves anything. */
const asPerson = (
  choices: Choices,
  askers: World['askers'],
  payload: SubmitTask & { readonly id: TaskId },
): { readonly payload: SubmitTask; readonly by: Principal | undefined } => {
  const { id, requestedBy = '', agent } = payload;
  const person = [PEOPLE.ada, PEOPLE.linus].find(({ name }) => name === requestedBy);
  askers.set(id, requestedBy);
  if (person === undefined) return { payload, by: undefined };
  if (!choices.happens(`without a token ${id}`, WITHOUT_TOKEN))
    return { payload, by: { ...person, ...(agent !== undefined && { agent }) } };
  const name = choices.pick(`name of ${id}`, DISGUISES);
  const { requestedBy: _, ...rest } = payload;
  return { payload: { ...rest, ...(name !== '' && { requestedBy: name }) }, by: undefined };
};

/** Submits tasks over a while by API and by bus. Remembers the accepted ones. */
export const startSubmitters = (
  { timeline, choices, bus, books, checker, askers }: World,
  cluster: Cluster,
  people: ReturnType<typeof startPeople>,
  wanted: readonly string[],
  programs: readonly Workflow[],
  held: ReadonlyMap<string, SubmitTask>,
  overMs: number,
) => {
  const accepted = new Set<string>();
  const exists = (id: string): boolean => books.orchestrator.stateOf(id).phase !== 'absent';

  const byApi = (id: TaskId, said: SubmitTask, by: Principal | undefined): void => {
    const kind = said.program === undefined ? 'task' : 'program';
    const sender = asSender(by, timeline.now());
    const payload = named(said, 'requestedBy', sender);
    const message = { kind: 'submit', payload, task: id, sender } as const;
    people.call(cluster.orchestrator, { kind, aggregate: id, message }, (told) => {
      if (typeof told !== 'object' || told.answer === undefined || !('ok' in told.answer)) return;
      accepted.add(id);
      checker.expect(
        'an answer is stored before it is sent',
        exists(id),
        id,
        () => 'was answered with success and is not there',
      );
    });
  };

  /** The bus may lose a confirmed message, so the submitter checks that the task exists. */
  const byBus = (id: TaskId, payload: SubmitTask, by: Principal | undefined, tries = 1): void => {
    const messageId = `submit.${id}.${String(tries)}`;
    bus.publish(messageId, {
      subject: subjects.peopleCommand('submit'),
      headers: [
        [HEADERS.messageId, messageId],
        ...(by === undefined ? [] : [[IDENTITY_HEADER, assertionOf(by, timeline.now())] as const]),
      ],
      body: JSON.stringify(payload),
    });
    timeline.in(PUBLISH_AGAIN_MS * tries, () => {
      if (exists(id)) accepted.add(id);
      else byBus(id, payload, by, tries + 1);
    });
  };

  /**
   * A task that waits for another is mostly submitted after it. Otherwise the submission fails and is
   * repeated.
   */
  const once = (peers: readonly string[], submit: () => void, looks = 1): void => {
    if (looks > LOOKS_MAX || peers.every(exists)) return submit();
    timeline.in(LOOK_AGAIN_MS, () => once(peers, submit, looks + 1));
  };

  for (const name of wanted) {
    const id = TaskId.parse(name);
    const said =
      held.get(id) ??
      (id.startsWith('p-')
        ? randomProgram(choices, id, programs)
        : randomSubmission(choices, id, before(id)));
    const { payload, by } = asPerson(choices, askers, { id, ...asSubmitted(choices, id, said) });
    const peers = (payload.after ?? []).map((job) => job.split('/')[0] ?? job);
    const submit = choices.happens(`by bus ${id}`, BY_BUS) ? byBus : byApi;
    const times = choices.happens(`twice ${id}`, TWICE) ? 2 : 1;
    for (let i = 0; i < times; i += 1)
      timeline.in(choices.between(`submit ${id}`, 0, overMs), () =>
        once(peers, () => submit(id, payload, by)),
      );
  }
  return { accepted: accepted as ReadonlySet<string> };
};
