import type { api } from '@holdpoint/contracts/catalog/api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import {
  type ArtifactView,
  type StoredArtifact,
  sha256In,
} from '@holdpoint/contracts/effect/stored-artifact';
import { ARTIFACT_LIMITS } from '@holdpoint/contracts/program/value';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { ObjectStore } from '@holdpoint/runtime/store/object-store';
import type { z } from 'zod';
import type { Catalog } from './catalog.ts';
import type { Reader } from './reader.ts';

type QueryRequest<Name extends 'artifacts' | 'artifact'> = z.output<
  (typeof api)['executor'][Name]['request']
>;
type QueryResponse<Name extends 'artifacts' | 'artifact'> = z.output<
  (typeof api)['executor'][Name]['response']
>;

export type QueryParts = {
  readonly catalogue: Pick<Catalog, 'ofTask' | 'madeOf'>;
  readonly objects: Pick<ObjectStore, 'find'>;
  readonly reader: Reader;
  readonly log: Logger;
};

const { keepDays: KEPT_DAYS } = ARTIFACT_LIMITS;

const artifactOf = ({ uri, sha256, bytes, mediaType, name }: ArtifactView): StoredArtifact => ({
  uri,
  sha256,
  bytes,
  mediaType,
  name,
});

const placeOf = (after: string | undefined): number => {
  if (after === undefined) return 0;
  if (!/^\d{1,15}$/.test(after))
    throw new HoldpointError('CONTRACT_INVALID', 'after: not the `next` of a page before');
  return Number(after);
};

const gone = (artifact: ArtifactView): HoldpointError => {
  if (artifact.storedAt === undefined)
    return new HoldpointError('RUNTIME_UNAVAILABLE', `${artifact.name} is not uploaded yet; try again later`);
  const day = new Date(artifact.storedAt).toISOString();
  return new HoldpointError(
    'EXECUTOR_UNKNOWN_ARTIFACT',
    `${artifact.name} (stored at ${day}) is missing or damaged: artifacts are kept for ${String(KEPT_DAYS)} days`,
  );
};

/** API queries about artifacts. */
export const createArtifactQueries = ({ catalogue, objects, reader, log }: QueryParts) => {
  const fromStore = async <Found>(look: () => Promise<Found>): Promise<Found> => {
    try {
      return await look();
    } catch (cause) {
      log.warn(errorFields(cause), 'the artifact store does not answer');
      throw new HoldpointError('RUNTIME_UNAVAILABLE', 'The artifact store does not answer; try again', {
        cause,
      });
    }
  };

  return {
    list: ({ task, limit, after }: QueryRequest<'artifacts'>): Promise<QueryResponse<'artifacts'>> =>
      catalogue.ofTask(task, { limit, after: placeOf(after) }),
    get: async ({ uri, offset = 0, limit }: QueryRequest<'artifact'>): Promise<QueryResponse<'artifact'>> => {
      const sha256 = sha256In(uri);
      const made = await catalogue.madeOf(sha256);
      const latest = made.at(-1);
      if (latest === undefined)
        throw new HoldpointError('EXECUTOR_UNKNOWN_ARTIFACT', `Unknown artifact: ${uri}`);
      const about = { artifact: artifactOf(latest), sources: made };
      const isStored = async (): Promise<boolean> => (await objects.find(sha256)) !== undefined;
      if (limit === undefined) return { ...about, stored: await fromStore(isStored) };
      const part = await fromStore(() => reader.read(sha256, offset, limit));
      if (part === undefined) throw gone(latest);
      const stored = made.some(({ storedAt }) => storedAt !== undefined);
      return { ...about, stored, data: part.toString('base64') };
    },
  };
};

export type ArtifactQueries = ReturnType<typeof createArtifactQueries>;
