import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tokenDigest } from '@holdpoint/infra/credentials/generate';

export type TestPrincipal = {
  readonly name: string;
  readonly groups: readonly string[];
  readonly token: string;
  /** The Discord user id. */
  readonly discord?: string;
};

/** A file with principals of the test, as the approvals service reads it. */
export const writePrincipals = async (folder: string, people: readonly TestPrincipal[]): Promise<string> => {
  const path = join(folder, 'principals.json');
  const principals = people.map(({ token, ...person }) => ({ ...person, tokenSha256: tokenDigest(token) }));
  await writeFile(path, JSON.stringify({ principals }));
  return path;
};
