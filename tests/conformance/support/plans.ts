import { expect } from 'vitest';
import type { Repository } from './repository.ts';
import { follow } from './runs.ts';

const APPROVED = `
id = "template.approved"
version = "v1"

[cli]
positional = ["slug"]

[params]
slug = ""

[[artifact_contracts]]
id = "stage_token"
version = "v1"

[[nodes]]
id = "approved"
kind = "gate"
uses = "control.terminal"
produces = { succeeded = [{ custom = { type_id = "stage_token", key = "approve:\${slug}" } }] }
`;

/** Commits to another branch than the current one. */
export const commitTo = (
  { git, commit }: Repository,
  branch: string,
  files: Readonly<Record<string, string>>,
  message: string,
): void => {
  const before = git('branch', '--show-current');
  const exists = git('branch', '--list', branch) !== '';
  git('checkout', '--quiet', ...(exists ? [] : ['-b']), branch);
  commit(files, message);
  git('checkout', '--quiet', before);
};

/**
 * Creates the result of a draft and an approve without their runs: a branch with a plan and its work,
 * ready to merge.
 */
export const carriedOut = async (
  repository: Repository,
  slug: string,
  files: Readonly<Record<string, string>>,
): Promise<void> => {
  const plan = '# Plan\n\nthe plan of a fixed reply\n';
  commitTo(repository, `draft/${slug}`, { [`.holdpoint/plans/${slug}.md`]: plan, ...files }, `plan ${slug}`);
  repository.write('.holdpoint/tmp/approved.toml', APPROVED);
  const { code, text } = await follow(repository, '.holdpoint/tmp/approved.toml', slug);
  expect(code, text).toBe(0);
};
