import { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { heldSubmissionOf } from '@holdpoint/contracts/task/held-effect';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import { asSent } from '@holdpoint/contracts/values/json';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { type AnyRemoteEffect, defineEffect, type EffectOptions } from '@holdpoint/sdk/remote/define-effect';
import { z } from 'zod';
import type { Choices } from '../choices.ts';

const Args = z.object({ charge: z.string(), cents: z.int() });
export type Args = z.infer<typeof Args>;
type Functions = Pick<EffectOptions<Args, { readonly sent: string }>, 'run' | 'probe'>;

/** The class of a simulated remote effect, which is named after it. */
export const remoteClassOf = (uses: string): EffectClass | undefined =>
  EffectClass.options.find((each) => each === remoteNameIn(uses));

/** One effect of each class. */
export const remoteEffects = (functions: (uses: string) => Functions): readonly AnyRemoteEffect[] =>
  EffectClass.options.map((effectClass) => {
    const { run, probe } = functions(`cap.remote.${effectClass}`);
    return defineEffect({
      name: effectClass,
      effectClass,
      input: Args,
      key: ({ charge }) => `refund:${charge}`,
      run,
      ...(effectClass === 'probeable' && probe !== undefined && { probe }),
    });
  });

const APPROVAL_MS = [20_000, 5 * 60_000] as const;
/** The receiver of these callbacks never answers. */
export const DEAF = 'https://deaf.example/hook';
const RECEIVER = 'https://receiver.example/hook';

/** Effects that are held without a workflow, by task. */
export const heldEffects = (choices: Choices, count: number): ReadonlyMap<string, SubmitTask> => {
  const unused = (): never => {
    throw new Error('definitions alone');
  };
  const definitions = remoteEffects(() => ({ run: unused, probe: unused })).map(
    ({ definition }) => definition,
  );
  const submissions = Array.from({ length: count }, (_, index): SubmitTask & { readonly id: TaskId } => {
    const place = `held effect ${String(index)}`;
    const definition = choices.pick(`class of ${place}`, definitions);
    const callback = choices.happens(`deaf receiver of ${place}`, 0.1) ? DEAF : RECEIVER;
    const wanted = {
      capability: definition.name,
      args: { charge: `ch_${String(index)}`, cents: 500 },
      key: `refund:ch_${String(index)}`,
      audience: ['operators'],
      approvalTimeoutMs: Math.floor(choices.between(`time for ${place}`, ...APPROVAL_MS)),
      ...(choices.happens(`callback of ${place}`, 0.8) && { callback: { url: callback } }),
    };
    const requestedBy = choices.pick(`requester of ${place}`, ['ada', 'linus', 'somebody']);
    const { inputs, ...submission } = heldSubmissionOf(wanted, definition);
    return { ...submission, inputs: asSent(inputs), requestedBy };
  });
  return new Map(submissions.map((submission) => [submission.id, submission]));
};
