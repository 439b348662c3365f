import { sourceText } from '@holdpoint/contracts/approval/facts-text';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { holderLabel, nextText, remoteStateWord } from '../health/remote-view.ts';
import { Badge, Facts, Problem, Section, When } from '../parts/bits.tsx';
import { Long, Safe } from '../parts/safe.tsx';
import { useLoad } from '../parts/use-load.ts';
import { useSession } from '../session/context.ts';

/** The effects of a task that programs carry out, each with its holder and its state. */
export const RemoteEffects = ({ task }: { readonly task: TaskView }) => {
  const { caller } = useSession();
  const isThere = task.nodes.some(({ uses }) => isRemote(uses));
  const { value, error, reload } = useLoad(
    async (signal) =>
      isThere
        ? (await caller.ask('executor', 'list', { task: task.id }, { signal })).items.filter(
            ({ uses = '' }) => isRemote(uses),
          )
        : [],
    [task.id, isThere],
    task.version,
  );
  if (!isThere) return null;
  return (
    <Section title="Effects of programs" aside={value && String(value.length)}>
      {error !== undefined && <Problem text={error} retry={reload} />}
      <ul class="plain">
        {value?.map((effect) => {
          const { id, node, state, starts, remote, reason, duplicatesPrevented } = effect;
          return (
            <li key={id} data-effect={id}>
              <p>
                <strong>
                  <Safe text={node} />
                </strong>{' '}
                <Badge word={remoteStateWord(state)} /> <code class="dim">{id}</code>
              </p>
              <Facts
                rows={[
                  [
                    holderLabel(state),
                    remote && (
                      <>
                        <Safe text={remote.claimant} />, with a token of <Safe text={remote.principal} />,
                        {remote.from !== undefined && (
                          <>
                            {' '}
                            from <Safe text={sourceText(remote.from)} />,
                          </>
                        )}{' '}
                        since <When at={remote.since} />
                      </>
                    ),
                  ],
                  ['Starts', String(starts)],
                  ['Why', reason !== undefined && <Long text={reason} block={false} characters={400} />],
                  ['Next', nextText(effect)],
                  ['Duplicates prevented', duplicatesPrevented !== undefined && String(duplicatesPrevented)],
                ]}
              />
            </li>
          );
        })}
      </ul>
    </Section>
  );
};
