import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileWrite } from '@holdpoint/contracts/effect/file-write';
import { HttpRequest, originOf } from '@holdpoint/contracts/effect/http-request';
import { AddressRefused, addressesOf } from '@holdpoint/runtime/http/address';
import { createWorkspace } from '@holdpoint/executor/adapters/files/workspace';
import { CleanFailure } from '@holdpoint/executor/ports/capability';
import { fileWrite } from '@holdpoint/executor/capabilities/file/file-write';
import { notices } from '@holdpoint/executor/capabilities/notify/notices';
import { contextFor } from '@holdpoint/executor/testing/context';
import fc from 'fast-check';
import { nastyText } from '../hostile/strings.ts';
import { CANARY } from '../promises.ts';
import { target } from '../target.ts';
import { type Text, textOf } from '../text.ts';

type Input =
  | { readonly what: 'url'; readonly url: Text; readonly found: readonly Text[] }
  | { readonly what: 'notice'; readonly uses: number; readonly args: Readonly<Record<string, Text>> }
  | {
      readonly what: 'file';
      readonly file: Text;
      readonly content: Text;
      readonly expect?: Text | undefined;
    };

const blocks = (
  type: 'ipv4' | 'ipv6',
  subnets: readonly (readonly [network: string, bits: number])[],
): BlockList => {
  const list = new BlockList();
  for (const [network, bits] of subnets) list.addSubnet(network, bits, type);
  return list;
};

/** Written by hand, independently of the library in the executor. */
const INSIDE = {
  ipv4: blocks('ipv4', [
    ['0.0.0.0', 8],
    ['10.0.0.0', 8],
    ['100.64.0.0', 10],
    ['127.0.0.0', 8],
    ['169.254.0.0', 16],
    ['172.16.0.0', 12],
    ['192.168.0.0', 16],
    ['224.0.0.0', 3],
  ]),
  ipv6: blocks('ipv6', [
    ['::', 3],
    ['2002::', 16],
    ['4000::', 2],
    ['8000::', 1],
  ]),
};

const isInside = (address: string): boolean => {
  const type = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  return isIP(address) === 0 || INSIDE[type].check(address, type);
};

const octet = fc.constantFrom('0', '1', '8', '10', '100', '127', '169', '172', '192', '254', '255');
const dotted = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'));
const number = fc.nat(0xffffffff).map(String);
const hex = fc.nat(0xffffffff).map((value) => `0x${value.toString(16)}`);
const v6 = fc.constantFrom(
  '::1',
  '::',
  '::ffff:7f00:1',
  'fe80::1',
  'fd00::1',
  '64:ff9b::a00:1',
  '2606:4700::1',
);
const names = fc.constantFrom('public.example', 'localhost', 'localhost.', 'xn--bcher-kva.example', 'a.b.c');
const host = fc.oneof(
  dotted,
  number,
  hex,
  names,
  v6.map((address) => `[${address}]`),
);
const url: fc.Arbitrary<Text> = fc.oneof(
  { weight: 1, arbitrary: nastyText },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom('https://', 'http://', 'https:', 'HTTPS://', 'ftp://'),
        fc.constantFrom('', '', '', 'a@', 'a:b@', '8.8.8.8@'),
        host,
        fc.constantFrom('', '', ':443', ':80', ':0', ':99999'),
        fc.constantFrom('', '/', '/%2e%2e/', '/?a=${secret:A}', '/#a', '\\@public.example/'),
      )
      .map((parts) => parts.join('')),
  },
);
const found = fc.array(fc.oneof(dotted, v6, nastyText), { maxLength: 3 });

const SECRET = '${secret:A}';
const text = fc.oneof(
  nastyText,
  fc.constantFrom<Text>(SECRET, 'done', 'https://in.example/x', 'https://in.example'),
);
const noticeArgs = fc.record(
  { url: text, webhook: text, origin: text, type: text, data: text, content: text, text },
  { requiredKeys: [] },
);
const right = {
  url: 'https://in.example/x',
  webhook: SECRET,
  type: 'a.b',
  data: 'x',
  content: 'x',
  text: 'x',
};

const path: fc.Arbitrary<Text> = fc.oneof(
  nastyText,
  fc
    .array(fc.constantFrom('a', 'b', '..', '.', '', 'out', 'link', 'deep'), { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join('/')),
);

/** A URL leads to the public internet or is refused. */
const checkUrl = async (written: string, meant: readonly string[]): Promise<string> => {
  const request = HttpRequest.safeParse({ url: written });
  if (!request.success) return 'refused';
  const { origin, username, password } = new URL(written);
  assert.equal(originOf(written), origin);
  assert.equal(username + password, '');
  const answers = meant.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  try {
    const addresses = await addressesOf(new URL(written), false, AbortSignal.timeout(60_000), () =>
      Promise.resolve(answers),
    );
    assert.ok(addresses.length > 0);
    for (const { address } of addresses) assert.ok(!isInside(address), `${address} is inside`);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof AddressRefused)) throw error;
    return 'refused';
  }
};

/** A notice reaches no target, and its target is an origin. */
const checkNotice = async (uses: number, args: Readonly<Record<string, string>>): Promise<string> => {
  const every = notices({ targets: new Set() }, () => 0);
  const notice = every[uses % every.length];
  const input = notice?.input.safeParse({ ...right, secrets: [SECRET], ...args });
  if (notice === undefined || input?.success !== true) return 'refused';
  const origin = notice.target?.(input.data) ?? '';
  assert.equal(new URL(origin).origin, origin);
  const failure = await notice.run(input.data, contextFor()).catch((error: unknown) => error);
  assert.ok(failure instanceof CleanFailure);
  assert.equal(failure.body.code, 'EXECUTOR_TARGET_NOT_ALLOWED');
  return 'accepted';
};

/** A workspace with links out of it, beside a file that must not change. */
const checkFile = async (args: object): Promise<string> => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-fuzz-'));
  try {
    const root = join(folder, 'workspace');
    const outside = join(folder, 'outside');
    mkdirSync(join(root, 'deep'), { recursive: true });
    mkdirSync(outside);
    writeFileSync(join(outside, 'a'), CANARY);
    symlinkSync(outside, join(root, 'out'));
    symlinkSync(join(outside, 'a'), join(root, 'link'));
    symlinkSync('..', join(root, 'deep', 'b'));
    const input = FileWrite.safeParse(args);
    if (!input.success) return 'refused';
    const done = await fileWrite(createWorkspace(root))
      .run(input.data, contextFor({ epoch: 1 }))
      .catch((error: unknown) => error);
    assert.deepEqual(readdirSync(folder).toSorted(), ['outside', 'workspace']);
    assert.deepEqual(readdirSync(outside), ['a']);
    assert.equal(readFileSync(join(outside, 'a'), 'utf8'), CANARY);
    if (done instanceof CleanFailure) return 'refused';
    if (done instanceof Error) throw done;
    return 'accepted';
  } finally {
    rmSync(folder, { recursive: true });
  }
};

/** Outgoing requests reach allowed targets or fail. */
export const outside = target<Input>({
  name: 'outside',
  runs: 100,
  reaches: ['accepted', 'refused'],
  cases: {
    url: fc.record({ what: fc.constant('url'), url, found }),
    notice: fc.record({
      what: fc.constant('notice'),
      uses: fc.nat(2),
      args: noticeArgs,
    }) as fc.Arbitrary<Input>,
    file: fc.record(
      {
        what: fc.constant('file'),
        file: path,
        content: nastyText,
        expect: fc.oneof(fc.constantFrom<Text>('absent', 'a'.repeat(64)), nastyText),
      },
      { requiredKeys: ['what', 'file', 'content'] },
    ) as fc.Arbitrary<Input>,
  },
  check: (input) => {
    switch (input.what) {
      case 'url':
        return checkUrl(textOf(input.url), input.found.map(textOf));
      case 'notice': {
        const args = Object.entries(input.args).map(([name, value]) => [name, textOf(value)] as const);
        return checkNotice(input.uses, Object.fromEntries(args));
      }
      case 'file': {
        const { file, content, expect } = input;
        const expected = expect === undefined ? {} : { expect: textOf(expect) };
        return checkFile({ file: textOf(file), content: textOf(content), ...expected });
      }
    }
  },
});
