import { createHash } from 'node:crypto';
import type { Api, ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import { ARTIFACT_RANGE_MAX_BYTES, artifactUriOf } from '@holdpoint/contracts/effect/stored-artifact';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { expect, test } from 'vitest';
import type { Client } from '../bus/client.ts';
import { readArtifact } from './read.ts';
import { terminalSink } from '../kit/sinks.ts';

const whole = Buffer.alloc(ARTIFACT_RANGE_MAX_BYTES * 2 + 10, 'abc');
const sha256 = createHash('sha256').update(whole).digest('hex');

/** A service that returns this content for every artifact. */
const serving = (content: Buffer): Pick<Client, 'call'> => ({
  call: <S extends ServiceName, E extends keyof Api[S] & string>(
    _service: S,
    _endpoint: E,
    asked: ApiRequest<S, E>,
  ) => {
    const { offset = 0, limit = 1 } = asked as { offset?: number; limit?: number };
    const about = { uri: artifactUriOf(sha256), sha256, mediaType: 'text/plain', name: 'a.log' };
    const answer = {
      artifact: { ...about, bytes: content.length },
      made: [],
      stored: true,
      data: content.subarray(offset, offset + limit).toString('base64'),
    };
    return Promise.resolve(answer as unknown as ApiResponse<S, E>);
  },
});

test('an artifact is read in parts, and its digest checked', async () => {
  const parts: Buffer[] = [];
  await readArtifact(serving(whole), artifactUriOf(sha256), (part) => void parts.push(part));
  expect(parts.map(({ length }) => length)).toEqual([ARTIFACT_RANGE_MAX_BYTES, ARTIFACT_RANGE_MAX_BYTES, 10]);
  expect(Buffer.concat(parts).equals(whole)).toBe(true);
});

test('a digest mismatch is reported after the last part', async () => {
  const other = Buffer.from(whole);
  other[5] = 0;
  await expect(readArtifact(serving(other), artifactUriOf(sha256), () => undefined)).rejects.toMatchObject({
    code: 'EXECUTOR_UNKNOWN_ARTIFACT',
  });
});

test('a terminal gets whole lines, independent of the parts', () => {
  const lines: string[] = [];
  const sink = terminalSink((line) => void lines.push(line));
  const text = Buffer.from('one ü\ntwo');
  sink.write(text.subarray(0, 5));
  sink.write(text.subarray(5));
  sink.done();
  expect(lines).toEqual(['one ü', 'two']);
});
