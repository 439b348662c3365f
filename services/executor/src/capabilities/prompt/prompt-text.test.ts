import { expect, test } from 'vitest';
import { PROMPT_BYTES_MAX, type PromptSources, renderPrompt } from './prompt-text.ts';

const sources: PromptSources = {
  node: 'develop__draft__resolve_prompt',
  own: { topic: 'oak', tries: 3, listed: ['a'], deep: '{{topic}}' },
  values: {
    'develop__draft__persist_plan.slug': 'from-draft',
    'develop__draft__resolve_prompt.topic': 'oak',
    'develop__shared.owner': 'ada',
    'merge__integrate.target': 'main',
    'merge__integrate.squash': 'true',
    'approve__gate.squash': 'false',
    'approve__integrate.squash': 'maybe',
  },
  executionRoot: '/srv/repository',
  readFile: (path) =>
    path === 'notes.md'
      ? Promise.resolve('see {{topic}} and {{nothing}}')
      : Promise.reject(new Error('no such file')),
};

const render = (text: string) => renderPrompt(text, sources);

test.each([
  ['no placeholders } { }}', 'no placeholders } { }}'],
  ['{{topic}}/{{ topic }}', 'oak/oak'],
  ['{{tries}} {{listed}}', '3 ["a"]'],
  ['{{execution_root}}', '/srv/repository'],
  ['{{merge__integrate.target}}', 'main'],
  // The same stage, then the surrounding one, then the only node of that name.
  ['{{persist_plan.slug}}', 'from-draft'],
  ['{{shared.owner}}', 'ada'],
  ['{{integrate.target}}', 'main'],
])('the prompt %j becomes %j', async (text, expected) => {
  expect(await render(text)).toEqual({ text: expected, problems: [] });
});

test('inserted text is not rendered again', async () => {
  expect(await render('{{deep}} {{file:notes.md}}')).toEqual({
    text: '{{topic}} see {{topic}} and {{nothing}}',
    problems: [],
  });
});

test('every unknown placeholder is named once', async () => {
  const { problems } = await render(
    '{{who}} {{who}} {{}} {{file:gone.md}} {{integrate.squash}} {{x.y}} {{open',
  );
  expect(problems).toEqual([
    'unknown placeholder {{who}}',
    'a placeholder without a name: {{}}',
    'cannot read {{file:gone.md}}: no such file',
    '{{integrate.squash}} may be any of approve__integrate.squash, merge__integrate.squash',
    'unknown placeholder {{x.y}}',
    'unclosed placeholder: "{{open"',
  ]);
});

test('a name that every object has is still unknown', async () => {
  expect((await render('{{toString}} {{constructor}}')).problems).toHaveLength(2);
});

test('a prompt may be as long as the limit, and no longer', async () => {
  const most = 'ä'.repeat(PROMPT_BYTES_MAX / 2);
  expect(await render(most)).toEqual({ text: most, problems: [] });
  expect((await render(`${most}!`)).problems).toEqual([`longer than ${String(PROMPT_BYTES_MAX)} bytes`]);
});
