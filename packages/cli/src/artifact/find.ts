import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { ArtifactUri, type ArtifactView } from '@holdpoint/contracts/effect/stored-artifact';
import { InvalidArgumentError } from 'commander';
import type { Client } from '../bus/client.ts';
import { jobName, type JobName } from '../job/target.ts';

const PAGE = 500;

export type ArtifactName =
  | { readonly kind: 'uri'; readonly uri: ArtifactUri }
  | ({ readonly kind: 'job' } & JobName);

export const artifactName = (text: string): ArtifactName => {
  if (!text.startsWith('artifact:')) return { kind: 'job', ...jobName(text) };
  const uri = ArtifactUri.safeParse(text);
  if (!uri.success) throw new InvalidArgumentError('expected artifact:// and 64 lower-case hex digits');
  return { kind: 'uri', uri: uri.data };
};

export const artifactsOf = async (
  client: Pick<Client, 'call'>,
  task: TaskId,
): Promise<readonly ArtifactView[]> => {
  const all: ArtifactView[] = [];
  for (let after: string | undefined; ;) {
    const request = { task, limit: PAGE, ...(after !== undefined && { after }) };
    const { items, next } = await client.call('executor', 'artifacts', request);
    all.push(...items);
    if (next === undefined) return all;
    after = next;
  }
};

/** The log of the job's last attempt; the log of its `run` step, if there is one. */
export const latestLog = (items: readonly ArtifactView[], node: string): ArtifactView | undefined => {
  const logs = items.filter((item) => item.node === node && item.name.endsWith('.log'));
  return logs.findLast(({ step }) => step === 'run' || step.startsWith('run.')) ?? logs.at(-1);
};

export const findArtifact = async (
  client: Pick<Client, 'call'>,
  name: ArtifactName,
): Promise<ArtifactUri> => {
  if (name.kind === 'uri') return name.uri;
  const log = latestLog(await artifactsOf(client, name.task), name.node);
  if (log !== undefined) return log.uri;
  throw new HoldpointError(
    'EXECUTOR_UNKNOWN_ARTIFACT',
    `no log of ${name.task}/${name.node}: no output, or no such job`,
  );
};
