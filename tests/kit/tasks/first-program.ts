import { until } from '../until.ts';

type CommandLine = (...args: readonly string[]) => Promise<string>;

/** Decides the first request that waits. */
export const decideNext = async (holdpoint: CommandLine, ...choice: readonly string[]): Promise<void> => {
  const [word = 'approve', ...more] = choice;
  const id = await until(`a request waits to ${word}`, async () => {
    const { items } = JSON.parse(await holdpoint('approval', 'list', '--json')) as {
      readonly items: readonly { readonly id: string }[];
    };
    return items[0]?.id;
  });
  await holdpoint('approval', word, id, ...more);
};

/** Answers the question of the first program of docs/sdk.md, and then approves its effect. */
export const decideFirstProgram = async (holdpoint: CommandLine): Promise<void> => {
  await decideNext(holdpoint, 'answer', '--yes');
  await decideNext(holdpoint, 'approve');
};
