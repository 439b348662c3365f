import { describe, expect, test } from 'vitest';
import { type Address, AddressRefused, addressesOf, isPublicAddress } from './address.ts';

const NEVER = new AbortController().signal;
const addressesFrom = (...addresses: readonly string[]): readonly Address[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

describe('public addresses', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.1',
    '169.253.255.255',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:82b::200e',
  ])('a public address may be %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.0'],
    ['private', '10.255.255.255'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.0.1'],
    ['shared by customers of a provider', '100.64.0.1'],
    ['shared by customers of a provider', '100.127.255.255'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['link-local, where clouds keep credentials', '169.254.169.254'],
    ['link-local', '169.254.0.1'],
    ['for protocols', '192.0.0.8'],
    ['for examples', '192.0.2.1'],
    ['for examples', '198.51.100.1'],
    ['for examples', '203.0.113.1'],
    ['6to4 relays', '192.88.99.1'],
    ['for measurements', '198.18.0.1'],
    ['for measurements', '198.19.255.255'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['IPv4-mapped', '::ffff:127.0.0.1'],
    ['IPv4-mapped', '::ffff:8.8.8.8'],
    ['IPv4-mapped', '::ffff:a9fe:a9fe'],
    ['IPv4-translated', '::ffff:0:7f00:1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64', '64:ff9b::808:808'],
    ['local NAT64', '64:ff9b:1::a00:1'],
    ['discarded', '100::1'],
    ['Teredo', '2001::1'],
    ['for measurements', '2001:2::1'],
    ['for examples', '2001:db8::1'],
    ['6to4', '2002:7f00:1::'],
    ['6to4', '2002:808:808::1'],
    ['for examples', '3fff::1'],
    ['segment routing', '5f00::1'],
    ['unassigned', '4000::1'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fd12:3456:789a::1'],
    ['link-local', 'fe80::1'],
    ['link-local with its zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['a name', 'localhost'],
    ['a number', '2130706433'],
    ['octal', '0177.0.0.1'],
    ['hex', '0x7f.0.0.1'],
    ['short', '127.1'],
    ['an empty text', ''],
  ])('a public address is not %s: %s', (_, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('a URL whose origin is not listed', () => {
  const reached = (url: string, found: readonly string[] = []): Promise<readonly Address[]> =>
    addressesOf(new URL(url), false, NEVER, () => Promise.resolve(addressesFrom(...found)));

  test.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.0.0.1./',
    'https://0/',
    'https://%31%32%37.0.0.1/',
    'https://１２７.0.0.1/',
    'https://127。0。0。1/',
    'https://①②⑦.0.0.1/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[0:0:0:0:0:ffff:7f00:1]/',
    'https://[64:ff9b::169.254.169.254]/',
    'https://[2002:a9fe:a9fe::]/',
    'https://[fe80::1]/',
    'https://[fd00::1]/',
    'https://169.254.169.254/latest/meta-data/',
    'https://2852039166/',
    'https://0xa9fea9fe/',
    'https://192.168.1.1/',
    'https://10.1/',
    'https://8.8.8.8@127.0.0.1/',
    'https://255.255.255.255/',
  ])('an unlisted URL cannot reach %s in any notation', async (url) => {
    await expect(reached(url)).rejects.toBeInstanceOf(AddressRefused);
  });

  test.each([
    ['https://localhost/', ['127.0.0.1']],
    ['https://localhost./', ['127.0.0.1']],
    ['https://LOCALHOST/', ['::1']],
    ['https://inside.example/', ['10.0.0.7']],
    ['https://metadata.example/', ['169.254.169.254']],
    ['https://metadata.example/', ['fd00:ec2::254']],
    ['https://half.example/', ['1.1.1.1', '127.0.0.1']],
    ['https://half.example/', ['2606:4700::1111', '::ffff:10.0.0.1']],
    ['https://half.example/', ['1.1.1.1', 'fe80::1%2']],
    ['https://xn--bcher-kva.example/', ['192.168.0.1']],
    ['https://bücher.example/', ['192.168.0.1']],
    ['https://nobody.example/', []],
    ['https://odd.example/', ['no address']],
  ])('an unlisted URL cannot reach %s as %j', async (url, found) => {
    const failure = await reached(url, found).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AddressRefused);
    for (const address of found) expect(String(failure)).not.toContain(address);
  });

  test('an unlisted URL reaches every public address of its name', async () => {
    const found = ['1.1.1.1', '2606:4700:4700::1111'];
    expect(await reached('https://public.example:443/x', found)).toEqual(addressesFrom(...found));
  });

  test('an unlisted URL reaches its own public address', async () => {
    expect(await reached('https://[2606:4700:4700::1111]/')).toEqual(addressesFrom('2606:4700:4700::1111'));
  });

  test.each(['https://[fe80::1%25eth0]/', 'https://256.0.0.1/', 'https://1.2.3.4.5/', 'https://[::1/'])(
    'an invalid URL is refused: %s',
    (text) => {
      expect(URL.canParse(text)).toBe(false);
    },
  );
});

describe('a URL whose origin is listed', () => {
  const reached = (url: string, found: readonly string[] = []): Promise<readonly Address[]> =>
    addressesOf(new URL(url), true, NEVER, () => Promise.resolve(addressesFrom(...found)));

  test.each(['127.0.0.1', '::1', '10.0.0.7', '192.168.0.1', '100.64.0.1', 'fd00::1', '1.1.1.1'])(
    'a listed address may be private: %s',
    async (address) => {
      expect(await reached('http://inside.example/', [address])).toEqual(addressesFrom(address));
    },
  );

  test.each([
    '169.254.169.254',
    'fe80::1',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '255.255.255.255',
    '::ffff:127.0.0.1',
  ])('a listed name cannot reach %s', async (address) => {
    await expect(reached('http://inside.example/', ['10.0.0.7', address])).rejects.toBeInstanceOf(
      AddressRefused,
    );
  });

  test('a listed address can be any address', async () => {
    expect(await reached('http://169.254.169.254/')).toEqual(addressesFrom('169.254.169.254'));
    expect(await reached('http://[::ffff:127.0.0.1]:80/')).toEqual([{ address: '::ffff:7f00:1', family: 6 }]);
  });
});

test('a lookup without an answer is not awaited', async () => {
  const cancel = new AbortController();
  const looking = addressesOf(new URL('https://slow.example/'), true, cancel.signal, () => {
    queueMicrotask(() => cancel.abort(new Error('enough')));
    return new Promise(() => undefined);
  });
  await expect(looking).rejects.toThrow('enough');
  await expect(addressesOf(new URL('https://slow.example/'), true, cancel.signal)).rejects.toThrow('enough');
});

test('errors of the resolver are rethrown', async () => {
  const gone = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
  await expect(
    addressesOf(new URL('https://nobody.invalid/'), false, NEVER, () => Promise.reject(gone)),
  ).rejects.toBe(gone);
});
