import type { ArtifactView } from '@holdpoint/contracts/effect/stored-artifact';
import { useState } from 'preact/hooks';
import { Busy, Empty, Problem, Section, When } from '../parts/bits.tsx';
import { Long, Safe } from '../parts/safe.tsx';
import { textOfError, useLoad } from '../parts/use-load.ts';
import { type Caller, CallError } from '../session/call.ts';
import { useSession } from '../session/context.ts';
import { size } from '../text/time.ts';

const CHUNK_BYTES = 262_144;
/** Larger artifacts need the command line: a page would have to hold them in memory. */
const WHOLE_MAX_BYTES = 67_108_864;

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

const partOf = async (caller: Caller, uri: string, offset: number): Promise<Uint8Array<ArrayBuffer>> => {
  const { data } = await caller.ask('executor', 'artifact', { uri, offset, limit: CHUNK_BYTES });
  if (data === undefined) throw new CallError('EXECUTOR_UNKNOWN_ARTIFACT', 'content no longer available');
  return bytesOf(data);
};

const save = async (caller: Caller, { uri, bytes, name }: ArtifactView): Promise<void> => {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < bytes;) {
    const part = await partOf(caller, uri, at);
    // A truncated file could be taken for the whole one.
    if (part.length === 0)
      throw new CallError('EXECUTOR_UNKNOWN_ARTIFACT', 'incomplete download: nothing was saved');
    parts.push(part);
    at += part.length;
  }
  // Never with its own media type: the browser must save it, not open it.
  const address = URL.createObjectURL(new Blob(parts, { type: 'application/octet-stream' }));
  const link = Object.assign(document.createElement('a'), {
    href: address,
    download: name.replaceAll(/[^\w.-]/g, '_'),
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};

const Row = ({ artifact }: { readonly artifact: ArtifactView }) => {
  const { caller, say } = useSession();
  const [text, setText] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const attempt = (work: () => Promise<void>): void => {
    setBusy(true);
    work()
      .catch((error: unknown) => say(textOfError(error), 'bad'))
      .finally(() => setBusy(false));
  };
  return (
    <li>
      <strong>
        <Safe text={artifact.name} />
      </strong>{' '}
      <span class="dim">
        {artifact.node}, attempt {artifact.attempt}, {size(artifact.bytes)}, <When at={artifact.createdAt} />
      </span>{' '}
      <button
        type="button"
        class="link"
        disabled={isBusy}
        onClick={() =>
          attempt(async () =>
            setText(
              text === undefined
                ? new TextDecoder().decode(await partOf(caller, artifact.uri, 0))
                : undefined,
            ),
          )
        }
      >
        {text === undefined ? 'show' : 'hide'}
      </button>{' '}
      {artifact.bytes <= WHOLE_MAX_BYTES && (
        <button
          type="button"
          class="link"
          disabled={isBusy}
          onClick={() => attempt(() => save(caller, artifact))}
        >
          save
        </button>
      )}
      {text !== undefined && (
        <>
          <Long text={text} />
          {artifact.bytes > CHUNK_BYTES && (
            <p class="hint">
              The first {size(CHUNK_BYTES)} of {size(artifact.bytes)}.
            </p>
          )}
        </>
      )}
    </li>
  );
};

/** Logs and large outputs of a task. */
export const Artifacts = ({ task, version }: { readonly task: string; readonly version: number }) => {
  const { caller } = useSession();
  const [limit, setLimit] = useState(50);
  const { value, error, reload } = useLoad(
    (signal) => caller.ask('executor', 'artifacts', { task, limit }, { signal }),
    [task],
    `${String(version)} ${String(limit)}`,
  );
  return (
    <Section
      title="Artifacts"
      aside={
        value === undefined
          ? undefined
          : `${String(value.items.length)}${value.next === undefined ? '' : '+'}`
      }
    >
      {error !== undefined && <Problem text={error} retry={reload} />}
      {value === undefined && error === undefined && <Busy />}
      {value?.items.length === 0 && <Empty>None.</Empty>}
      <ul class="plain">
        {value?.items.map((artifact) => (
          <Row key={`${artifact.uri} ${artifact.effect} ${String(artifact.epoch)}`} artifact={artifact} />
        ))}
      </ul>
      {value?.next !== undefined && limit < 500 && (
        <button type="button" class="link" onClick={() => setLimit(500)}>
          show more
        </button>
      )}
    </Section>
  );
};
