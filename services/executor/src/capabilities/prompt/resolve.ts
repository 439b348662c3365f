import { readFile, stat } from 'node:fs/promises';
import { type Artifact, artifactLabel } from '@holdpoint/contracts/workflow/artifact';
import type { StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { CleanFailure } from '../../ports/capability.ts';
import { PROMPT_BYTES_MAX, renderPrompt } from './prompt-text.ts';
import { argOf, invalid } from '../stage/arguments.ts';
import { failed, succeeded } from '../stage/results.ts';
import type { RunStage, StageModule } from '../stage/stage.ts';
import type { StageTools } from '../stage/tools.ts';

type PromptArtifact = Extract<Artifact, { type: 'custom' }>;

const promptOf = ({ produces = [] }: StepInput): PromptArtifact => {
  const prompts = produces.filter(
    (artifact): artifact is PromptArtifact => artifact.type === 'custom' && artifact.typeId === 'prompt_text',
  );
  const [only] = prompts;
  if (only === undefined || prompts.length > 1) {
    throw invalid(`produces: ${String(prompts.length)} artifacts of the type prompt_text, expected one`);
  }
  return only;
};

/** Reads a text file of the repository or the worktree. Throws with a reason for users. */
export const readInside = async ({ repository, root }: StageTools, path: string): Promise<string> => {
  const place = await repository.inside(path, root);
  const found = await stat(place).catch(() => undefined);
  if (found === undefined) throw new Error('no such file');
  // Devices and pipes may never end.
  if (!found.isFile()) throw new Error('it is not a file');
  if (found.size > PROMPT_BYTES_MAX) throw new Error(`it is longer than ${String(PROMPT_BYTES_MAX)} bytes`);
  return readFile(place, 'utf8');
};

type Source = { readonly text: string } | { readonly result: StepResult };

const fromFile = async (tools: StageTools, path: string): Promise<Source> => {
  try {
    return { text: await readInside(tools, path) };
  } catch (error) {
    if (!(error instanceof CleanFailure) && !(error instanceof Error)) throw error;
    return { result: failed(`prompt_file ${path}: ${error.message}`) };
  }
};

const fromScript = async (script: string, input: StepInput, tools: StageTools): Promise<Source> => {
  const ended = await tools.script(script, { timeoutMs: input.timeoutMs, outputMax: PROMPT_BYTES_MAX });
  if (ended.cancelled) throw new Error('the command of the prompt was cancelled');
  if (ended.timedOut) return { result: failed('the command of the prompt timed out', { exitCode: 124 }) };
  if (ended.exitCode !== 0) {
    const why = ended.problem ?? `ended with ${String(ended.exitCode ?? ended.signal)}`;
    return { result: failed(`the command of the prompt ${why}`, { exitCode: ended.exitCode ?? 1 }) };
  }
  if (ended.truncated) {
    return { result: failed(`the command printed more than ${String(PROMPT_BYTES_MAX)} bytes`) };
  }
  return { text: ended.stdout };
};

const sourceOf = (input: StepInput, tools: StageTools): Promise<Source> => {
  const text = argOf(input, 'prompt_text');
  if (text !== undefined) return Promise.resolve({ text });
  const file = argOf(input, 'prompt_file');
  if (file !== undefined) return fromFile(tools, file);
  const script = argOf(input, 'command', 'script');
  if (script !== undefined) return fromScript(script, input, tools);
  throw invalid('with: expected prompt_text, prompt_file, command or script');
};

/** Composes the prompt for the agent. */
export const resolvePrompt: RunStage = async (input, tools) => {
  const artifact = promptOf(input);
  const source = await sourceOf(input, tools);
  if ('result' in source) return source.result;
  const rendered = await renderPrompt(source.text, {
    node: tools.about.node,
    own: input.with,
    values: input.values ?? {},
    executionRoot: tools.root,
    readFile: (path) => readInside(tools, path),
  });
  if (rendered.text === undefined)
    return failed(`cannot compose the prompt: ${rendered.problems.join('; ')}`);
  if (rendered.text.trim() === '') return failed('the prompt is empty');
  const payload = { type_id: artifact.typeId, key: artifact.key, text: rendered.text };
  return succeeded(`a prompt of ${String(Buffer.byteLength(rendered.text))} bytes`, {
    payloads: { [artifactLabel(artifact)]: payload },
  });
};

export const promptFromText: StageModule = { uses: 'cap.env.builtin.prompt.resolve', run: resolvePrompt };

export const promptFromScript: StageModule = {
  uses: 'cap.env.shell.prompt.resolve',
  run: resolvePrompt,
  startsProcess: true,
};
